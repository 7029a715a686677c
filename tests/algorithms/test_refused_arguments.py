"""Arguments of private coordinate descent that make no sense are refused."""

import pytest
from tiny_peers import MU, N, P, logistic_peers

from bench.algorithms.coordinate_descent import METHOD
from bench.errors import InputError
from bench.sweeps.spec import arguments


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ({"start": "lokal"}, "no start is called 'lokal'"),
        ({"num_awake": N + 1}, f"num_awake is {N + 1}, but linear_p2p_{P} has {N} agents"),
        ({"num_updates": 5.0, "max_updates": 4}, "num_updates is 5, above max_updates = 4: raise max_updates"),
        ({"allocation": "published"}, "allocation published needs Laplace noise, max_updates, and one agent"),
        (
            {"allocation": "unrolled", "max_updates": 2, "num_updates": 2.0, "mechanism": "gaussian"},
            "allocation unrolled needs Laplace noise",
        ),
        ({"allocation": "unrolled", "max_updates": 2, "num_updates": 2.0, "num_awake": 2}, "one agent awake at a time"),
    ],
)
def test_values_that_make_no_sense_are_refused_in_one_line(point, said):
    with pytest.raises(InputError, match=said) as error:
        METHOD.check(logistic_peers(), **arguments(METHOD, {"mu": MU} | point))
    assert "\n" not in str(error.value)
    METHOD.check(logistic_peers(), **arguments(METHOD, {"mu": MU}))
