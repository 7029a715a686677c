"""The report: one HTML page with all claims, figures, tables and comparisons, written by `python -m figures report`.

The page is a single file without network requests: it includes its images, numbers and scripts.
"""
