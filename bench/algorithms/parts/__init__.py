"""The parts that several methods share."""
