"""Who is compared: for each case, a command to run and the target that it drives."""
import dataclasses
import pathlib
import typing

from . import machine, processes, targets
from .cases import Case, Messages, as_iscsi, as_iser, FPDU
from .ours import Place

BUSY_POLL = 200  # microseconds
DIGESTS = "header-digest=crc32c&data-digest=crc32c"


@dataclasses.dataclass
class Contender:
    name: str
    what: str
    # The load's command for a case, with the seconds to measure for.
    command: typing.Callable[[Case, float], list[str]]
    target: typing.Any = None  # None: the load has its own
    headline_only: bool = False
    unable: typing.Callable[[Case], bool] = lambda case: False
    # Threads of the kernel's may work for it (siw, rxe): what others use cannot be told from that.
    kernel_works: bool = False

    def runs(self, case: Case) -> bool:
        return not self.unable(case) and (case.headline or not self.headline_only)


def iser_bench(programs: pathlib.Path, url: str, extra: list[str] = []):
    def command(case: Case, seconds: float) -> list[str]:
        return processes.on_core(machine.LOAD_CORE, [
            str(programs / "iser"), "bench", url, "--json", "--rw", case.rw, "--mix", "70", "--bs", str(case.bs),
            "--iodepth", str(case.depth), "--threads", str(case.sessions), "--runtime", str(seconds), *extra])
    return command


def libiscsi_load(programs: pathlib.Path, url: str):
    def command(case: Case, seconds: float) -> list[str]:
        share = 70 if case.mixed else 100 if case.reads else 0
        return [str(programs / "libiscsi_load"), url, "--core", str(machine.LOAD_CORE), "--bs", str(case.bs), "--depth", str(case.depth),
                "--sessions", str(case.sessions), "--read-share", str(share), "--seconds", str(seconds), "--warm-up", "0",
                *(["--random"] if case.random else [])]
    return command


def ping_pong(programs: pathlib.Path, messages: typing.Callable[[Case], Messages], extra: list[str]):
    def command(case: Case, seconds: float) -> list[str]:
        size = messages(case)
        return [str(programs / "ping_pong"), "--request", str(size.request), "--response", str(size.response), "--payload", str(case.bs),
                "--depth", str(case.depth), "--connections", str(case.sessions), "--seconds", str(seconds), "--warm-up", "0.1",
                "--server-core", str(machine.TARGET_CORE), "--client-core", str(machine.LOAD_CORE), *extra,
                *([] if case.random else ["--sequential"])]
    return command


def _bounds(programs: pathlib.Path, lun: pathlib.Path) -> list[Contender]:
    model = ["--fpdu", str(FPDU), "--place", "--lun", str(lun)]
    both = [("ping-pong", as_iscsi, [], "bytes over loopback TCP, as many as iSCSI moves"),
            ("model", as_iser, model, "bytes as many as iSER moves, with CRC32C, LUN and placement: the bound for software iWARP")]
    return [Contender(name + suffix, what + words, ping_pong(programs, messages, extra + options), unable=lambda case: case.mixed)
            for name, messages, extra, what in both
            for suffix, options, words in (("", [], "; sleeps in epoll"), ("-spin", ["--spin"], "; spins"))]


def ours(programs: pathlib.Path, target) -> list[Contender]:
    def bench(scheme: str, query: str = ""):
        return iser_bench(programs, target.url(scheme, query))
    return [
        Contender("iser", "our target and initiator, iSER, rdma-first, CRC", bench("iser", "wire=rdma-first"), target),
        Contender("iser-nocrc", "the same without CRC", bench("iser", "wire=rdma-first&crc=no"), target),
        Contender("iser-stream-first", "iSER after a login in the stream, CRC", bench("iser", "wire=stream-first"), target, True),
        Contender("iscsi", "our target and initiator, plain iSCSI", bench("iscsi"), target),
        Contender("iscsi-digests", "the same with header and data digests", bench("iscsi", DIGESTS), target),
        Contender("iscsi-libiscsi", "our target, plain iSCSI, under a load by libiscsi", libiscsi_load(programs, target.url("iscsi")), target, True),
    ]


def _by_verbs(programs: pathlib.Path, target, name: str, what: str, extra: list[str] = [], headline_only: bool = False) -> list[Contender]:
    """Where the target has such a portal."""
    if not target.place.by_verbs:
        return []
    command = iser_bench(programs, target.url("iser", "wire=verbs"), extra)
    return [Contender(name, what, command, target, headline_only, kernel_works=True)]


def _sleeping(programs: pathlib.Path, target) -> list[Contender]:
    return ours(programs, target) + _by_verbs(
        programs, target, "iser-verbs", "our target and initiator, iSER by an RDMA device; CPU of threads of the kernel's is on neither side")


def _polling(programs: pathlib.Path, target) -> list[Contender]:
    poll = ["--busy-poll", str(BUSY_POLL)]
    verbs = _by_verbs(programs, target, "iser-verbs-poll", "iser-verbs, busy polling on both sides", poll, True)
    return verbs + [
        Contender("iser-poll", "iser, busy polling on both sides", iser_bench(programs, target.url("iser", "wire=rdma-first"), poll), target),
        Contender("iscsi-poll", "iscsi, busy polling on both sides", iser_bench(programs, target.url("iscsi"), poll), target, True),
    ]


def _tgtd(programs: pathlib.Path, target) -> list[Contender]:
    return [
        Contender("tgtd", "Debian's tgtd, tuned, under our plain initiator", iser_bench(programs, target.url("iscsi")), target),
        Contender("tgtd-digests", "the same with digests", iser_bench(programs, target.url("iscsi", DIGESTS)), target),
    ]


class Field:
    """All contenders of a run, and the targets they share. Targets live until stop()."""

    def __init__(self, programs: pathlib.Path, folder: pathlib.Path, make_lun: typing.Callable[[str], pathlib.Path], place: Place):
        self.targets, self.contenders, self.left_out = [], [], {}
        lun = make_lun("lun.img")
        self.contenders += _bounds(programs, lun)
        self._add(targets.OpenIser("iser-targetd", programs, folder, lun, place=place), _sleeping, programs)
        self._add(targets.OpenIser("polling", programs, folder, make_lun("polling.img"), BUSY_POLL, place=place), _polling, programs)
        if targets.Tgtd.installed():
            self._add(targets.Tgtd(folder, lun, place.host), _tgtd, programs)
        else:
            self.left_out["tgtd, tgtd-digests"] = "tgtd is not installed, or this is not root"
        self._leave_out(programs, "ping_pong", "ping-pong", "model")
        self._leave_out(programs, "libiscsi_load", "iscsi-libiscsi")

    def _leave_out(self, programs: pathlib.Path, program: str, *names: str) -> None:
        """Those whose names begin so, where the program is missing."""
        if not (programs / program).exists():
            self.contenders = [c for c in self.contenders if not c.name.startswith(names)]
            self.left_out[", ".join(names)] = f"{program} is not built (target `benchmarks`)"

    def _add(self, target, contenders_of, programs: pathlib.Path) -> None:
        self.targets.append(target)
        self.contenders += contenders_of(programs, target)

    def stop(self) -> None:
        for target in self.targets:
            target.stop()
