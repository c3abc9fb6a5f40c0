"""The report of a run: Markdown, and the plots it shows."""
import pathlib
import statistics

from harness.markdown import table

from . import plot


def _mib(value: float) -> str:
    return f"{value / 2**20:.1f} MiB"


def _kib(bytes_each: dict) -> str:
    return f"{bytes_each['rss'] / 1024:.0f} / {bytes_each['pss_anon'] / 1024:.0f} KiB"


class Curve:
    """Medians over the rounds."""

    def __init__(self, samples: list[dict]):
        self._samples = samples
        self.sessions = sorted({s["sessions"] for s in samples})
        self.lines = list(dict.fromkeys((s["wire"], s["load"]) for s in samples))

    def of(self, wire: str, load: str, sessions: int, figure: str) -> float:
        return statistics.median(s[figure] for s in self._samples if (s["wire"], s["load"], s["sessions"]) == (wire, load, sessions))

    def line(self, wire: str, load: str, figure: str) -> list[float]:
        return [self.of(wire, load, n, figure) for n in self.sessions]


def _curve(samples: list[dict], folder: pathlib.Path) -> list[str]:
    curve = Curve(samples)
    plots = {
        "target_us": ("CPU of the target for one 4 KiB read", "microseconds", 1),
        "iops": ("4 KiB random reads", "kIOPS", 1000),
    }
    out = ["## Sessions", "", "4 KiB random reads of a null LUN, iSER with CRC. `shared`: 256 commands at one time (128 with one session), "
           "divided among the sessions. `8 each`, `one each`: so many commands a session. "
           "`login us`: CPU of the target for a login, a logout and the first commands.", ""]
    for figure, (title, label, scale) in plots.items():
        series = {f"{wire}, {load}": [v / scale for v in curve.line(wire, load, figure)] for wire, load in curve.lines}
        (folder / f"{figure}.svg").write_text(plot.lines(title, label, curve.sessions, series))
        out += [f"![{title}]({figure}.svg)", ""]
    for wire, load in curve.lines:
        row = {"target us": "target_us", "initiator us": "initiator_us", "login us": "target_session_us", "p50 us": "p50_us", "p99 us": "p99_us"}
        rows = [[str(n), f"{curve.of(wire, load, n, 'iops') / 1e3:.0f}", *(f"{curve.of(wire, load, n, f):.2f}" for f in row.values())] for n in curve.sessions]
        out += [f"### {wire}, {load}", "", *table(["sessions", "kIOPS", *row], rows)]
    return out


def _memory(memory: dict) -> list[str]:
    out = ["## Memory of the daemon, a session", "", "RSS / anonymous PSS. `fresh`: logged in. `used`: idle again after reads of 64 KiB, "
           "one at a time. `active`: with all sessions busy, at the most; `kept`: of all of them together, when they have gone.", ""]
    idle = [[i["wire"], str(i["sessions"]), _kib(i["fresh"]), _kib(i["used"])] for i in memory["idle"]]
    active = [[a["wire"], str(a["sessions"]), str(a["depth"]), _kib(a["active"]), _mib(a["kept"]["rss"])] for a in memory["active"]]
    return [*out, *table(["wire", "sessions", "fresh", "used"], idle), *table(["wire", "sessions", "depth", "active", "kept, in all"], active)]


def _startup(starts: list[dict], discovery: dict) -> list[str]:
    rows = [[s["kind"], "makes the files" if s["first"] and s["kind"] == "file" else "", str(s["targets"]), str(s["luns"]), f"{s['seconds']:.2f} s",
             _mib(s["rss"]), str(s["descriptors"])] for s in starts]
    return ["## Start, until it listens", "", *table(["LUNs are", "", "targets", "LUNs", "time", "RSS", "descriptors"], rows),
            "## Discovery", "", f"`iser discover` of {discovery['targets']} targets: {discovery['seconds']:.3f} s; all of them were there.", ""]


def write(results: dict, folder: pathlib.Path) -> str:
    machine = results["machine"]
    lines = ["# Scale", "", f"{machine['date']}, {machine['versions']['commit']}; {machine['cores']} cores of {machine['cpu']}, Linux {machine['kernel']}. "
             f"Medians of {results['options']['rounds']} rounds of {results['options']['seconds']} s.", ""]
    for part, write_part in {"curve": lambda r: _curve(r, folder), "memory": _memory}.items():
        if part in results:
            lines += write_part(results[part])
    if "start" in results:
        lines += _startup(results["start"], results["discovery"])
    text = "\n".join(lines)
    (folder / "report.md").write_text(text)
    return text
