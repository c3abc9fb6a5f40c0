"""The options, and a run from its set-up to its report."""
import argparse
import json
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

from . import cases, machine, report
from .cases import MIB
from .contenders import Field
from .sampling import Sampler

ROOT = pathlib.Path(__file__).resolve().parents[3]


def parse(description: str, arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/run bench", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the headline cases in three short rounds: under 5 minutes")
    parser.add_argument("--case", metavar="REGEX", default="", help="only cases whose names match, such as 'randread-4k'")
    parser.add_argument("--contender", metavar="REGEX", default="", help="only contenders whose names match as a whole, such as 'iser|tgtd'")
    parser.add_argument("--rounds", type=int, help="5, or 3 with --quick")
    parser.add_argument("--seconds", type=float, help="of a sample: 1, or 0.4 with --quick")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where results.json and report.md go (default: a new folder)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.seconds = options.seconds or (0.4 if options.quick else 1.0)
    options.lun_size = 2048 * MIB
    return options


def lun_maker(folder: pathlib.Path, size: int):
    block = random.Random(1).randbytes(16 * MIB)

    def make(name: str) -> pathlib.Path:
        path = folder / name
        with open(path, "wb") as file:
            for _ in range(size // len(block)):
                file.write(block)
        return path
    return make


def measure(options: argparse.Namespace, memory: pathlib.Path) -> dict:
    chosen = [c for c in cases.ALL if re.search(options.case, c.name) and (c.headline or options.case or not options.quick)]
    field = Field(options.bin, options.out, lun_maker(memory, options.lun_size))
    try:
        for names, reason in field.left_out.items():
            print(f"left out: {names}: {reason}", file=sys.stderr)
        wanted = [c for c in field.contenders if not options.contender or re.fullmatch(options.contender, c.name)]
        sampler = Sampler(options.seconds, warm_up=0.1, quiet_wait=1 if options.quick else 20, tries=1 if options.quick else 3)
        sampler.run(chosen, wanted, options.rounds, 230 if options.quick else 1e9)
    finally:
        field.stop()
    return {
        "machine": machine.facts(options.bin),
        "options": {"rounds": options.rounds, "seconds": options.seconds, "lun_bytes": options.lun_size},
        "contenders": {c.name: c.what for c in wanted},
        "left_out": field.left_out,
        "failures": sampler.failures,
        "samples": sampler.samples,
    }


def main(description: str) -> int:
    options = parse(description)
    machine.enter_network_namespace()
    options.out = options.out or pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    options.out.mkdir(parents=True, exist_ok=True)
    memory = pathlib.Path(tempfile.mkdtemp(prefix="openiser-bench-", dir="/dev/shm"))
    start = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the clean-up
    try:
        results = measure(options, memory)
    finally:
        shutil.rmtree(memory)
    results["machine"]["took_s"] = round(time.monotonic() - start)
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    text = report.write(results, options.out)
    print(text)
    print(f"\n{options.out}/report.md, results.json", file=sys.stderr)
    return 1 if results["failures"] or not results["samples"] else 0
