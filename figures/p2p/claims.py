"""The claims of Bellet et al. 2018 on their experiments; the checks are in the five modules imported here.

Claims that begin with "Here" are not the paper's: they test what the paper does not state, or takes for granted.
"""

from functools import partial

from figures.p2p import claims_convergence as convergence
from figures.p2p import claims_dimensions as dimensions
from figures.p2p import claims_movielens as movielens
from figures.p2p import claims_perturbed as perturbed
from figures.p2p import claims_private as private
from figures.p2p.common import DESCENT, EXACT, ONCE
from figures.shared.verdicts import Claim

WORDS = {"objective": "objective", "test_accuracy": "accuracy", "iterations": "iterations", "vectors_sent": "vectors"}
BOUNDS = {"objective": "10 %", "test_accuracy": ".03"}
OURS = "(a tolerance of ours)"
PENALTY = {
    False: "ADMM at the penalty whose curves from the short descent are the closest to the published",
    True: "ADMM at the penalty that ends with the lowest objective on the very runs compared",
}
AHEAD = "Difference of each problem instance; {}; mean above 0"
TUNED = "Problem instances one by one, at the settings that are best on other instances"
ENDS = "After the last update, with noise as published and the budget split equally"
TUNED_MEAN = "Mean accuracy over problem instances at the settings that are best on other instances"
RMSE = "Mean over users of test RMSE, settings chosen on validation ratings"
AT_NORM = "private runs with Laplace noise at the paper's clipping norm, 10"
CLAIMS = [
    *(
        Claim(
            f"From either start CD is ahead of ADMM in {WORDS[y]} at every point against {WORDS[x]}",
            "section 5.1, Figure 1",
            "p2p_convergence",
            convergence.ahead(x, y),
            f"{AHEAD.format(PENALTY[False])} at every point after the start, from both starts",
        )
        for x in ("iterations", "vectors_sent")
        for y in ("objective", "test_accuracy")
    ),
    Claim(
        "From either start CD ends ahead of ADMM in objective and accuracy, for equal iterations and vectors",
        "section 5.1, Figure 1",
        "p2p_convergence",
        convergence.ends_ahead(best=False),
        f"{AHEAD.format(PENALTY[False])} at the last point of all four panels, from both starts",
    ),
    *(
        Claim(
            f"Here: with its best penalty ADMM is behind CD in {WORDS[y]} at every point against {WORDS[x]}, from "
            "either start",
            "as Figure 1",
            "p2p_convergence",
            convergence.ahead(x, y, best=True),
            f"{AHEAD.format(PENALTY[True])} at every point after the start, from both starts",
            ours=True,
        )
        for x in ("iterations", "vectors_sent")
        for y in ("objective", "test_accuracy")
    ),
    Claim(
        "Here: with its best penalty ADMM ends behind CD in objective and accuracy, for equal iterations and vectors, "
        "from either start",
        "as Figure 1",
        "p2p_convergence",
        convergence.ends_ahead(best=True),
        f"{AHEAD.format(PENALTY[True])} at the last point of all four panels, from both starts",
        ours=True,
    ),
    Claim(
        "CD ends as published: objective within .05, accuracy within .015",
        "Figure 1",
        "p2p_convergence",
        convergence.ends_as_published,
        "Last mean of CD from the short descent minus the last published point; each is within the tolerance either "
        "way (tolerances of ours)",
    ),
    *(
        Claim(
            f"Fig. 2{letter} ends as published: {WORDS[y]} within {BOUNDS[y]} at every T/n",
            f"section 5.1, Figure 2{letter}",
            "p2p_private",
            private.near_published(start, y),
            f"{ENDS}; each mean is within the tolerance of the last published point {OURS}",
        )
        for letter, start in (("a", "cold"), ("b", "warm"))
        for y in ("objective", "test_accuracy")
    ),
    *(
        Claim(
            f"Here: twice the budget ends where Figure 2b does: {WORDS[y]} within {BOUNDS[y]} at every T/n",
            "as Figure 2b",
            "p2p_private",
            private.near_published("warm", y, 1.0),
            f"{ENDS}, with epsilon 1 for the updates; each mean is within the tolerance of the published {OURS}",
            ours=True,
        )
        for y in ("objective", "test_accuracy")
    ),
    *(
        Claim(
            f"The private warm start ends with {better} than the cold start, at every T/n",
            "section 5.1, Figures 2a and 2b",
            "p2p_private",
            private.warm_ends_better(y),
            f"{ENDS}; the two starts of each problem instance compared at equal T/n",
        )
        for y, better in (("objective", "a lower objective"), ("test_accuracy", "a higher accuracy"))
    ),
    Claim(
        "From either start the final objective is lowest at an intermediate T/n",
        "section 5.1 and Theorem 2, Figures 2a and 2b",
        "p2p_private",
        private.between,
        f"{ENDS}; some T/n between is below both the smallest and the largest, instance by instance, from both starts",
    ),
    Claim(
        "From either start the final objective is highest at the largest T/n, which adds the most noise",
        "section 5.1 and Theorem 2, Figures 2a and 2b",
        "p2p_private",
        private.more_noise,
        f"{ENDS}; the largest T/n is above every other, instance by instance, from both starts",
    ),
    Claim(
        "Accuracy without privacy > epsilon 1.05 > 0.55 > 0.15 at every number of features p",
        "section 5.1, Figure 2c",
        "p2p_dimensions",
        dimensions.order,
        f"{TUNED}; mean difference of neighbours in this order above 0 at every p",
    ),
    Claim(
        "Accuracy without privacy is within .015 of the published at every p",
        "Figure 2c",
        "p2p_dimensions",
        dimensions.near_published(dimensions.ORDER[:1], 0.015),
        f"{TUNED_MEAN}; each is within the tolerance of the published {OURS}",
    ),
    Claim(
        "Private accuracies are within .03 of the published at every p and epsilon",
        "Figure 2c",
        "p2p_dimensions",
        dimensions.near_published(dimensions.PRIVATE, 0.03),
        f"{TUNED_MEAN}; each is within the tolerance of the published {OURS}",
    ),
    Claim(
        "Here: at the paper's mu, 0.04, private accuracies are within .03 of the published at every p and epsilon",
        "as Figure 2c",
        "p2p_dimensions",
        dimensions.near_published(dimensions.PRIVATE, 0.03, at_paper_mu=True),
        f"{TUNED_MEAN}, mu kept at the paper's; each is within the tolerance of the published {OURS}",
        ours=True,
    ),
    *(
        Claim(
            f"Epsilon 0.15 beats purely local models at every p, local models by {variant}",
            "section 5.1, Figure 2c",
            "p2p_dimensions",
            dimensions.beats_local(variant),
            f"{TUNED}; mean gain of epsilon 0.15 over local models above 0 at every p",
        )
        for variant in (EXACT, DESCENT)
    ),
    Claim(
        "The published noise spends no more than the epsilon of the legend",
        "section 5.1, Figures 2c and 3",
        "p2p_dimensions",
        dimensions.spends_what_it_says,
        "Epsilon by the gradients that these inputs allow, against the epsilon of the legend; nothing is sampled",
    ),
    Claim(
        "Here: with noise scaled to clipped gradients, Laplace or Gaussian, epsilon 0.15 beats local at every p",
        "as Figure 2c",
        "p2p_dimensions",
        dimensions.calibrated_beats_local("epsilon 0.15"),
        f"{TUNED}, mu tuned too; mean gain over exact local models above 0 at every p, for one of the two noises",
        ours=True,
    ),
    Claim(
        "Here: with noise of the right size, Laplace or Gaussian, a single smoothed release at epsilon 1.05 beats "
        "local at every p",
        "as Figure 2c, without updates",
        "p2p_dimensions",
        dimensions.calibrated_beats_local("epsilon 1.05", ONCE),
        f"{TUNED}, mu tuned too; mean gain over exact local models above 0 at every p, for one of the two noises",
        ours=True,
    ),
    Claim(
        "All agents gain over their local model, whatever the size of their data and the epsilon",
        "appendix D.1, Figure 3",
        "p2p_dimensions",
        dimensions.everybody_gains,
        f"{TUNED}; by size of the local data, mean gain over exact local models above 0 everywhere",
    ),
    Claim(
        "Agents with the least data gain more than those with the most, at every epsilon",
        "section 5.1 and appendix D.1, Figure 3",
        "p2p_dimensions",
        dimensions.small_gain_most,
        f"{TUNED}; mean gain over exact local models of the agents with the least data, minus that of those with the "
        "most, above 0",
    ),
    Claim(
        "Local models from perturbed inputs are less accurate than from the inputs, at every p and epsilon",
        "appendix D.1, Figure 4",
        "p2p_dimensions",
        dimensions.perturbed_is_worse,
        "Accuracy of exact local models of each problem instance, from its inputs minus from perturbed ones; mean "
        "above 0 at every p",
    ),
    Claim(
        f"Learning together from perturbed inputs gains at most {perturbed.SMALL:g} over learning alone from them, at "
        "every p and epsilon",
        f"appendix D.1, at the paper's mu; the tolerance of {perturbed.SMALL:g} is ours",
        "p2p_perturbed",
        perturbed.no_gain,
        "Accuracy of coordinate descent on the perturbed inputs of a problem instance minus that of exact local models "
        f"from the same inputs; mean at most {perturbed.SMALL:g} {OURS}",
    ),
    Claim(
        "Here: with mu tuned learning together from perturbed inputs is more accurate than alone, at every p and "
        "epsilon",
        "as appendix D.1",
        "p2p_perturbed",
        perturbed.tuned_gains,
        "The same difference at the mu that is best on other instances; mean above 0",
        ours=True,
    ),
    Claim(
        "RMSE without privacy is within .01 of the published",
        "section 5.2, Table 1",
        "p2p_movielens",
        movielens.non_private_as_published,
        f"{RMSE}; the mean over splits is within .01 of the published {OURS}",
    ),
    Claim(
        "RMSE at epsilon 1 is at most .003 above that without privacy",
        "section 5.2, Table 1",
        "p2p_movielens",
        movielens.little_is_lost,
        f"{RMSE}; difference of the two on each split, at most .003 on average (a margin of ours); {AT_NORM}",
    ),
    Claim(
        "Here: with tuned clipping RMSE at epsilon 1 exceeds that without privacy by no more than .003",
        "as Table 1, with other clipping norms",
        "p2p_movielens",
        partial(movielens.little_is_lost, norm_tuned=True),
        f"{RMSE}; difference of the two on each split, at most .003 on average (a margin of ours)",
        ours=True,
    ),
    Claim(
        "RMSE grows as epsilon falls, from no privacy on",
        "section 5.2, Table 1",
        "p2p_movielens",
        movielens.grows_with_privacy,
        f"{RMSE}; each above the one before on the same splits, on average, in the order none, 1, 0.5, 0.1; {AT_NORM}",
    ),
    Claim(
        "RMSE is below that of local models without privacy and at every epsilon",
        "section 5.2, Table 1",
        "p2p_movielens",
        movielens.beats_local,
        f"{RMSE}; each below the exact local models on the same splits, on average; {AT_NORM}",
    ),
    Claim(
        "Here: with tuned clipping RMSE is lower than that of local models without privacy and at every epsilon",
        "as Table 1, with other clipping norms",
        "p2p_movielens",
        partial(movielens.beats_local, norm_tuned=True),
        f"{RMSE}; each below the exact local models on the same splits, on average",
        ours=True,
    ),
    Claim(
        "Here: private RMSE is below that of each user's mean rating at every epsilon",
        "as Table 1, without this baseline",
        "p2p_movielens",
        movielens.beats_user_mean,
        f"{RMSE}; each private run below each user's mean rating on the same splits, on average; {AT_NORM}",
        ours=True,
    ),
]
