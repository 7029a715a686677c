"""Readers for the file formats of the data sets."""
