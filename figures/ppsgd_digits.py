"""What the digit figures of Bietti et al. 2022 share: which runs they read, and how the step size is chosen.

The paper chooses the step size by the accuracy on the test set, which flatters every curve; beside it stands
the same curve with the step size chosen on training examples that nobody trains on.
"""

import pandas as pd

CLIP_NORM = 10.0
TUNINGS = {"test": "test_accuracy", "validation": "validation_accuracy"}
TUNING_TITLES = {"test": "step chosen on test data, as in the paper", "validation": "step chosen on held-out data"}
EPSILONS = ("epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case")


def shown(runs: pd.DataFrame, curves) -> pd.DataFrame:
    """The runs at the clipping norm shown, of the given personalisation values."""
    return runs[(runs["clip_norm"] == CLIP_NORM) & runs["personalization"].isin(curves)]
