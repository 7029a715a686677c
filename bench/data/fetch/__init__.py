"""Fetching the files of a data set: their sources, and the cache."""
