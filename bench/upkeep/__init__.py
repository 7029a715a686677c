"""What is done with results: their status, merging and export."""
