"""Values that a method cannot use are refused in a line that names them."""

import math

import pytest
from tiny_peers import N
from toy_problems import toy_of

from bench.algorithms import ALGORITHMS
from bench.data.tasks.synthetic import synthetic
from bench.errors import InputError
from bench.sweeps.spec import arguments, parameters

NOISY = {"noise_multiplier": 1.0}  # the toy problems have no bound on what is sent
UNROLLED = {"allocation": "unrolled", "max_updates": 2, "num_updates": 2.0}
REFUSED = [
    ("admm", {"start": "zeros"}, "no start is called 'zeros'"),
    ("coordinate_descent", {"start": "lokal"}, "no start is called 'lokal'"),
    ("coordinate_descent", {"num_awake": N + 1}, f"num_awake is {N + 1}, but squared_peers has {N} agents"),
    ("coordinate_descent", {"num_updates": 5.0, "max_updates": 4}, "above max_updates = 4: raise max_updates"),
    ("coordinate_descent", {"allocation": "published"}, "needs Laplace noise, max_updates, and one agent"),
    ("coordinate_descent", UNROLLED | {"mechanism": "gaussian"}, "allocation unrolled needs Laplace noise"),
    ("coordinate_descent", UNROLLED | {"num_awake": 2}, "one agent awake at a time"),
    ("dp_fedrep", {"order": "head"}, "no order is called 'head'"),
    ("dp_scaffold", {"sampler": "queue"}, "no sampler is called 'queue'"),
    ("dp_scaffold", {"num_sampled": 9}, "num_sampled is 9, more than the 5 clients"),
    ("dp_scaffold", {"batch_size": 13}, "batch_size is 13, of 6 records of a client"),
    ("dp_scaffold", {"batch_size": 3}, "sampler 'all' means batch_size = 6, not 3"),
    ("dpsgd_fedavg", {"num_epochs": 3.0}, "num_epochs is 3, which does not divide total_epochs = 100"),
    ("dpsgd_fedavg", {"clipping": "layer"}, "no clipping is called 'layer'"),
    ("dpsgd_fedavg", {"batch_size": 13}, "batch_size is 13, more than the 4 examples"),
    ("dpsgd_fedavg", {"sampler": "in_order", "clip_norm": 1.0} | NOISY, "fixed batches"),
    ("local_dp", {"bound": 0.0}, "bound is 0.0"),
    ("local_dp", {"noise_multiplier": math.inf}, "noise_multiplier is inf"),
    ("local_dp", {"solver": "conjugate"}, "no solver is called 'conjugate'"),
    ("local_learning", {"batch_size": 13}, "batch_size is 13"),
    ("local_learning", {"local": "sparse"}, "form of local models"),
    ("model_propagation", {"local": "minimiser"}, "no kind of local models is called 'minimiser'"),
    ("model_propagation", {"mechanism": "gausian"}, "no mechanism is called 'gausian'"),
    ("mr_mtl", {"sampler": "queue"}, "no sampler is called 'queue'"),
    ("mr_mtl", {"start": "zero"}, "no start of a round is called 'zero'"),
]
UNCLIPPED = ("dp_dsgd", "dp_scaffold", "dpsgd_fedavg", "mr_mtl")
SCALED = [name for name, method in ALGORITHMS.items() if "regularization_scale" in parameters(method)[0]]
REFUSED += [(name, NOISY, "noise has no scale without clipping") for name in UNCLIPPED]
REFUSED += [
    (name, {"regularization_scale": wrong}, "regularization_scale is")
    for name in SCALED
    for wrong in (-1.0, math.inf, math.nan)
]


@pytest.mark.parametrize(("name", "change", "said"), REFUSED)
def test_a_value_that_a_method_cannot_use_is_refused_in_one_line(name, change, said):
    toy, method = toy_of(name), ALGORITHMS[name]
    method.fits(toy.task(), **arguments(method, toy.args))
    with pytest.raises(InputError, match=said) as error:
        method.fits(toy.task(), **arguments(method, toy.args | change))
    assert "\n" not in str(error.value)


def test_a_task_that_a_method_cannot_use_is_refused():
    for name, said in (("local_learning", "is a stream"), ("local_dp", "no graph")):
        method = ALGORITHMS[name]
        with pytest.raises(InputError, match=said):
            method.fits(synthetic(0, num_clients=5, num_features=6), **arguments(method, toy_of(name).args))
