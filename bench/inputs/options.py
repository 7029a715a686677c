"""Options that several functions have, each with the text by which the command line explains it.

A parameter with such a text is an option of the command that is made of its function (`bench.cli.command`). All others
can only be given in Python.
"""

import os
from typing import Annotated

Out = Annotated[str | os.PathLike, "Results folder."]
Scale = Annotated[str, "smoke, laptop or paper."]
Workers = Annotated[
    int | str,
    "Number of worker processes; auto: one per GPU, or else one per core; ray or ray://HOST:PORT: tasks of Ray.",
]
