"""What the figures and claims of all papers share."""
