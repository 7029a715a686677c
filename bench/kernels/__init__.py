"""Pure functions for one client at one point. They know no algorithm and import nothing else of the project."""
