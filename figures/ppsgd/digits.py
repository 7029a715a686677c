"""What the digit figures of Bietti et al. 2022 share: how the step size is chosen.

The paper chooses the step size by the accuracy on the test set, which flatters every curve; beside it stands
the same curve with the step size chosen on training examples that nobody trains on.
"""

TUNINGS = {"test": "test_accuracy", "validation": "validation_accuracy"}
TUNING_TITLES = {"test": "step size by test accuracy, as in the paper", "validation": "step size by held-out accuracy"}
EPSILON_NOTE = (
    "Epsilon at delta = 1e-4 as the paper accounts: RDP, users sampled by Poisson at rate Q/N, add-or-remove one user. "
    "Protected is all data of a user against all others together, who see w (joint DP; theta_i stays with its user). "
    "The published schedule deals out every user's data and is no such sample: proven for it is only the epsilon of "
    "one user replaced, without amplification."
)
