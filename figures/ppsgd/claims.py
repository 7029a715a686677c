"""The claims of Bietti et al. 2022 on their experiments; the checks are in the modules imported here."""

from figures.ppsgd import claims_digits as digits
from figures.ppsgd import claims_real as real
from figures.ppsgd import claims_synthetic as synthetic
from figures.ppsgd import claims_theory as theory
from figures.ppsgd import claims_users as users
from figures.shared.verdicts import Claim

FIGURE_1A = "section 6, Figure 1a"
FIGURE_1B, FIGURE_1D, FIGURE_2 = "section 6, Figure 1b", "section 6, Figure 1d", "section 6, Figure 2"
RISK = (
    "Excess risk by repetition, at the step size with the best geometric mean, chosen at every round as in the figure"
)
ACCURACY = (
    "Final test accuracy at the step size with the best mean over repetitions, also beyond the published grid where "
    "that was run, chosen once by test data and once by held-out data, which must agree"
)
BETWEEN = f"{ACCURACY}; some alpha Q in between minus local and minus global learning, in the same repetition"
SMALLEST = (
    f"{ACCURACY}; at the noise whose epsilon is nearest to 1, the smallest alpha Q > 0 minus every other, in the same "
    "repetition"
)
GAIN = f"{ACCURACY}; at some noise, an alpha Q in between minus local and minus global learning, in the same repetition"
DEGRADES = (
    "Test accuracy against rounds, step size tuned at every round by test and by held-out data; at some noise, an "
    "earlier accuracy of alpha Q = inf minus its last minus one point (a threshold of ours), and for the smallest "
    "alpha Q > 0, at all noises, one point minus any such loss"
)
CLAIMS = [
    Claim(
        "Without noise, rounds 20 to 50: risk of global < alpha Q = 3 < 1 < 0.3 < local",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.early_order,
        f"{RISK}; log ratio of neighbouring curves, at every round from 20 to 50 and both delta_std",
    ),
    Claim(
        "Without noise global stops at the floor of differing users, all others go below (delta_std 0.1)",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.plateau,
        f"{RISK}; after the last round, 10 % (a threshold of ours) minus the distance of global from the floor of the "
        "parameters drawn, and the floor minus every other",
    ),
    Claim(
        "The same within 1,000 rounds at the delta_std 0.01 that the paper prints: some alpha Q goes below global",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.plateau_as_published,
        f"{RISK}; after the last round, log risk of global learning minus that of some alpha Q < inf",
    ),
    Claim(
        "With sigma = 10 local passes all others between rounds 150 and 320",
        f"{FIGURE_1A}, which says about 200",
        "ppsgd_synthetic",
        synthetic.crossing_time,
        f"{RISK}; the first round from which local stays below all others, minus 150, and 320 minus it "
        "(a range of ours)",
        ours=True,
    ),
    Claim(
        "Local passes the others the earlier, the larger sigma",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.crossing_order,
        f"{RISK}; the first round from which local stays below all others, minus that of the next larger sigma",
    ),
    Claim(
        "Digits without noise: local learning is poor, global is better",
        "section 6, Figures 1c and 2",
        "ppsgd_digits",
        digits.without_noise,
        f"{ACCURACY}; global minus local learning, in the same repetition",
    ),
    Claim(
        "Digits without noise: an intermediate alpha Q beats local and global",
        "Figures 1c and 2; the text says so of Stack Overflow",
        "ppsgd_digits",
        digits.between_without_noise,
        BETWEEN,
    ),
    Claim(
        "Digits at epsilon near 1: the smallest alpha Q > 0 is the best of all alpha Q > 0",
        "section 6, Figure 2",
        "ppsgd_digits",
        digits.strong_privacy,
        SMALLEST,
    ),
    Claim(
        "Digits at some finite epsilon: an intermediate alpha Q beats local and global",
        "section 6, Figure 2",
        "ppsgd_digits",
        digits.strict_gain,
        GAIN,
    ),
    Claim(
        "Without noise at the delta_std 0.01 that the paper prints: some alpha Q goes below global within 4,000 rounds",
        f"{FIGURE_1A}, continued",
        "ppsgd_longer",
        synthetic.plateau_later,
        f"{RISK}; after the last round, log risk of global learning minus that of some alpha Q < inf",
        ours=True,
    ),
    *(
        Claim(f"{data}: {text}", where, sweep, check, how)
        for data, sweep in (("Tags", "ppsgd_tags"), ("Tags, generated documents", "ppsgd_tags_made_up"))
        for text, where, check, how in (
            (
                "without noise an intermediate alpha Q beats local and global",
                FIGURE_1B,
                digits.between_without_noise,
                BETWEEN,
            ),
            (
                "with noise large alpha Q degrades during training, small alpha Q does not",
                FIGURE_1B,
                real.large_degrade,
                DEGRADES,
            ),
            (
                "at epsilon near 1 the smallest alpha Q > 0 is the best of all alpha Q > 0",
                FIGURE_2,
                digits.strong_privacy,
                SMALLEST,
            ),
            (
                "at some finite epsilon an intermediate alpha Q beats local and global",
                FIGURE_2,
                digits.strict_gain,
                GAIN,
            ),
        )
    ),
    *(
        Claim(
            f"{data} at an epsilon of 10 or less: some alpha Q > 0 beats users who learn alone for {steps} steps, not "
            "only in the rounds that draw them",
            "not in the paper",
            sweep,
            digits.over_learning_alone,
            f"{ACCURACY}; some alpha Q > 0 minus learning alone, in the same repetition",
            ours=True,
        )
        for data, sweep, steps in (("Digits", "ppsgd_digits", 1000), ("Tags", "ppsgd_tags", 300))
    ),
    *(
        Claim(f"{data}, {of}: {text}", "not in the paper", sweep, users.by(column, check), how, ours=True)
        for data, sweep, steps in (("Digits", "ppsgd_digits", 1000), ("Tags", "ppsgd_tags", 300))
        for of, column in (
            ("mean over users", "test_accuracy_per_user"),
            ("worst tenth of the users", "test_accuracy_worst_tenth"),
        )
        for text, check, how in (
            (
                "at some finite epsilon an intermediate alpha Q beats local and global",
                digits.strict_gain,
                GAIN,
            ),
            (
                f"at an epsilon of 10 or less some alpha Q > 0 beats users who learn alone for {steps} steps",
                digits.over_learning_alone,
                f"{ACCURACY}; some alpha Q > 0 minus learning alone, in the same repetition",
            ),
        )
    ),
    *(
        Claim(
            f"{data} without noise: users with few examples gain more from global learning than users with many",
            "not in the paper",
            sweep,
            users.small_gain_more,
            f"{ACCURACY}, of the users up to the lower tercile of training examples and of those from the upper on; "
            "global minus local learning of the former, minus that of the latter, in the same repetition",
            ours=True,
        )
        for data, sweep in (("Digits", "ppsgd_digits"), ("Tags", "ppsgd_tags"))
    ),
    Claim(
        "CNN: local learning, on random features, is far below all",
        FIGURE_1D,
        "ppsgd_cnn",
        real.local_far_below,
        f"{ACCURACY}; without noise, every alpha Q > 0 minus local learning and minus ten points, a threshold of ours",
    ),
    Claim(
        "CNN: large alpha Q is the best where privacy is weak",
        FIGURE_1D,
        "ppsgd_cnn",
        real.large_at_weak_privacy,
        f"{ACCURACY}; without noise, and at the least noise if its epsilon is above 10, the highest mean of all "
        "alpha Q > 0 is that of an alpha Q of at least 1, which the authors' program calls a = 10",
    ),
    Claim(
        "CNN: the smallest alpha Q > 0 is the best of all alpha Q > 0 where privacy is strong",
        FIGURE_1D,
        "ppsgd_cnn",
        real.small_at_strong_privacy,
        f"{ACCURACY}; at the smallest epsilon, if below 1, the smallest alpha Q > 0 minus every other, in the same "
        "repetition",
    ),
    Claim(
        "CNN at some finite epsilon: an intermediate alpha Q beats local and global",
        FIGURE_2,
        "ppsgd_cnn",
        digits.strict_gain,
        GAIN,
    ),
    Claim(
        "The bound holds at every alpha, n and epsilon",
        "Theorem 4.5",
        "ppsgd_theory",
        theory.bound_holds,
        "Excess risk of the average iterate at the theorem's step, where nothing was clipped; the bound minus the mean "
        "risk at every point",
    ),
    *(
        Claim(
            f"The bound of {theorem} holds at every alpha, T and epsilon, users sampled by Poisson and of unequal size",
            theorem,
            "ppsgd_sampled_theory",
            check,
            f"Excess risk of the average iterate of {algorithm}, {risk}, at the step of the theorem's proof, where "
            "nothing was clipped; the bound minus the mean risk at every point",
        )
        for theorem, check, algorithm, risk in (
            ("Theorem 5.2", theory.weighted_bound_holds, "Algorithm 2", "weighted by the users' examples"),
            ("Theorem B.4", theory.averaged_bound_holds, "Algorithm 3", "averaged over users"),
        )
    ),
    Claim(
        "The best alpha changes from above 0 to 0 where n passes the threshold (10)",
        "Lemma 4.6",
        "ppsgd_theory",
        theory.best_alpha_changes,
        "Excess risk of the best alpha on the other side minus that of the best on the side that the lemma names (0 "
        "from the threshold on, above 0 before it), at every budget and sample size",
    ),
]
