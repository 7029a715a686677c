"""The board as one page: all methods by task and epsilon at one stated protocol. `python -m figures board` writes it.

It reads what `python -m bench board` leaves, a folder for each task, and runs nothing.
"""
