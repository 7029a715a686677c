"""What Bietti et al. 2022 state, and our further claims; the checks are in the modules imported here."""

from figures.ppsgd import claims_digits as digits
from figures.ppsgd import claims_real as real
from figures.ppsgd import claims_synthetic as synthetic
from figures.ppsgd import claims_theory as theory
from figures.ppsgd import claims_users as users
from figures.shared.verdicts import Claim, not_given, stand_in

FIGURE_1A, FIGURE_1B = "section 6, Figure 1a", "section 6, Figure 1b"
FIGURE_1C, FIGURE_1D, FIGURE_2 = "section 6, Figure 1c", "section 6, Figure 1d", "section 6, Figure 2"
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
GAIN = (
    f"{ACCURACY}; at some noise of an epsilon of 10 or less, as the paper counts it, an alpha Q in between minus local "
    "and minus global learning, in the same repetition"
)
DEGRADES = (
    "Test accuracy against rounds, step size tuned at every round by test and by held-out data; at some noise, an "
    "earlier accuracy of alpha Q = inf minus its last minus one point (a threshold of ours), and for the smallest "
    "alpha Q > 0, at all noises, one point minus any such loss"
)
AT_ONE_STEP = (
    "Test accuracy against rounds at one step size for each alpha Q, that of the published grid which is the best "
    "after the last round without noise, chosen once by test data and once by held-out data, which must agree; at the "
    "noise whose epsilon is nearest to 1, an earlier accuracy of alpha Q = inf, that before training included, minus "
    "its last minus one point (a threshold of ours), and for the smallest alpha Q > 0 one point minus any such loss"
)
ON_DIGITS = stand_in("MNIST by its 836 writers for federated EMNIST by 1,000")
ON_TAGS = stand_in("tags of Debian's packages by 312 maintainers, with 43 documents each, for Stack Overflow")
ON_MADE_UP = stand_in("documents drawn from a model, in the paper's numbers, for Stack Overflow")
ON_NETWORK = stand_in(
    "MNIST by its 836 writers for federated EMNIST by 1,000; three of the seven step sizes, and others"
)

# What the paper states.
FASTER = "Global learning converges faster in the first iterations in all cases, since it uses data more efficiently"
STOPS = "Global learning eventually stops improving, even without noise, since this model has to be personalised"
LATER = "Small alpha leads to better performance in later iterations"
LOCAL_EARLY = "With more privacy noise local learning dominates quite early, after about 200 iterations"
POOR = "Local learning generally does poorly on EMNIST"
BENEFIT = "On EMNIST a small alpha still has a benefit for good privacy guarantees"
TRADE_OFF = "To optimise over the level of personalisation improves the tradeoff between accuracy and privacy"
LESS = "The gain by personalisation is less pronounced on EMNIST than on Stack Overflow"
INTERMEDIATE = "Without privacy an intermediate personalisation is the best, alpha = 10"
DEGRADE = "With privacy noise, models with a large alpha quickly degrade"
SMALL_BEST = "Small alpha performs best for reasonable privacy levels"

