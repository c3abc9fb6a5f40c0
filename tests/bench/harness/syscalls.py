"""System calls per I/O of each side, counted in short runs of their own: counting costs time, so nothing else is taken from them.

perf counts without stopping the program. strace, where perf cannot, slows it down, and slow programs find more to do in each call.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from . import processes
from .cases import COUNTED, Case
from .contenders import Contender

EVENT = "raw_syscalls:sys_enter"
WHO = ("iser", "iser-poll", "iser-verbs", "iser-verbs-poll", "iscsi", "iscsi-poll", "tgtd")


def _perf(command: list[str], pid: int | None) -> tuple[int, dict]:
    """Calls of the process, or of the command itself; and what the command printed."""
    with tempfile.NamedTemporaryFile("r") as counted:
        attach = ["-p", str(pid)] if pid else []
        result = processes.run_json(["perf", "stat", "-x", ",", "-o", counted.name, "-e", EVENT, *attach, "--", *command])
        found = re.search(rf"^(\d+),.*{EVENT}", counted.read(), re.MULTILINE)
        if not found:
            raise processes.Failed("perf counted nothing")
        return int(found[1]), result


def _strace_total(text: str) -> int:
    """The calls of a summary by strace 6: `100.00  0.002362  16  144  18 total`."""
    found = re.search(r"^100\.00\s+\S+\s+\S*\s+?(\d+)\s+(?:\d+\s+)?total$", text, re.MULTILINE)
    if not found:
        raise processes.Failed("strace counted nothing")
    return int(found[1])


def _strace(command: list[str], pid: int | None) -> tuple[int, dict]:
    with tempfile.NamedTemporaryFile("r") as counted:
        strace = ["strace", "-f", "-c", "-o", counted.name]
        if not pid:
            result = processes.run_json([*strace, *command])
        else:
            tracer = subprocess.Popen([*strace, "-p", str(pid)], stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                time.sleep(0.3)  # it attaches to every thread
                result = processes.run_json(command)
            finally:
                tracer.terminate()
                tracer.wait()
        return _strace_total(counted.read()), result


def counter():
    """The name of what can count here, and its function; nothing if nothing can."""
    for name, count in (("perf", _perf), ("strace", _strace)):
        if not shutil.which(name):
            continue
        try:
            count(["echo", "{}"], None)
            return name, count
        except (processes.Failed, OSError) as error:
            print(f"{name} does not count system calls here: {error}", file=sys.stderr)
    return None, None


def _one(count, contender: Contender, case: Case, seconds: float) -> dict:
    command = contender.command(case, seconds)
    contender.target.work()
    try:
        sides = {"target": contender.target.daemon.pid, "load": None}
        found = {side: count(command, pid) for side, pid in sides.items()}
    finally:
        contender.target.rest()
    return {"case": case.name, "contender": contender.name, **{side: calls / result["ios"] for side, (calls, result) in found.items()}}


def measure(cases: list[Case], contenders: list[Contender], seconds: float) -> dict:
    name, count = counter()
    counts, failures = [], []
    for case in cases if count else []:
        for contender in contenders:
            if case.name not in COUNTED or contender.name not in WHO or not contender.runs(case):
                continue
            try:
                counts.append(_one(count, contender, case, seconds))
            except processes.Failed as error:
                failures.append(f"system calls, {case.name}, {contender.name}: {error}")
    return {"by": name, "counts": counts, "failures": failures}
