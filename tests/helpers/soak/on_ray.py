"""Kill -9 of Ray's workers and of drivers on a Ray cluster, resumed until all is there."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import psutil

from soak import sweep
from soak.processes import Forks

WORDS = ("run", "soak", "--chunk", "3", "--executor", "ray")
STARTS_S = 120.0  # for a driver to have its first task at work
ENDS_S = 600.0  # for a driver that lost a worker to end all the same


def ray_kills(forks: Forks, scratch: Path, number: int, chance: random.Random, of_driver: float = 0.5) -> Counter:
    """Kill so many drivers or workers on a cluster of one node with two cores.

    Args:
        forks: where drivers come from.
        scratch: an empty folder.
        number: of kills.
        chance: of the moments.
        of_driver: share of the kills that hit the driver, and not one of its workers.

    Returns:
        Counts: kills of drivers and of workers, runs that became complete, and whatever was wrong, in words.
    """
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    found: Counter = Counter()
    forks.start([*sweep.WORDS, "--out", str(scratch / "undisturbed")], scratch / "log").wait()
    reference = sweep.rows(scratch / "undisturbed")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        cluster.add_node(num_cpus=2)
        out = scratch / "out0"
        while found["kills of a Ray driver"] + found["kills of a Ray worker"] < number or out.exists():
            before = sweep.parts(out)
            words = [*WORDS, "--out", str(out)]
            running = forks.start(words, scratch / "log", environment={"RAY_ADDRESS": cluster.address})
            kills = found["kills of a Ray driver"] + found["kills of a Ray worker"]
            at_work = _wait_for_a_worker(running, STARTS_S)
            time.sleep(chance.uniform(0, 2))
            if at_work and kills < number:
                if chance.random() < of_driver and running.wait(0) is None:
                    running.end(signal.SIGKILL)
                    found["kills of a Ray driver"] += running.status == -signal.SIGKILL
                elif _kill_a_worker(chance):
                    found["kills of a Ray worker"] += 1
            status = running.wait(ENDS_S)
            if status is None:
                running.end(signal.SIGKILL)
                found[f"a driver that does not end: {running.said()[-300:]}"] += 1
            elif status not in (0, -signal.SIGKILL):
                found[f"exit status {status}: {running.said()[-300:]}"] += 1
            if "Traceback" in running.said():
                found[f"a traceback: {running.said()[-300:]}"] += 1
            if before - sweep.parts(out):
                found["parts are lost"] += 1
            for what in sweep.wrong(out):
                found[what] += 1
            if status == 0:
                found["complete after kills on Ray"] += 1
                for what in sweep.differs(out, reference, exactly=False):
                    found[f"not as undisturbed: {what}"] += 1
                out = scratch / f"out{found['complete after kills on Ray']}"
    finally:
        cluster.shutdown()
    return found


def _at_work() -> list[psutil.Process]:
    """The processes of Ray that train."""
    return [each for each in psutil.process_iter(["name"]) if "ray::_task" in (each.info["name"] or "")]


def _wait_for_a_worker(running, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not _at_work():
        if running.wait(0.1) is not None or time.monotonic() > until:
            return False
    return True


def _kill_a_worker(chance: random.Random) -> bool:
    workers = _at_work()
    if not workers:
        return False
    try:
        chance.choice(workers).kill()
    except psutil.Error:
        return False
    return True