CLAIMS = [
    Claim(
        "Without noise the risk of global learning is below that of every other alpha Q in rounds 20 to 50",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.fastest_at_first,
        f"{RISK}; log risk of every other alpha Q minus that of global learning, at every round from 20 to 50 and both "
        "delta_std",
        statement=FASTER,
    ),
    Claim(
        "With noise of sigma 1 to 100 the risk of global learning is below that of every other alpha Q in rounds 20 "
        "to 50",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.fastest_under_noise,
        f"{RISK}; log risk of every other alpha Q minus that of global learning, at every round from 20 to 50, every "
        "sigma > 0 and both delta_std",
        statement=FASTER,
        settings=not_given("the noise levels of the panels"),
    ),
    Claim(
        "Without noise, at the printed delta_std 0.01, the risk of global learning after 1,000 rounds is within 10 % "
        "of the floor that differing users set it",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.global_stops,
        f"{RISK}; after the last round, 10 % (a threshold of ours) minus the distance of global learning from the "
        "floor of the parameters drawn",
        statement=STOPS,
    ),
    Claim(
        "After 1,000 rounds, at the printed delta_std 0.01, some alpha Q in (0, 1] has a lower risk than global "
        "learning, at every sigma from 0 to 100",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.small_is_better_later,
        f"{RISK}; after the last round, log risk of global learning minus that of some alpha Q in (0, 1]",
        statement=LATER,
        settings=not_given("the number of rounds, and the noise levels of the panels"),
    ),
    Claim(
        "With sigma = 10 local learning passes all others between rounds 150 and 320",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.crossing_time,
        f"{RISK}; the first round from which local stays below all others, minus 150, and 320 minus it "
        "(a range of ours)",
        statement=LOCAL_EARLY,
        settings=not_given("the noise level of that panel"),
    ),
    Claim(
        "Digits without noise: global learning is more accurate than local learning",
        FIGURE_1C,
        "ppsgd_digits",
        digits.without_noise,
        f"{ACCURACY}; global minus local learning, in the same repetition",
        statement=POOR,
        settings=ON_DIGITS,
    ),
    Claim(
        "Digits at epsilon near 1: the smallest alpha Q > 0 is the best of all alpha Q > 0",
        f"{FIGURE_1C} and 2",
        "ppsgd_digits",
        digits.strong_privacy,
        SMALLEST,
        statement=BENEFIT,
        settings=ON_DIGITS,
    ),
    Claim(
        "Digits at some epsilon of 10 or less: an intermediate alpha Q beats local and global learning",
        FIGURE_2,
        "ppsgd_digits",
        digits.strict_gain,
        GAIN,
        statement=TRADE_OFF,
        settings=ON_DIGITS,
    ),
    Claim(
        "The largest gain of an intermediate alpha Q on both local and global learning, at an epsilon of 10 or less, "
        "is larger on tags than on digits",
        "section 6, Federated EMNIST, and Figure 2",
        "ppsgd_tags",
        real.gains_more,
        f"{ACCURACY}; mean gain on tags minus that on digits, each at the noise and alpha Q where it is the largest",
        statement=LESS,
        settings=stand_in("tags of Debian's packages and MNIST by writer for Stack Overflow and federated EMNIST"),
        also=("ppsgd_digits",),
    ),
    *(
        Claim(f"{data}: {text}", where, sweep, check, how, statement=statement, settings=settings)
        for data, sweep, settings in (
            ("Tags", "ppsgd_tags", ON_TAGS),
            ("Tags, generated documents", "ppsgd_tags_made_up", ON_MADE_UP),
        )
        for text, where, check, how, statement in (
            (
                "without noise, with the published step sizes, alpha Q = 10 beats every other alpha Q",
                FIGURE_1B,
                real.ten_is_best_as_published,
                "Final test accuracy at the step size of the published grid with the best mean over repetitions, "
                "chosen once by test data and once by held-out data, which must agree; alpha Q = 10 minus every "
                "other, in the same repetition",
                INTERMEDIATE,
            ),
            (
                "from no noise to an epsilon near 1, global learning loses more accuracy than the smallest alpha Q > "
                "0, and more than ten points",
                FIGURE_1B,
                real.large_loses_more,
                f"{ACCURACY}; the loss of global learning from no noise to the noise whose epsilon is nearest to 1, "
                "minus that of the smallest alpha Q > 0, and minus ten points (a threshold of ours), in the same "
                "repetition",
                DEGRADE,
            ),
            (
                "at epsilon near 1 the smallest alpha Q > 0 is the best of all alpha Q > 0",
                f"{FIGURE_1B} and 2",
                digits.strong_privacy,
                SMALLEST,
                SMALL_BEST,
            ),
            (
                "at some epsilon of 10 or less an intermediate alpha Q beats local and global learning",
                FIGURE_2,
                digits.strict_gain,
                GAIN,
                TRADE_OFF,
            ),
        )
    ),
    *(
        Claim(
            f"{data}: with noise of an epsilon near 1 and the step size that is the best without noise, global "
            "learning ends more than a point below an earlier accuracy of its own, and the smallest alpha Q > 0 does "
            "not",
            FIGURE_1B,
            sweep,
            real.large_degrade_at_one_step,
            AT_ONE_STEP,
            statement=DEGRADE,
            settings=not_given(
                "whether it is about one step size, since the figure chooses one anew at every round; stand-in: "
                f"{settings.words}"
            ),
        )
        for data, sweep, settings in (
            ("Tags", "ppsgd_tags", ON_TAGS),
            ("Tags, generated documents", "ppsgd_tags_made_up", ON_MADE_UP),
        )
    ),
    Claim(
        "CNN: local learning, on random features, is ten points below every alpha Q > 0 without noise",
        FIGURE_1D,
        "ppsgd_cnn",
        real.local_far_below,
        f"{ACCURACY}; without noise, every alpha Q > 0 minus local learning and minus ten points, a threshold of ours",
        statement="Local learning performs very poorly, since its representation has frozen random weights",
        settings=ON_NETWORK,
    ),
    Claim(
        "CNN: global learning beats the smallest alpha Q > 0 where privacy is weak",
        FIGURE_1D,
        "ppsgd_cnn",
        real.large_at_weak_privacy,
        f"{ACCURACY}; without noise, and at the least noise if its epsilon is above 10, global learning minus the "
        "smallest alpha Q > 0, in the same repetition",
        statement="Large alpha leads to better accuracy for poor privacy levels",
        settings=ON_NETWORK,
    ),
    Claim(
        "CNN: the smallest alpha Q > 0 beats global learning at epsilon near 1",
        FIGURE_1D,
        "ppsgd_cnn",
        real.small_at_strong_privacy,
        f"{ACCURACY}; at the noise whose epsilon is nearest to 1, the smallest alpha Q > 0 minus global learning, in "
        "the same repetition",
        statement="Small alpha is helpful for better privacy guarantees",
        settings=ON_NETWORK,
    ),
    Claim(
        "CNN at some epsilon of 10 or less: an intermediate alpha Q beats local and global learning",
        FIGURE_2,
        "ppsgd_cnn",
        digits.strict_gain,
        GAIN,
        statement=TRADE_OFF,
        settings=ON_NETWORK,
    ),
    Claim(
        "The bound holds at every alpha, n and epsilon",
        "Theorem 4.5",
        "ppsgd_theory",
        theory.bound_holds,
        "Excess risk of the average iterate at the theorem's step, where nothing was clipped; the bound minus the mean "
        "risk at every point",
        statement="The expected excess risk of the average iterate is at most the bound, with the theorem's step",
    ),
    *(
        Claim(
            f"The bound of {theorem} holds at every alpha, T and epsilon, users sampled by Poisson and of unequal size",
            theorem,
            "ppsgd_sampled_theory",
            check,
            f"Excess risk of the average iterate of {algorithm}, {risk}, at the step of the theorem's proof, where "
            "nothing was clipped; the bound minus the mean risk at every point",
            statement=f"The expected excess risk of {algorithm}, {risk}, is at most the bound",
        )
        for theorem, check, algorithm, risk in (
            ("Theorem 5.2", theory.weighted_bound_holds, "Algorithm 2", "weighted by the users' examples"),
            ("Theorem B.4", theory.averaged_bound_holds, "Algorithm 3", "averaged over users"),
        )
    ),
    Claim(
        "The second term of the bound turns from falling to rising with alpha where n passes the threshold (10)",
        "Lemma 4.6",
        "ppsgd_theory",
        theory.term_turns,
        "The second term of the bound, computed; its least step between neighbouring alphas, rising from the threshold "
        "on and falling before it, at every budget and sample size; the constant of (10) is that of the noise that was "
        "calibrated",
        statement="For users that are alike the variance term of the bound is non-decreasing with alpha if and only if "
        "n is at least of the order of (10)",
    ),
    Claim(
        "At every finite epsilon some alpha > 0 has the lowest risk with 10 samples, and alpha = 0 with 10,000",
        "section 4 after Lemma 4.6; slides, additive model",
        "ppsgd_theory",
        theory.less_sharing_later,
        "Excess risk; at the fewest samples alpha = 0 minus some alpha > 0, and at the most samples every alpha > 0 "
        "minus alpha = 0, in the same repetition",
        statement="A smaller alpha helps when there are more samples",
    ),
    Claim(
        "Without noise the round from which some alpha Q < inf stays below global learning comes earlier at delta_std "
        "0.1 than at 0.01",
        "section 4 after Lemma 4.6; slides, additive model",
        "ppsgd_synthetic",
        synthetic.earlier_with_spread,
        f"{RISK}; that round at delta_std 0.01 minus that at 0.1, in the same repetition; one that never comes counts "
        "as the last",
        statement="When the optimal parameters of users differ, the change to a small alpha likely happens with fewer "
        "samples",
    ),
    Claim(
        "Without noise ten times as many rounds of a tenth of the users reach a lower average risk than rounds of all "
        "users",
        "sections 4 and 5, bias term",
        "ppsgd_sampling",
        theory.sampling_helps,
        "Excess risk averaged over users after equally many examples, at the best settings; log risk of Algorithm 1 "
        "in 50 rounds minus that of Algorithm 3 in 500, in the same repetition",
        statement="More rounds for the same number of samples may let the bias fall faster, so sampling users can help",
    ),
    Claim(
        "After 10,000 rounds of global learning a budget of epsilon 3 or 10 raises the risk of Algorithm 2 by more "
        "than that of Algorithm 3",
        "section 5, after Theorem 5.2 and (16)",
        "ppsgd_sampled_theory",
        theory.sums_pay_more,
        "The risk that each algorithm minimises, at the step and the clipping norm of its theorem; its increase over "
        "that without noise, of Algorithm 2 minus that of Algorithm 3, in the same repetition",
        statement="With unequal users the privacy cost of sums is higher than with equal ones, and that of averages is "
        "not",
    ),
    # ---- Ours ----
    Claim(
        "Without noise, rounds 20 to 50: risk of global < alpha Q = 3 < 1 < 0.3 < local",
        "as Figure 1a",
        "ppsgd_synthetic",
        synthetic.early_order,
        f"{RISK}; log ratio of neighbouring curves, at every round from 20 to 50 and both delta_std",
        ours=True,
    ),
    Claim(
        "Without noise, at the delta_std 0.1 of the authors' program, global stops at its floor within 1,000 rounds "
        "and all others go below",
        "as Figure 1a",
        "ppsgd_synthetic",
        synthetic.plateau,
        f"{RISK}; after the last round, 10 % (a threshold of ours) minus the distance of global from the floor of the "
        "parameters drawn, and the floor minus every other",
        ours=True,
    ),
    Claim(
        "Without noise, at the printed delta_std 0.01, some alpha Q goes below global within 1,000 rounds",
        "as Figure 1a",
        "ppsgd_synthetic",
        synthetic.plateau_as_published,
        f"{RISK}; after the last round, log risk of global learning minus that of some alpha Q < inf",
        ours=True,
    ),
    Claim(
        "Without noise, at the printed delta_std 0.01, some alpha Q goes below global within 4,000 rounds",
        "as Figure 1a, continued",
        "ppsgd_longer",
        synthetic.plateau_later,
        f"{RISK}; after the last round, log risk of global learning minus that of some alpha Q < inf",
        ours=True,
    ),
    Claim(
        "Local passes the others the earlier, the larger sigma",
        "as Figure 1a",
        "ppsgd_synthetic",
        synthetic.crossing_order,
        f"{RISK}; the first round from which local stays below all others, minus that of the next larger sigma",
        ours=True,
    ),
    Claim(
        "Digits without noise: an intermediate alpha Q beats local and global",
        "as Figure 1c",
        "ppsgd_digits",
        digits.between_without_noise,
        BETWEEN,
        ours=True,
    ),
    *(
        Claim(f"{data}: {text}", where, sweep, check, how, ours=True)
        for data, sweep in (("Tags", "ppsgd_tags"), ("Tags, generated documents", "ppsgd_tags_made_up"))
        for text, where, check, how in (
            (
                "without noise, also with larger steps than the published ones, an intermediate alpha Q beats local "
                "and global",
                "as Figure 1b",
                digits.between_without_noise,
                BETWEEN,
            ),
            (
                "with noise large alpha Q degrades during training, small alpha Q does not",
                "as Figure 1b",
                real.large_degrade,
                DEGRADES,
            ),
        )
    ),
    *(
        Claim(
            f"{data} at an epsilon of 10 or less: some alpha Q > 0 beats users who learn alone for {steps} steps, not "
            "only in the rounds that draw them",
            "",
            sweep,
            digits.over_learning_alone,
            f"{ACCURACY}; some alpha Q > 0 minus learning alone, in the same repetition",
            ours=True,
        )
        for data, sweep, steps in (("Digits", "ppsgd_digits", 1000), ("Tags", "ppsgd_tags", 300))
    ),
    *(
        Claim(f"{data}, {of}: {text}", "", sweep, users.by(column, check), how, ours=True)
        for data, sweep, steps in (("Digits", "ppsgd_digits", 1000), ("Tags", "ppsgd_tags", 300))
        for of, column in (
            ("mean over users", "test_accuracy_per_user"),
            ("worst tenth of the users", "test_accuracy_worst_tenth"),
        )
        for text, check, how in (
            (
                "at some epsilon of 10 or less an intermediate alpha Q beats local and global",
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
            "",
            sweep,
            users.small_gain_more,
            f"{ACCURACY}, of the users up to the lower tercile of training examples and of those from the upper on; "
            "global minus local learning of the former, minus that of the latter, in the same repetition",
            ours=True,
        )
        for data, sweep in (("Digits", "ppsgd_digits"), ("Tags", "ppsgd_tags"))
    ),
    Claim(
        "The best alpha changes from above 0 to 0 where n passes the threshold (10)",
        "as Lemma 4.6, of the measured risk",
        "ppsgd_theory",
        theory.best_alpha_changes,
        "Excess risk of the best alpha on the other side minus that of the best on the side that the lemma names (0 "
        "from the threshold on, above 0 before it), at every budget and sample size",
        ours=True,
    ),
]
