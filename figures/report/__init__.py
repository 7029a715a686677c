"""One page that shows everything: claims, figures, tables, comparisons. `python -m figures report` writes it.

It is one file and asks the network for nothing: pictures and numbers are in it, as is what little program it has.
"""
