"""Getting the files of a data set: where they come from, and the cache."""
