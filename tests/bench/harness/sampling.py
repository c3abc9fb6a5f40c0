"""Rounds of samples: in each round, every case with all its contenders side by side, in turning order."""
import resource
import sys
import time

from . import machine, processes
from .cases import Case
from .contenders import Contender

OTHERS = 0.3  # cores; a sample during which others used more is noise


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime + own.ru_utime + own.ru_stime


def take(contender: Contender, case: Case, seconds: float) -> dict:
    """One sample: what the load printed, the CPU time of both sides, and what others used meanwhile."""
    pid = contender.target.daemon.pid if contender.target else None
    start, busy, children = time.monotonic(), machine.busy_seconds(), _child_seconds()
    target = machine.cpu_seconds_of(pid) if pid else 0.0
    sample = processes.run_json(contender.command(case, seconds), timeout=30 + 4 * seconds)
    target = machine.cpu_seconds_of(pid) - target if pid else 0.0
    busy, children = machine.busy_seconds() - busy, _child_seconds() - children
    sample["target_cpu_s"] = target if pid else sample.pop("peer_cpu_s")
    sample["load_cpu_s"] = sample["cpu_user_s"] + sample["cpu_sys_s"]
    sample["other_cores"] = max(0.0, busy - children - target) / (time.monotonic() - start)
    return sample


class Sampler:
    """Collects the samples of a run."""

    def __init__(self, seconds: float, warm_up: float, quiet_wait: float, tries: int):
        self.seconds, self.warm_up, self.quiet_wait, self.tries = seconds, warm_up, quiet_wait, tries
        self.samples: list[dict] = []
        self.failures: list[str] = []

    def add(self, contender: Contender, case: Case, number: int) -> None:
        """A sample that others disturbed is taken again, a few times; the last one stays, and is marked."""
        for _ in range(self.tries):
            machine.wait_until_quiet(self.quiet_wait)
            sample = self._awake(contender, case)
            noisy = sample is not None and not contender.kernel_works and sample["other_cores"] > OTHERS
            if not noisy:
                break
        if sample is not None:
            self.samples.append({"round": number, "case": case.name, "contender": contender.name, "noisy": noisy, **sample})

    def _awake(self, contender: Contender, case: Case) -> dict | None:
        if contender.target:
            contender.target.work()
        try:
            if contender.target and self.warm_up:
                processes.run(contender.command(case, self.warm_up))
            return take(contender, case, self.seconds)
        except processes.Failed as error:
            self.failures.append(f"{case.name}, {contender.name}: {error}")
            print(f"  {self.failures[-1]}", file=sys.stderr)
            return None
        finally:
            if contender.target:
                contender.target.rest()

    def run(self, cases: list[Case], contenders: list[Contender], rounds: int, budget: float) -> None:
        """A budget, in seconds, ends the run early; cases that the last round did not reach keep the samples they have."""
        end = time.monotonic() + budget
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            for case in cases:
                if time.monotonic() > end:
                    print(f"out of time in round {number + 1}", file=sys.stderr)
                    return
                able = [c for c in contenders if c.runs(case)]
                turn = number % max(1, len(able))
                for contender in able[turn:] + able[:turn]:
                    self.add(contender, case, number)
