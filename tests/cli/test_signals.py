"""Signals at any moment, imports included, end a command in one line with the exit status of a shell."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tiny_sweeps import ROOT

from bench.cli.signals import LINE, SIGNALS
from bench.cli.start import run_command

SENDS = "import os, signal, time\ndef send():\n    os.kill(os.getpid(), signal.{name})\n    time.sleep(0.01)\n"
WHERE = {
    "an import": "send()\ntime.sleep(20)\n",
    # Python reports what is raised there, and goes on.
    "a callback that drops exceptions": "import typer\napp = typer.Typer()\nclass Kept:\n"
    "    __del__ = lambda self: send()\n@app.command()\ndef f():\n    Kept()\n    time.sleep(20)\n",
    "a command": "import typer\napp = typer.Typer()\n@app.command()\ndef f():\n    send()\n    time.sleep(20)\n",
}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command line that a text defines; its exit status."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["command"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # where a background job ignores it

    def run(text: str) -> int:
        (tmp_path / "some_command.py").write_text(text)
        monkeypatch.delitem(sys.modules, "some_command", raising=False)
        return run_command("some_command")

    yield run
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("where", WHERE)
def test_a_signal_is_one_line_and_the_status_of_a_shell(command, capsys, where, number):
    before = {known: signal.getsignal(known) for known in (*SIGNALS, signal.SIGALRM)}
    begin = time.monotonic()
    assert command(SENDS.format(name=number.name) + WHERE[where]) == 128 + number
    assert time.monotonic() - begin < 15
    assert capsys.readouterr().err == LINE + "\n"
    assert {known: signal.getsignal(known) for known in before} == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_arrives_with_its_handler_is_one_line(number, command, capsys, monkeypatch):
    real = signal.signal

    def install(which, handler):
        replaced = real(which, handler)
        if which == number and not sent:
            sent.append(which)
            os.kill(os.getpid(), number)
        return replaced

    sent, before = [], {known: signal.getsignal(known) for known in (*SIGNALS, signal.SIGALRM)}
    monkeypatch.setattr(signal, "signal", install)
    assert command("import time\ntime.sleep(20)\n") == 128 + number
    assert capsys.readouterr().err == LINE + "\n"
    assert {known: signal.getsignal(known) for known in before} == before


def test_an_error_that_a_library_makes_of_an_interrupt_is_a_stop(command, capsys):
    """As pandas, whose check of an argument answered wrongly when a signal came during it."""
    lost = "    try:\n        send()\n        time.sleep(20)\n"
    lost += "    except KeyboardInterrupt:\n        raise TypeError('lost')\n"
    of_a_command = "import typer\napp = typer.Typer()\n@app.command()\ndef f():\n"
    assert command(SENDS.format(name="SIGTERM") + of_a_command + lost) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == LINE + "\n"
    assert command(of_a_command + "    raise TypeError('own')\n") == 1
    assert "own" in capsys.readouterr().err


def test_a_signal_that_is_ignored_stays_ignored(command, monkeypatch):
    """As SIGINT in a shell's background jobs."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        text = "import typer\napp = typer.Typer()\n@app.command()\ndef f():\n    send()\n"
        assert command(SENDS.format(name="SIGINT") + text) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_end_of_a_file_is_not_called_a_stop(command):
    """Typer takes an EOFError for Ctrl-D at a prompt; here it is a mistake of ours, or a damaged file."""
    with pytest.raises(EOFError):
        command("import typer\napp = typer.Typer()\n@app.command()\ndef f():\n    raise EOFError\n")


PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
from bench.cli import signals, start
signals.leave(start.run_command("some_command"))
"""
APP = "import typer\napp = typer.Typer()\n@app.command()\ndef f():\n"


def process(folder, text: str) -> tuple[int, str, str]:
    """Status, output and errors of a process that runs the command line which a text defines."""
    (folder / "some_command.py").write_text(text)
    (folder / "program.py").write_text(PROGRAM)
    new = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run([sys.executable, "-m", "program"], env=new, capture_output=True, text=True, timeout=45)
    return done.returncode, done.stdout, done.stderr


def test_the_status_is_that_of_the_signal_even_where_it_came_in_a_text_that_is_executed(tmp_path):
    """As imports of dataclasses do: Python ends such a process by SIGINT, unless it is told otherwise."""
    found = process(tmp_path, SENDS.format(name="SIGTERM") + "exec('send(); time.sleep(20)')")
    assert found == (128 + signal.SIGTERM, "", LINE + "\n")


@pytest.mark.parametrize(("last", "found"), [("send()", (130, "", LINE + "\n")), ("print('done')", (0, "done\n", ""))])
def test_a_thread_that_is_still_working_does_not_delay_the_end(tmp_path, last, found):
    """As that of a worker which a second signal has kept from being ended, or one of a user's code."""
    text = SENDS.format(name="SIGINT") + "import threading\nthreading.Thread(target=time.sleep, args=[60]).start()\n"
    assert process(tmp_path, f"{text}{APP}    {last}\n") == found


def test_a_signal_during_an_import_waits_for_its_end_where_that_is_soon(command, capsys, tmp_path):
    """An extension module that is being initialised may lose an exception, or crash."""
    text = (
        SENDS.format(name="SIGTERM")
        + f"send()\ntime.sleep(0.3)\nimport pathlib\npathlib.Path({str(tmp_path / 'done')!r}).touch()\ntime.sleep(20)\n"
    )
    begin = time.monotonic()
    assert command(text) == 128 + signal.SIGTERM
    assert (tmp_path / "done").exists()
    assert time.monotonic() - begin < 15
    assert capsys.readouterr().err == LINE + "\n"


@pytest.mark.parametrize("module", ["bench", "figures"])
def test_the_package_imports_nothing_slow_before_the_handlers_of_signals(module):
    """What `python -m` imports before it runs `__main__`."""
    code = f"import sys, {module}; print(sorted({{'jax', 'matplotlib', 'numpy', 'pandas'}} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout == "[]\n"
