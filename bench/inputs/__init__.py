"""What users give: the arguments of Python functions, and values in texts."""
