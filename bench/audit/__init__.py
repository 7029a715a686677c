"""Audits: tests by experiment whether a method can satisfy the epsilon that it declares.

An attacker who knows everything but one bit, whether one unit of privacy (a canary) is in the data, observes what a
method makes public and guesses. If the method is (epsilon, delta)-DP, the accuracy of the guesses is bounded; more
accurate guesses, with a confidence interval, prove a LOWER bound on epsilon. A lower bound above the declared epsilon
refutes it at the confidence level. A lower bound below it proves nothing: another attack might find more. A method
declares an epsilon at every delta, and the bounds may be taken at any of them: a bound refutes the description of the
release, from which all these epsilons follow.

There are two experiments. A game (`game`), which is the statistical test of the noise, makes thousands of independent
runs with and without the canary (Jagielski, Ullman, Oprea 2020; Nasr et al. 2021, 2023). The one-run audit (`one_run`)
has many canaries in one data set, each included by a coin of its own (Steinke, Nasr, Jagielski 2023; Mahloujifar,
Melis, Chaudhuri 2024). Both use tasks on which a canary is as visible as the theory allows (`tasks`), and call the
method's own functions. The estimators are those of jax_privacy, except for that of Gaussian noise (`bounds.gaussian`).

    from bench.audit import audit, audit_outputs
    audit("ppsgd").refuted
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.audit.outputs import audit_outputs as audit_outputs
    from bench.audit.report import audit as audit

_HOME = {"audit": "bench.audit.report", "audit_outputs": "bench.audit.outputs"}


def __getattr__(name: str):
    """Import a public name on first use, so that the command line need not wait for JAX."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
