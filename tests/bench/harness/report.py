"""The report of a run, in Markdown."""
import pathlib

from .figures import Figures, Spread


def _cell(value: Spread | None, scale: float = 1, digits: int = 2) -> str:
    if value is None:
        return "–"
    median, low, high = (f"{v / scale:.{digits}f}" for v in value)
    return f"{median} ({low}–{high})"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _throughput(figures: Figures, cases: list[str], metric: str, scale: float, digits: int) -> list[str]:
    who = [c for c in figures.contenders() if any(figures.of(case, c, metric) for case in cases)]
    return _table(["contender", *cases], [[c, *(_cell(figures.of(case, c, metric), scale, digits) for case in cases)] for c in who])


def write(results: dict, folder: pathlib.Path) -> str:
    figures = Figures(results["samples"])
    small = [c for c in figures.cases() if "-4k-" in c]
    large = [c for c in figures.cases() if "-4k-" not in c]
    lines = ["# Benchmark", ""]
    if small:
        lines += ["## 4 KiB, kIOPS", "", *_throughput(figures, small, "iops", 1e3, 1)]
    if large:
        lines += ["## Larger blocks, GB/s", "", *_throughput(figures, large, "bytes_per_s", 1e9, 2)]
    text = "\n".join(lines)
    (folder / "report.md").write_text(text)
    return text
