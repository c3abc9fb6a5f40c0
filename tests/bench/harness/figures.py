"""Medians, spreads and ratios of samples."""
import statistics
import typing

Value = typing.Callable[[dict], float]

METRICS: dict[str, Value] = {
    "iops": lambda s: s["iops"],
    "bytes_per_s": lambda s: s["bytes_per_s"],
    "p50": lambda s: s["lat_us"]["p50"],
    "p99": lambda s: s["lat_us"]["p99"],
    "p999": lambda s: s["lat_us"]["p999"],
    "target_us_per_io": lambda s: s["target_cpu_s"] / s["ios"] * 1e6,
    "load_us_per_io": lambda s: s["load_cpu_s"] / s["ios"] * 1e6,
    "target_s_per_gb": lambda s: s["target_cpu_s"] / s["bytes"] * 1e9,
    "load_s_per_gb": lambda s: s["load_cpu_s"] / s["bytes"] * 1e9,
}


class Spread(typing.NamedTuple):
    median: float
    low: float
    high: float


def spread(values: list[float]) -> Spread | None:
    return Spread(statistics.median(values), min(values), max(values)) if values else None


class Figures:
    median = staticmethod(statistics.median)

    def __init__(self, samples: list[dict]):
        self._of: dict[tuple[str, str], list[dict]] = {}
        for sample in samples:
            if sample["ios"]:
                self._of.setdefault((sample["case"], sample["contender"]), []).append(sample)

    def cases(self) -> list[str]:
        return list(dict.fromkeys(case for case, _ in self._of))

    def contenders(self, cases: list[str]) -> list[str]:
        return list(dict.fromkeys(contender for case, contender in self._of if case in cases))

    def clean(self, case: str, contender: str) -> list[dict]:
        """Samples without noise, unless fewer than three are, and fewer than there are rounds."""
        everything = self._of.get((case, contender), [])
        quiet = [s for s in everything if not s["noisy"]]
        return quiet if len(quiet) >= min(3, len(everything)) else everything

    def of(self, case: str, contender: str, metric: str) -> Spread | None:
        return spread([METRICS[metric](s) for s in self.clean(case, contender)])

    def ratios(self, case: str, contender: str, reference: str, metric: str = "iops") -> list[float]:
        """One for each round in which both have a sample."""
        value = METRICS[metric]
        ours = {s["round"]: value(s) for s in self.clean(case, contender)}
        theirs = {s["round"]: value(s) for s in self.clean(case, reference)}
        return [ours[r] / theirs[r] for r in ours if theirs.get(r)]

    def ratio(self, case: str, contender: str, reference: str, metric: str = "iops") -> Spread | None:
        return spread(self.ratios(case, contender, reference, metric))
