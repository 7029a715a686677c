"""What is done with results: their status, a prediction of their cost, merging and export."""
