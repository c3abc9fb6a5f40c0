"""The options, and a run from its set-up to its report."""
import argparse
import dataclasses
import ipaddress
import json
import math
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

from . import cases, copies, devices, machine, processes, report, smoke, syscalls
from .cases import MIB
from .contenders import Field
from .ours import Place
from .sampling import Sampler

ROOT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Scale:
    rounds: int
    seconds: float  # of a sample
    warm_up: float
    quiet_wait: float  # before a sample, at most
    tries: int  # of a sample that others disturb
    budget: float  # seconds for the rounds
    lun_size: int


WHOLE = Scale(5, 1.0, 0.2, 20, 3, math.inf, 2048 * MIB)
QUICK = Scale(3, 0.4, 0.1, 1, 1, 230, 2048 * MIB)
SMOKE = Scale(1, 0.05, 0, 0, 1, math.inf, 64 * MIB)


def parse(description: str, arguments: list[str] | None = None) -> tuple[argparse.Namespace, Scale]:
    parser = argparse.ArgumentParser(prog="tests/run bench", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the headline cases in three short rounds: under 5 minutes")
    parser.add_argument("--smoke", action="store_true", help="no figures: fails if a contender or an output is missing")
    parser.add_argument("--copies", action="store_true", help="only the table of copies, CRC passes and system calls")
    parser.add_argument("--wire", choices=("tcp", "verbs"), default="tcp", help="verbs: by an RDMA device too, in this network namespace")
    parser.add_argument("--address", type=ipaddress.ip_address, help="with --wire verbs: one that an RDMA device carries; all targets listen there")
    parser.add_argument("--case", metavar="REGEX", default="", help="only cases whose names match, such as 'randread-4k'")
    parser.add_argument("--contender", metavar="REGEX", default="", help="only contenders whose names match as a whole, such as 'iser|tgtd'")
    parser.add_argument("--rounds", type=int, help="5, or 3 with --quick")
    parser.add_argument("--seconds", type=float, help="of a sample: 1, or 0.4 with --quick")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where results.json and report.md go (default: a new folder)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    options = parser.parse_args(arguments)
    options.by_verbs = options.wire == "verbs"
    if options.by_verbs != (options.address is not None):
        parser.error("--wire verbs and --address belong together")
    if options.by_verbs and options.copies:
        parser.error("--copies: what an RDMA device copies is not counted; use it without --wire verbs")
    scale = SMOKE if options.smoke else QUICK if options.quick else WHOLE
    options.rounds = options.rounds or scale.rounds
    options.seconds = options.seconds or scale.seconds
    return options, scale


def lun_maker(folder: pathlib.Path, size: int):
    block = random.Random(1).randbytes(16 * MIB)

    def make(name: str, length: int = size) -> pathlib.Path:
        path = folder / name
        with open(path, "wb") as file:
            for _ in range(length // len(block)):
                file.write(block)
        return path
    return make


def choose(options: argparse.Namespace) -> list[cases.Case]:
    if options.smoke:
        return [c for c in cases.ALL if c.name in cases.SMOKE]
    return [c for c in cases.ALL if re.search(options.case, c.name) and (c.headline or options.case or not options.quick)]


def place_of(options: argparse.Namespace) -> Place:
    if not options.by_verbs:
        return Place()
    return Place(f"[{options.address}]" if options.address.version == 6 else str(options.address), ("iwarp", "verbs"))


def compare(options: argparse.Namespace, scale: Scale, make_lun) -> dict:
    chosen = choose(options)
    field = Field(options.bin, options.out, make_lun, place_of(options))
    try:
        for names, reason in field.left_out.items():
            print(f"left out: {names}: {reason}", file=sys.stderr)
        wanted = [c for c in field.contenders if not options.contender or re.fullmatch(options.contender, c.name)]
        sampler = Sampler(options.seconds, scale.warm_up, scale.quiet_wait, scale.tries)
        sampler.run(chosen, wanted, options.rounds, scale.budget)
        counts = syscalls.measure(chosen, wanted, min(0.3, options.seconds))
    finally:
        field.stop()
    return {
        "contenders": {c.name: c.what for c in wanted},
        "left_out": field.left_out,
        "failures": sampler.failures + counts.pop("failures"),
        "syscalls": counts,
        "samples": sampler.samples,
    }


def measure(options: argparse.Namespace, scale: Scale, memory: pathlib.Path) -> dict:
    make_lun = lun_maker(memory, scale.lun_size)
    nothing = {"contenders": {}, "left_out": {}, "failures": [], "syscalls": {"by": None, "counts": []}, "samples": []}
    compared = nothing if options.copies else compare(options, scale, make_lun)
    uncounted = copies.why_not(options.bin, options.by_verbs)
    copied = {"rows": [], "failures": []} if uncounted else copies.measure(options.bin, options.out, make_lun, min(0.5, max(0.2, options.seconds)))
    if uncounted:
        compared["left_out"]["the table of copies"] = uncounted
    facts = machine.facts(options.bin)
    if options.by_verbs:
        facts["rdma"] = {"address": str(options.address), "link": devices.at(str(options.address))}
    return {
        "machine": facts,
        "options": {"rounds": options.rounds, "seconds": options.seconds, "lun_bytes": scale.lun_size, "wire": options.wire},
        **compared,
        "failures": compared["failures"] + copied.pop("failures"),
        "copies": copied,
    }


def find_place(options: argparse.Namespace) -> str:
    """Goes where the traffic will be: a network namespace of its own, or this one, where the device is. Returns why that is not possible."""
    if not options.by_verbs:
        machine.enter_network_namespace()
        return ""
    devices.unlock_memory()
    return devices.refusal(options.bin, place_of(options).host)


def main(description: str) -> int:
    options, scale = parse(description)
    if why_not := find_place(options):
        print(f"tests/run bench: --address {options.address}: {why_not}", file=sys.stderr)
        return 2
    keep = options.out or not options.smoke
    options.out = options.out or pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    options.out.mkdir(parents=True, exist_ok=True)
    memory = pathlib.Path(tempfile.mkdtemp(prefix="openiser-bench-", dir="/dev/shm"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the clean-up
    start = time.monotonic()
    try:
        results = measure(options, scale, memory)
    except processes.Failed as failure:
        print(f"tests/run bench: {failure}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(memory)
    results["machine"]["took_s"] = round(time.monotonic() - start)
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    text = report.write(results, options.out)
    faults = smoke.faults(results, options.out) if options.smoke else results["failures"]
    print("\n".join(faults) if options.smoke else text)
    if keep:
        print(f"{options.out}/report.md, results.json", file=sys.stderr)
    else:
        shutil.rmtree(options.out)
    return 1 if faults or not (results["samples"] or results["copies"]["rows"]) else 0
