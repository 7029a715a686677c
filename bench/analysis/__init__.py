"""From rows to numbers, tables and pictures: what figures and comparisons share."""
