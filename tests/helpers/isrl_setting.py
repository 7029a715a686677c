"""The sizes of the experiment of Gao et al. 2024, as numbers, for tests of its theory."""

from bench.papers.isrl import theory as isrl

N, M, n, d, DELTA = 25, 18, 1238, 50, 1238**-2
SETTING = isrl.Setting(N, M, n, d, epsilon=3.0, delta=DELTA, lipschitz=2.0, diameter=5.0, smoothness=0.7)
EPSILONS = [0.75, 1.5, 3.0, 6.0, 12.0, 18.0]
