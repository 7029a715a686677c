"""Results on disk, in results/<scale>/<sweep>/: Parquet parts, their journal, and the checks of what they hold."""

SCALES = ("smoke", "laptop", "paper")
