"""Compares methods on equal terms: the same task, the same privacy statement and the same tuning budget.

For each epsilon, the noise of every method is calibrated by an accountant that is proven for its sampler, and its
arguments are chosen on data that the test does not use. What this choice reveals about the data is not included in
epsilon, for any method.

A comparison has these steps, each a function that returns one object:

    request.make_request   the checked request of the caller      Request, with its Problem plan.make_plan         every
    method with its arguments, settings,
                          statement and epsilons                            Plan, with a Candidate for each method
    stages.tune            settings run on held-out data, later ones
                          near the best                                          Tuning
    stages.choose          the best setting for each split                   rows
    stages.test            that setting rerun on the test data              rows, and so a Comparison figure.write
    table, figure and notes                          files
"""

from bench.comparison.baselines import Variant
from bench.comparison.problem import Problem
from bench.comparison.request import Request, make_request
from bench.comparison.result import Comparison
from bench.comparison.run import compare
from bench.comparison.statements import NotComparable

__all__ = ["Comparison", "NotComparable", "Problem", "Request", "Variant", "compare", "make_request"]
