"""Malformed input at random: what it is made of, and what every command must answer to it."""
