"""Copies, CRC passes and system calls of target and initiator, each with the place it is made from.

Both run with the library `copies` preloaded, in runs of their own. What start, login and the first I/Os take is known from a run that is
nothing else, and taken off.
"""
import collections
import pathlib
import typing

from . import cases, contenders, processes, tally, targets
from .cases import Case, MIB
from .contenders import Contender

WHO = ("iser", "iser-nocrc", "iser-stream-first", "iscsi", "iscsi-digests")
NOTHING = 0.001  # seconds
LUN_SIZE = 64 * MIB  # is read as a whole first: the daemon takes a page another way the first time
USER, CRC = ("memcpy", "memmove", "memset"), ("crc32_iscsi",)


def kind_of(what: str) -> str:
    return "user" if what in USER else "crc" if what in CRC else "kernel"


def _counting(programs: pathlib.Path, file: pathlib.Path) -> list[str]:
    return ["env", f"LD_PRELOAD={programs / 'libcopies.so'}", f"COPIES_FILE={file}"]


class _Counted:
    """The target, and the load's command, each with a file of counts."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path, lun: pathlib.Path):
        self.programs = programs
        self.files = {"target": folder / "target.counts", "initiator": folder / "initiator.counts"}
        self.target = targets.OpenIser("copies", programs, folder, lun, counting=_counting(programs, self.files["target"]))
        self.contenders = [c for c in contenders.ours(programs, self.target) if c.name in WHO]
        processes.run(self.contenders[0].command(Case("read", MIB, 8), 0.3))

    def _target_counts(self) -> tally.Counts:
        return tally.read(self.files["target"], self.programs / "iser-targetd")

    def run(self, contender: Contender, case: Case, seconds: float) -> tuple[int, dict[str, tally.Counts]]:
        """I/Os, and the counts of both sides."""
        command = contender.command(case, seconds)
        at = command.index(str(self.programs / "iser"))
        before = self._target_counts()
        result = processes.run_json([*command[:at], *_counting(self.programs, self.files["initiator"]), *command[at:]])
        return result["ios"], {"target": tally.less(self._target_counts(), before),
                               "initiator": tally.read(self.files["initiator"], self.programs / "iser")}

    def rows(self, contender: Contender, case: Case, seconds: float) -> list[dict]:
        few, start = self.run(contender, case, NOTHING)
        many, whole = self.run(contender, case, seconds)
        ios = many - few
        if ios <= 0:
            raise processes.Failed("the longer run had no more I/Os than the shorter one")
        return [{"case": case.name, "contender": contender.name, "side": side, "ios": ios,
                 "places": _per_io(tally.less(whole[side], start[side]), ios, case.bs)} for side in self.files]


def _per_io(counts: tally.Counts, ios: int, size: int) -> list[dict]:
    """What is too rare to be part of an I/O is left out."""
    places = [{"what": p.what, "where": p.where, "calls_per_io": n.calls / ios, "bytes_per_byte": n.bytes / ios / size}
              for p, n in counts.items()]
    frequent = [p for p in places if p["calls_per_io"] >= 0.002 or p["bytes_per_byte"] >= 0.002]
    return sorted(frequent, key=lambda p: (kind_of(p["what"]), -p["bytes_per_byte"], -p["calls_per_io"]))


def why_not(programs: pathlib.Path, by_verbs: bool) -> str:
    """Why nothing is counted; nothing if it can be."""
    if by_verbs:
        return "what an RDMA device copies is not counted, and the others' are the same as without one"
    return "" if (programs / "libcopies.so").exists() else "libcopies.so is not built (target `benchmarks`)"


def check(programs: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Whether a program's copies are counted as it says itself."""
    file, program = folder / "check.counts", programs / "copies_check"
    said = processes.run_json([*_counting(programs, file), str(program)])
    counted: typing.Counter[str] = collections.Counter()
    for place, n in tally.read(file, program).items():
        counted[place.what, "calls"] += n.calls
        counted[place.what, "bytes"] += n.bytes
    return [f"copies: {what} counted as {counted[what, 'calls']} calls of {counted[what, 'bytes']} bytes, not {calls} of {size}"
            for what, (calls, size) in said.items() if (counted[what, "calls"], counted[what, "bytes"]) != (calls, size)]


def measure(programs: pathlib.Path, folder: pathlib.Path, make_lun: typing.Callable[..., pathlib.Path], seconds: float) -> dict:
    rows, failures = [], check(programs, folder)
    counted = _Counted(programs, folder, make_lun("copies.img", LUN_SIZE))
    try:
        for case in map(cases.by_name, cases.COUNTED):
            for contender in counted.contenders:
                try:
                    rows += counted.rows(contender, case, seconds)
                except processes.Failed as error:
                    failures.append(f"copies, {case.name}, {contender.name}: {error}")
    finally:
        counted.target.stop()
        for file in counted.files.values():
            file.unlink(missing_ok=True)
    return {"rows": rows, "failures": failures}


def total(row: dict, kind: str) -> float:
    """Bytes copied, or passed by a CRC, per byte of payload."""
    return sum(p["bytes_per_byte"] for p in row["places"] if kind_of(p["what"]) == kind)


def touches(row: dict) -> float:
    return sum(p["bytes_per_byte"] for p in row["places"])


def touches_of_both(rows: list[dict], case: str, contender: str) -> float | None:
    """None where it was not counted."""
    return sum(touches(r) for r in rows if (r["case"], r["contender"]) == (case, contender)) or None


def system_calls(row: dict) -> dict[str, float]:
    """Per I/O, by name."""
    calls: typing.Counter[str] = collections.Counter()
    for p in row["places"]:
        if kind_of(p["what"]) == "kernel":
            calls[p["what"]] += p["calls_per_io"]
    return dict(calls.most_common())
