"""What a run released, and what that costs: host side only, NumPy and dp_accounting, nothing traced.

`events` describes, `accounting` computes, `commands` is the command line of the two.
"""
