"""Code shared by the figures and claims of all papers."""
