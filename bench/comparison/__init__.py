"""Methods side by side on equal terms: the same task, the same statement of privacy, as many settings tried.

Every method's noise is found for each epsilon by an accountant that is proven for its sampler, and its arguments are
chosen on data that the test does not see. What the choice itself reveals of the data is not counted in epsilon, for
no method.

The way of a comparison, each step one function that makes one object:

    request.make_request   what the caller wants, looked up and checked      Request, with its Problem
    plan.make_plan         every method with all its arguments, settings,
                           statement and epsilons                            Plan, with a Candidate for each method
    stages.tune            settings run on held-out data, the later near
                           the best                                          Tuning
    stages.choose          the best setting for each split                   rows
    stages.test            that one run again, on the test data              rows, and so a Comparison
    figure.write           table, picture and notes                          files
"""

from bench.comparison.baselines import Variant
from bench.comparison.problem import Problem
from bench.comparison.request import Request, make_request
from bench.comparison.result import Comparison
from bench.comparison.run import compare
from bench.comparison.statements import NotComparable

__all__ = ["Comparison", "NotComparable", "Problem", "Request", "Variant", "compare", "make_request"]
