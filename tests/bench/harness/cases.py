"""What is measured: the cases, and the messages an I/O of each is made of."""
import dataclasses

KIB, MIB = 1 << 10, 1 << 20
NAMES = {4 * KIB: "4k", 64 * KIB: "64k", 256 * KIB: "256k", MIB: "1m"}


@dataclasses.dataclass(frozen=True)
class Case:
    rw: str  # as `iser bench --rw` takes it
    bs: int
    depth: int  # commands in flight, of each session
    sessions: int = 1

    @property
    def name(self) -> str:
        several = f"-s{self.sessions}" if self.sessions > 1 else ""
        return f"{self.rw}-{NAMES[self.bs]}-qd{self.depth}{several}"

    @property
    def small(self) -> bool:
        return self.bs <= 4 * KIB

    @property
    def random(self) -> bool:
        return self.rw.startswith("rand")

    @property
    def mixed(self) -> bool:
        return self.rw == "randrw"

    @property
    def reads(self) -> bool:
        return self.rw in ("read", "randread")

    @property
    def headline(self) -> bool:
        return self.name in HEADLINES


SMALL = [Case(rw, 4 * KIB, depth) for rw in ("randread", "randwrite", "randrw") for depth in (1, 32, 128)]
LARGE = [Case(rw, bs, depth) for bs in (64 * KIB, 256 * KIB, MIB) for rw in ("read", "write") for depth in (1, 8, 32)]
SESSIONS = [Case(rw, 4 * KIB, 32, n) for rw in ("randread", "randwrite") for n in (4, 64)]
ALL = SMALL + LARGE + SESSIONS

# What --quick measures, and what contenders that only show one more setting are measured on.
HEADLINES = ("randread-4k-qd1", "randread-4k-qd32", "randwrite-4k-qd32", "randread-4k-qd128", "read-1m-qd8", "write-1m-qd8")
# Enough to see every contender work, and every metric with a value.
SMOKE = ("randread-4k-qd32", "randrw-4k-qd32", "write-1m-qd8", "randread-4k-qd32-s4")
# Where system calls are counted.
COUNTED = ("randread-4k-qd32", "randwrite-4k-qd32", "read-1m-qd8", "write-1m-qd8")


def by_name(name: str) -> Case:
    return next(case for case in ALL if case.name == name)


@dataclasses.dataclass(frozen=True)
class Messages:
    """Bytes of a request and of its response."""
    request: int
    response: int


def as_iscsi(case: Case) -> Messages:
    """A command and a response of 48 bytes; the data goes along with one of them."""
    return Messages(48, 48 + case.bs) if case.reads else Messages(48 + case.bs, 48)


FPDU = 65_000
SEND = 96  # MPA 2, DDP and RDMAP 18, iSER 28, iSCSI 48
TAGGED = 16  # MPA 2, DDP and RDMAP 14


def as_iser(case: Case) -> Messages:
    """A Send each way, and the data in tagged FPDUs in front of the response (read) or of the next request (write)."""
    data = case.bs + TAGGED * -(-case.bs // FPDU)
    return Messages(SEND, data + SEND) if case.reads else Messages(data, SEND)
