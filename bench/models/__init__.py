"""Models: initial parameters, predictions, the loss of one example."""
