"""Numbers, tables and pictures from rows, as shared by figures and comparisons."""
