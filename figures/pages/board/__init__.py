"""The board as one HTML page: all methods by task and epsilon under a stated protocol. `python -m figures board` writes
it.

It reads the folders that `python -m bench board` writes, one per task, and runs nothing.
"""
