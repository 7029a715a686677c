"""What a run released, and what that costs: host side only, NumPy and dp_accounting, nothing traced.

`events` describes, `accounting` computes, `commands` is the command line of the two.
"""

from bench.privacy.on_demand import package_on_demand

# All that it imports costs a second, of which describing a release and Renyi DP need a tenth.
package_on_demand("dp_accounting")
