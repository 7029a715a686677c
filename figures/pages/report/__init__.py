"""The report: a page with all verdicts, figures and comparisons, written by `python -m figures report`.

The first screen says what the suite is, what was found of each paper with its best picture, and shows the ranks of the
board. The contents, the figures of every paper, all claims, what was run here, and comparisons follow.

The page is a file with a folder of files beside it: pictures, numbers as CSV, a page for each paper with the numbers
behind its verdicts, and the page of the board. It makes no requests to a network.
"""
