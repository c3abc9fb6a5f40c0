"""The figures that this project wants to reach, and whether a run reached them.

Ratios are taken round by round. The sleeping contenders are `iser`, `model` and `ping-pong`.
"""
import dataclasses

from . import copies
from .figures import Figures

READ, WRITE = "randread-4k-qd{}", "randwrite-4k-qd{}"


@dataclasses.dataclass(frozen=True)
class Criterion:
    line: str  # what it belongs to
    case: str
    contender: str
    reference: str  # empty: a figure of the contender's own
    metric: str
    bound: float
    at_least: bool = True

    @property
    def words(self) -> str:
        return f"{self.contender} / {self.reference}" if self.reference else self.contender


def _rates(line: str, cases: list[str], contender: str, reference: str, bound: float) -> list[Criterion]:
    return [Criterion(line, case, contender, reference, "iops", bound) for case in cases]


def _most(line: str, cases: list[str], contender: str, reference: str, metric: str, bound: float) -> list[Criterion]:
    return [Criterion(line, case, contender, reference, metric, bound, at_least=False) for case in cases]


def _small(depth: int) -> list[str]:
    return [READ.format(depth), WRITE.format(depth)]


LARGE = ["read-1m-qd8", "write-1m-qd8"]
MIDDLE = [f"{rw}-{size}-qd8" for size in ("64k", "256k") for rw in ("read", "write")]
CRITERIA = [
    *_rates("1 deep, 4 KiB", _small(32), "iser", "tgtd", 5),
    *_rates("1 deep, 4 KiB", _small(32) + _small(128), "iser", "model", 0.7),
    *_rates("1 deep, 4 KiB", _small(32), "iser-poll", "ping-pong", 0.75),
    *_rates("1 deep, 4 KiB", _small(32), "iser-poll", "tgtd", 7),
    *_rates("2 one at a time", _small(1), "iser", "ping-pong", 0.9),
    *_rates("2 one at a time", _small(1), "iser-poll", "ping-pong-spin", 0.55),
    *_rates("2 one at a time", _small(1), "iser-poll", "tgtd", 4),
    *_rates("3 large", LARGE[:1], "iser", "model", 0.80),
    *_rates("3 large", LARGE[1:], "iser", "model", 0.70),
    *_rates("3 large", LARGE, "iser", "tgtd", 2.2),
    *_rates("3 large", MIDDLE, "iser", "model", 0.75),
    *_rates("4 plain iSCSI", _small(32), "iscsi", "tgtd", 4),
    *_rates("4 plain iSCSI", LARGE, "iscsi", "tgtd", 1.8),
    *_rates("4 plain iSCSI", _small(32) + LARGE, "iscsi-digests", "tgtd-digests", 6),
    *_rates("4 CRC", _small(32) + LARGE, "iscsi-digests", "iscsi", 0.88),
    *_rates("4 CRC", _small(32) + LARGE, "iser", "iser-nocrc", 0.88),
    *_most("5 target CPU", _small(32), "iser", "model", "target_us_per_io", 1.65),
    *_most("5 target CPU", LARGE, "iser", "model", "target_s_per_gb", 1.35),
    *_most("5 system calls", _small(32), "iser", "", "target", 0.25),
    *_most("5 system calls", _small(32), "iser", "", "load", 0.25),
    *_most("6 copies", _small(32) + LARGE, "iser", "iscsi-digests", "touches", 1),
    *_most("6 copies", _small(32) + LARGE, "iser-nocrc", "iscsi", "touches", 1),
]
WORDS = {"iops": "throughput", "target_us_per_io": "target CPU per I/O", "target_s_per_gb": "target CPU per GB",
         "target": "target's system calls per I/O", "load": "load's system calls per I/O",
         "touches": "touches of the payload"}


@dataclasses.dataclass(frozen=True)
class Verdict:
    criterion: Criterion
    figure: float
    rounds: int

    @property
    def met(self) -> bool:
        return self.figure >= self.criterion.bound if self.criterion.at_least else self.figure <= self.criterion.bound


def _figure(c: Criterion, figures: Figures, results: dict) -> tuple[float, int] | None:
    if c.metric == "touches":
        ours, theirs = (copies.touches_of_both(results["copies"]["rows"], c.case, who) for who in (c.contender, c.reference))
        return (ours / theirs, 1) if ours and theirs else None
    if c.reference:
        ratios = figures.ratios(c.case, c.contender, c.reference, c.metric)
        return (figures.median(ratios), len(ratios)) if ratios else None
    of = [n[c.metric] for n in results["syscalls"]["counts"] if (n["case"], n["contender"]) == (c.case, c.contender)]
    return (of[0], 1) if of else None


def judge(results: dict) -> tuple[list[Verdict], list[Criterion]]:
    """What was measured, and the criteria that were not."""
    figures = Figures(results["samples"])
    found = [(c, _figure(c, figures, results)) for c in CRITERIA]
    return [Verdict(c, *f) for c, f in found if f], [c for c, f in found if not f]
