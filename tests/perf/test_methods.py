"""What `bench perf methods` prints: rounds of methods in turns with those of DP-FedAvg."""

from bench.algorithms import ALGORITHMS
from bench.perf import methods
from bench.sweeps.spec import arguments


def test_the_ratio_is_the_median_over_repetitions_without_the_first(monkeypatch):
    class Told:
        """A round of DP-FedAvg takes a second, of the method as long as its turn says."""

        def __init__(self, task, method, args):
            self.times = iter([1.0] * 4 if method == "dp_fedavg" else [9.0, 1.1, 1.2, 5.0])

        def seconds(self):
            return next(self.times)

    monkeypatch.setattr(methods, "_Runs", Told)
    monkeypatch.setattr(methods, "_task", lambda: None)
    (line,) = methods.methods(names=("FedProx",), repeats=3)
    assert (line.value, line.unit, line.wanted) == (1.2, "x DP-FedAvg", "<= 1.5")


def test_every_case_is_a_method_with_its_arguments(monkeypatch):
    monkeypatch.setattr(methods, "CLIENTS", 32)
    monkeypatch.setattr(methods, "FEATURES", 3)
    task, sizes = methods._task(), {methods.SAMPLED: 2, 1024: 32}
    for name, case in methods.CASES.items():
        for method, args in ((case.method, case.args), (case.base, case.base_args)):
            few = {key: sizes.get(value, value) if key == "num_sampled" else value for key, value in args.items()}
            known = methods._known(method, few)
            ALGORITHMS[method].fits(task, **arguments(ALGORITHMS[method], known))
            assert few.keys() - known.keys() <= {"server_step_size", "batch_size"}, name
