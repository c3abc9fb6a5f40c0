"""The options, and a run from its set-up to its report."""
import argparse
import json
import pathlib
import sys
import tempfile

from harness import machine, processes

from . import curve, memory, report, startup

ROOT = pathlib.Path(__file__).resolve().parents[3]
PARTS = ("curve", "memory", "start")


def parse(description: str, arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/bench/scale/run", description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of short samples, fewer sessions: under a minute")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; may be given again")
    parser.add_argument("--rounds", type=int, help="5, or 1 with --quick")
    parser.add_argument("--seconds", type=float, help="of a sample: 1, or 0.5 with --quick")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="where results.json, report.md and the plots go (default: a new folder)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="where the programs are")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.seconds = options.seconds or (0.5 if options.quick else 1.0)
    options.parts = options.only or PARTS
    return options


def _memory(options: argparse.Namespace) -> dict:
    idle, busy = (64, 16) if options.quick else (1000, 64)
    return {
        "idle": [memory.idle(options.bin, wire, idle, 8 if options.quick else 20) for wire in curve.WIRES],
        "active": [memory.active(options.bin, wire, scheme, n, depth, options.seconds)
                   for wire, scheme in curve.WIRES.items() for n, depth in ((1, 32), (busy, 4), (busy, 32))],
    }


def measure(options: argparse.Namespace) -> dict:
    results: dict = {"machine": machine.facts(options.bin), "options": {"rounds": options.rounds, "seconds": options.seconds}}
    if "start" in options.parts:
        results["start"] = [one for kind in ("file", "memory") for one in startup.start(options.bin, kind)]
        results["discovery"] = startup.discovery(options.bin)
    if "memory" in options.parts:
        results["memory"] = _memory(options)
    if "curve" in options.parts:
        results["curve"] = curve.measure(options.bin, options.seconds, options.rounds)
    return results


def main(description: str) -> int:
    options = parse(description)
    options.out = options.out or pathlib.Path(tempfile.mkdtemp(prefix="scale-"))
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        results = measure(options)
    except processes.Failed as failure:
        print(f"tests/bench/scale/run: {failure}", file=sys.stderr)
        return 1
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(report.write(results, options.out))
    print(f"{options.out}/report.md, results.json", file=sys.stderr)
    faults = memory.faults(results["memory"]) if "memory" in results else []
    for fault in faults:
        print(f"tests/bench/scale/run: {fault}", file=sys.stderr)
    return 1 if faults else 0
