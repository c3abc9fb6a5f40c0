"""The report of a run: Markdown, with plots beside it."""
import dataclasses
import pathlib

from . import copies_report, criteria, plot
from .figures import Figures, Spread
from .markdown import table


@dataclasses.dataclass(frozen=True)
class Group:
    """Cases that share a table: of one block size, or of several sessions."""
    title: str
    file: str
    cases: list[str]
    metric: str
    unit: str
    scale: float
    digits: int
    cpu: tuple[str, str]  # metrics of target and load
    cpu_unit: str


def _groups(cases: list[str]) -> list[Group]:
    def small(title, file, chosen):
        return Group(title, file, chosen, "iops", "kIOPS", 1e3, 1, ("target_us_per_io", "load_us_per_io"), "µs per I/O")

    def large(size):
        chosen = [c for c in cases if f"-{size}-" in c]
        return Group(size.replace("k", " KiB").replace("m", " MiB"), size, chosen, "bytes_per_s", "GB/s", 1e9, 2,
                     ("target_s_per_gb", "load_s_per_gb"), "s per GB")
    of_4k = [c for c in cases if "-4k-" in c]
    several = [c for c in of_4k if "-s" in c]
    groups = [small("4 KiB", "4k", [c for c in of_4k if c not in several]), large("64k"), large("256k"), large("1m"),
              small("Several sessions, 4 KiB", "sessions", several)]
    return [g for g in groups if g.cases]


def _cell(value: Spread | None, scale: float = 1, digits: int = 2) -> str:
    if value is None:
        return "–"
    median, low, high = (f"{v / scale:.{digits}f}" for v in value)
    return f"{median} ({low}–{high})"


def _rows(figures: Figures, group: Group, cell, without: str = "") -> list[str]:
    """A row for each contender but one, a column for each case."""
    who = [c for c in figures.contenders(group.cases) if c != without]
    return table(["contender", *group.cases], [[c, *(cell(case, c) for case in group.cases)] for c in who])


def _latency(figures: Figures, case: str, who: str) -> str:
    found = [figures.of(case, who, p) for p in ("p50", "p99", "p999")]
    return " / ".join(f"{f.median:.0f}" for f in found) if all(found) else "–"


def _cpu(figures: Figures, group: Group, case: str, who: str) -> str:
    found = [figures.of(case, who, metric) for metric in group.cpu]
    return " + ".join(f"{f.median:.2f}" for f in found) if all(found) else "–"


def _of_group(figures: Figures, group: Group) -> list[str]:
    lines = [f"## {group.title}", "", f"![{group.title}]({group.file}.svg)", "", f"{group.unit}, median (lowest–highest)", ""]
    lines += _rows(figures, group, lambda case, who: _cell(figures.of(case, who, group.metric), group.scale, group.digits))
    there = figures.contenders(group.cases)
    references = ("model", "ping-pong", "tgtd", *(["iser"] if "iser-verbs" in there else []))
    for reference in references:
        if reference in there:
            lines += [f"As a ratio to {reference}, taken round by round", ""]
            lines += _rows(figures, group, lambda case, who: _cell(figures.ratio(case, who, reference)), reference)
    lines += ["Latency, µs: p50 / p99 / p99.9", "", *_rows(figures, group, lambda case, who: _latency(figures, case, who))]
    lines += [f"CPU, {group.cpu_unit}: target + load", "", *_rows(figures, group, lambda case, who: _cpu(figures, group, case, who))]
    return lines


def _criteria(results: dict) -> list[str]:
    verdicts, missing = criteria.judge(results)
    rows = []
    for v in verdicts:
        c = v.criterion
        bound = ("≥ " if c.at_least else "≤ ") + f"{c.bound:g}"
        rows.append([c.line, c.case, c.words, criteria.WORDS[c.metric], f"{v.figure:.2f}", bound, "met" if v.met else "**short**", str(v.rounds)])
    lines = ["## Criteria", "", *table(["", "case", "who", "what", "figure", "bound", "", "rounds"], rows)]
    if missing and results["samples"]:
        lines += [f"{len(missing)} more were not measured: " + ", ".join(sorted({f"{c.words} in {c.case}" for c in missing})) + ".", ""]
    return lines


def _syscalls(results: dict) -> list[str]:
    found = results["syscalls"]
    if not results["samples"]:
        return []
    rows = [[n["case"], n["contender"], f"{n['target']:.3f}", f"{n['load']:.3f}"] for n in found["counts"]]
    how = f"Counted by {found['by']} in runs of their own." if found["by"] else "Nothing can count them here."
    return ["## System calls per I/O", "", how, "", *table(["case", "contender", "target", "load"], rows)]


def _head(results: dict) -> list[str]:
    m, o, samples = results["machine"], results["options"], results["samples"]
    noisy = sum(s["noisy"] for s in samples)
    return [
        "# Benchmark", "",
        f"{m['date']}; {m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; Linux {m['kernel']}, {m['congestion_control']}; "
        + ", ".join(f"{name} {version}" for name, version in m["versions"].items()) + ".", "",
        f"{o['rounds']} rounds of {o['seconds']:g} s samples on a LUN file of {o['lun_bytes'] >> 20} MiB on tmpfs, {m['took_s']} s in all. "
        f"{len(samples)} samples, {noisy} of them disturbed by others.", "",
        *([f"RDMA at {m['rdma']['address']}: {m['rdma']['link']}.", ""] if "rdma" in m else []),
        *table(["contender", ""], [[name, what] for name, what in results["contenders"].items()]),
        *(f"Left out: {names}: {reason}." for names, reason in results["left_out"].items()), "",
        *(f"FAILED: {failure}" for failure in results["failures"]), "",
    ]


def write(results: dict, folder: pathlib.Path) -> str:
    """Writes the files into the folder, and returns the report's text."""
    figures = Figures(results["samples"])
    groups = _groups(figures.cases())
    for group in groups:
        (folder / f"{group.file}.svg").write_text(plot.bars(f"{group.title}, {group.unit}", figures, group.cases, group.metric, group.scale))
    parts = [_head(results), _criteria(results), *(_of_group(figures, g) for g in groups), _syscalls(results),
             copies_report.section(results["copies"])]
    text = "\n".join(line for part in parts for line in part)
    (folder / "report.md").write_text(text)
    return text
