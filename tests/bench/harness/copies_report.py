"""The report's part on copies."""
from . import copies
from .markdown import table

SHOWN = ("iser", "iscsi-digests")  # these have all places that the others have
NAMES = {"user": "copies in user space", "kernel": "copies by the kernel", "crc": "CRC"}

TEXT = """Bytes touched per byte of payload: copied in user space (memcpy, memmove, memset of 512 bytes and more), copied by the kernel (what
system calls say they moved), passed by a CRC. Headers, login excepted, are included; their share is what is above a whole number.
Counted by `libcopies.so`, preloaded into both programs, in runs of their own."""


def _calls(row: dict) -> str:
    return ", ".join(f"{name} {n:.3g}" for name, n in copies.system_calls(row).items() if n >= 0.005)


def _sides(rows: list[dict]) -> list[str]:
    cells = [[r["case"], r["contender"], r["side"], *(f"{copies.total(r, kind):.2f}" for kind in NAMES), f"{copies.touches(r):.2f}", _calls(r)]
             for r in rows]
    return table(["case", "contender", "side", *NAMES.values(), "touches", "system calls per I/O"], cells)


def _both_ends(rows: list[dict]) -> list[str]:
    cases, who = (list(dict.fromkeys(r[key] for r in rows)) for key in ("case", "contender"))
    totals = {(case, name): copies.touches_of_both(rows, case, name) for case in cases for name in who}
    return table(["contender", *cases], [[name, *(f"{totals[case, name]:.2f}" if totals[case, name] else "–" for case in cases)] for name in who])


def _places(rows: list[dict]) -> list[str]:
    cells = [[r["case"], r["contender"], r["side"], p["what"], p["where"], f"{p['calls_per_io']:.3g}", f"{p['bytes_per_byte']:.3f}"]
             for r in rows if r["contender"] in SHOWN for p in r["places"] if p["bytes_per_byte"] >= 0.0005]
    return table(["case", "contender", "side", "what", "where", "calls per I/O", "bytes per byte"], cells)


def section(found: dict) -> list[str]:
    rows = found["rows"]
    if not rows:
        return []
    return ["## Copies", "", TEXT, "", "Touches on both ends together", "", *_both_ends(rows), "Each end", "", *_sides(rows),
            "Each copy, CRC pass and transfer, and the function it is made in", "", *_places(rows)]
