"""What is done with results: their status and merging."""
