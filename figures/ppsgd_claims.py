"""What Bietti et al. 2022 claim of their experiments: the list. How runs decide is in the files that it names."""

from figures import ppsgd_claims_digits as digits
from figures import ppsgd_claims_real as real
from figures import ppsgd_claims_synthetic as synthetic
from figures import ppsgd_claims_theory as theory
from figures.verdicts import Claim

FIGURE_1A = "section 6, Figure 1a"
FIGURE_1B, FIGURE_1D, FIGURE_2 = "section 6, Figure 1b", "section 6, Figure 1d", "section 6, Figure 2"
CLAIMS = [
    Claim(
        "Without noise, rounds 20 to 50: risk global < 3 < 1 < 0.3 < local",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.early_order,
    ),
    Claim(
        "Without noise global stops at the floor of differing users, all others go below (delta_std 0.1)",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.plateau,
    ),
    Claim(
        "The same within 1,000 rounds at the delta_std 0.01 that the paper prints: some a goes below global",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.plateau_as_published,
    ),
    Claim(
        "With sigma = 10 local passes all others between rounds 150 and 320",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.crossing_time,
    ),
    Claim(
        "Local passes the others the earlier, the larger sigma",
        FIGURE_1A,
        "ppsgd_synthetic",
        synthetic.crossing_order,
    ),
    Claim(
        "Digits without noise: local learning is poor, global is better",
        "section 6, Figures 1c and 2",
        "ppsgd_digits",
        digits.without_noise,
    ),
    Claim(
        "Digits without noise: an intermediate a beats local and global by more than the intervals",
        "Figures 1c and 2; the text says so of Stack Overflow",
        "ppsgd_digits",
        digits.between_without_noise,
    ),
    Claim(
        "Digits at epsilon near 1: the smallest a > 0 is the best of all a > 0",
        "section 6, Figure 2",
        "ppsgd_digits",
        digits.strong_privacy,
    ),
    Claim(
        "Digits at some finite epsilon: an intermediate a beats local and global by more than the intervals",
        "section 6, Figure 2",
        "ppsgd_digits",
        digits.strict_gain,
    ),
    *(
        Claim(f"{data}: {text}", where, sweep, check)
        for data, sweep in (("Tags", "ppsgd_tags"), ("Tags, generated documents", "ppsgd_tags_made_up"))
        for text, where, check in (
            (
                "without noise an intermediate a beats local and global by more than the intervals",
                FIGURE_1B,
                digits.between_without_noise,
            ),
            ("with noise large a degrades during training, small a does not", FIGURE_1B, real.large_degrade),
            ("at epsilon near 1 the smallest a > 0 is the best of all a > 0", FIGURE_2, digits.strong_privacy),
            (
                "at some finite epsilon an intermediate a beats local and global by more than the intervals",
                FIGURE_2,
                digits.strict_gain,
            ),
        )
    ),
    Claim("CNN: local learning, on random features, is far below all", FIGURE_1D, "ppsgd_cnn", real.local_far_below),
    Claim("CNN: large a is the best where privacy is weak", FIGURE_1D, "ppsgd_cnn", real.large_at_weak_privacy),
    Claim(
        "CNN: the smallest a > 0 is the best of all a > 0 where privacy is strong",
        FIGURE_1D,
        "ppsgd_cnn",
        real.small_at_strong_privacy,
    ),
    Claim(
        "CNN at some finite epsilon: an intermediate a beats local and global by more than the intervals",
        FIGURE_2,
        "ppsgd_cnn",
        digits.strict_gain,
    ),
    Claim("The bound holds at every alpha, n and epsilon", "Theorem 4.5", "ppsgd_theory", theory.bound_holds),
    Claim(
        "The best alpha changes from above 0 to 0 where n passes the threshold (10)",
        "Lemma 4.6",
        "ppsgd_theory",
        theory.best_alpha_changes,
    ),
]
