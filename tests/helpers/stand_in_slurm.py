#!/usr/bin/env python3
"""sbatch, srun, scancel, sacct and squeue of a cluster that consists of processes of this machine.

    stand_in_slurm.install(folder) -> a folder for PATH

FAKE_SLURM says what sbatch does: "ok" starts the job; "refuse" refuses it; "junk" answers something else; "lose" takes
the job, of which nobody knows anything afterwards. Jobs are files in the folder, with the id of their process.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFUSAL = """sbatch: error: invalid partition specified: nosuch
sbatch: error: Batch job submission failed: Invalid partition name specified
"""


def install(folder: Path) -> Path:
    """Put the commands into a folder."""
    folder.mkdir()
    for name in ("sbatch", "srun", "scancel", "sacct", "squeue"):
        shutil.copy(__file__, folder / name)
        (folder / name).chmod(0o755)
    return folder


def running(number: str) -> bool:
    try:
        process = int((HERE / f"{number}.job").read_text())
        return Path(f"/proc/{process}/stat").read_text().split()[2] not in "Z"
    except (OSError, ValueError):
        return False


def sbatch(words: list[str]) -> int:
    how = os.environ.get("FAKE_SLURM", "ok")
    if how == "refuse":
        sys.stderr.write(REFUSAL)
        return 1
    if how == "junk":
        print("Welcome to the cluster!\nnew terms of use: see the page")
        return 0
    number = str(1000 + len(list(HERE.glob("*.job"))))
    (HERE / f"{number}.job").touch()
    if how == "ok":
        new = os.environ | {"SLURM_JOB_ID": number, "SLURM_NTASKS": "1", "SLURM_JOB_NUM_NODES": "1"}
        new |= dict.fromkeys(("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"), "0") | {"SLURM_JOB_NODELIST": "here"}
        nothing = subprocess.DEVNULL
        job = subprocess.Popen(
            ["bash", words[0]], env=new, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        (HERE / f"{number}.job").write_text(str(job.pid))
    print(f"Submitted batch job {number}")
    return 0


def srun(words: list[str]) -> int:
    places = {"%j": os.environ["SLURM_JOB_ID"], "%t": "0"}
    while words[0].startswith("--"):
        option = words.pop(0)
        if option in ("--output", "--error"):
            path = words.pop(0)
            for mark, value in places.items():
                path = path.replace(mark, value)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, 1 if option == "--output" else 2)
    os.execvp(words[0], words)


def scancel(words: list[str]) -> int:
    if running(words[0]):
        os.killpg(int((HERE / f"{words[0]}.job").read_text()), signal.SIGKILL)
    return 0


def sacct(words: list[str]) -> int:
    print("JobID|State|NodeList")
    if os.environ.get("FAKE_SLURM", "ok") == "ok":
        for number in words[4::2]:
            print(f"{number}|{'RUNNING' if running(number) else 'FAILED'}|here")
    return 0


def squeue(words: list[str]) -> int:
    if running(words[2]):
        print(f"{words[2]} here bench")
        return 0
    sys.stderr.write("slurm_load_jobs error: Invalid job id specified\n")
    return 1


if __name__ == "__main__":
    sys.exit(globals()[Path(sys.argv[0]).name](sys.argv[1:]))
