"""Whether a run has everything that a run should have: for the harness's own test, not for figures."""
import itertools
import json
import math
import os
import pathlib
import xml.etree.ElementTree

from . import cases, copies, criteria, syscalls
from .figures import METRICS

NAMES = ["ping-pong", "ping-pong-spin", "model", "model-spin", "iser", "iser-nocrc", "iser-stream-first", "iscsi", "iscsi-digests",
         "iscsi-libiscsi", "iser-poll", "iscsi-poll", "tgtd", "tgtd-digests"]
BY_VERBS = ["iser-verbs", "iser-verbs-poll"]


def _by_verbs(results: dict) -> bool:
    return results["options"]["wire"] == "verbs"


def _expected(results: dict) -> list[str]:
    absent = [] if os.geteuid() == 0 else ["tgtd", "tgtd-digests"]
    return [name for name in NAMES + (BY_VERBS if _by_verbs(results) else []) if name not in absent]


def _of_sample(sample: dict) -> list[str]:
    where = f"{sample['case']}, {sample['contender']}"
    faults = [f"{where}: {sample['errors']} errors"] if sample["errors"] else []
    for name, value in METRICS.items():
        figure = value(sample)
        if not math.isfinite(figure) or figure <= 0:
            faults.append(f"{where}: {name} is {figure}")
    return faults


def _of_samples(results: dict, expected: list[str]) -> list[str]:
    faults = [f"no contender {name}" for name in expected if name not in results["contenders"]]
    there = {(s["case"], s["contender"]) for s in results["samples"]}
    for name in expected:
        for case in map(cases.by_name, cases.SMOKE):
            bound_of_mixed = case.mixed and name.startswith(("ping-pong", "model"))
            if (case.name, name) not in there and case.headline and not bound_of_mixed:
                faults.append(f"{case.name}, {name}: no sample")
    return faults + [fault for sample in results["samples"] for fault in _of_sample(sample)]


def _of_counts(results: dict, expected: list[str]) -> list[str]:
    if not results["syscalls"]["by"]:
        return ["neither perf nor strace counts system calls"] if os.geteuid() == 0 else []
    there = {(n["case"], n["contender"]): n for n in results["syscalls"]["counts"]}
    wanted = [(case, name) for case in cases.SMOKE if case in cases.COUNTED for name in syscalls.WHO if name in expected]
    return [f"{case}, {name}: no count of system calls" for case, name in wanted
            if not all(there.get((case, name), {}).get(side) for side in ("target", "load"))]


def _of_copies(results: dict) -> list[str]:
    """All that is delivered is sent and received once; a CRC passes it once on each end, or never."""
    there = {(r["case"], r["contender"], r["side"]): r for r in results["copies"]["rows"]}
    faults = []
    for place in itertools.product(cases.COUNTED, copies.WHO, ("target", "initiator")):
        crc = 0 if place[1] in ("iser-nocrc", "iscsi") else 1
        row = there.get(place)
        if not row or not (1 <= copies.total(row, "kernel") < 1.2 and abs(copies.total(row, "crc") - crc) < 0.1):
            faults.append(f"{', '.join(place)}: copies are not counted right: {row}")
    return faults


def _of_criteria(results: dict, expected: list[str]) -> list[str]:
    _, missing = criteria.judge(results)
    return [f"no verdict on {c.case}, {c.words}" for c in missing
            if c.case in cases.SMOKE and c.contender in expected and (c.reference or c.contender) in expected
            and (c.reference or results["syscalls"]["by"]) and not (c.metric == "touches" and _by_verbs(results))]


def _of_files(results: dict, folder: pathlib.Path, expected: list[str]) -> list[str]:
    json.loads((folder / "results.json").read_text())
    text = (folder / "report.md").read_text()
    wanted = [*(f"| {name} |" for name in expected), "## Criteria", "## 4 KiB", "## 1 MiB", "## Several sessions", "Latency", "CPU", "## System calls",
              "RDMA at " if _by_verbs(results) else "## Copies"]
    faults = [f"report.md has no '{words}'" for words in wanted if words not in text]
    for name in ("4k", "1m", "sessions"):
        bars = xml.etree.ElementTree.parse(folder / f"{name}.svg").getroot().iter("{http://www.w3.org/2000/svg}rect")
        if len(list(bars)) < 2:
            faults.append(f"{name}.svg has no bars")
    return faults


def faults(results: dict, folder: pathlib.Path) -> list[str]:
    expected = _expected(results)
    return (results["failures"] + _of_samples(results, expected) + _of_counts(results, expected)
            + ([] if _by_verbs(results) else _of_copies(results)) + _of_criteria(results, expected) + _of_files(results, folder, expected))
