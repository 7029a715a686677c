"""The pages: the report of all papers, and the board."""
