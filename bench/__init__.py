"""A JAX benchmark suite for private federated learning."""
