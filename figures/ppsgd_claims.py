"""What Bietti et al. 2022 claim of their experiments: the list. How runs decide is in the two files that it names."""

from figures import ppsgd_claims_digits as digits
from figures import ppsgd_claims_synthetic as synthetic
from figures.verdicts import Claim

FIGURE_1A = "section 6, Figure 1a"
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
]
