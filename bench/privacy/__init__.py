"""Descriptions of what a run releases, and privacy accounting for them.

`events` describes releases, `accounting` computes epsilon and noise, and `commands` is their command line. All of this
runs on the host with NumPy and dp_accounting; nothing is traced.
"""

from bench.privacy.on_demand import package_on_demand

# Importing all of it takes a second; describing a release and Renyi DP need a tenth of that.
package_on_demand("dp_accounting")
