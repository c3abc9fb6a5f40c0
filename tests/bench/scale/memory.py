"""What sessions cost the daemon in memory."""
import pathlib
import tempfile

from harness import processes

from .daemon import IQN, Daemon, null_target
from .wire import Session

# What a session that is idle may have, in KiB; and what may be kept, in MiB, when all have gone.
MOST_IDLE = {"iser": 512, "plain": 256}
MOST_KEPT = 32


def idle(programs: pathlib.Path, wire: str, sessions: int, reads: int) -> dict:
    """Bytes a session when all have logged in, and again when each has done `reads` reads of 64 KiB, one at a time."""
    with tempfile.TemporaryDirectory() as folder, Daemon(programs, pathlib.Path(folder), [null_target()]) as daemon:
        first = [Session(daemon.port, IQN, number, wire == "iser") for number in (1, 2, 3, 4)]
        for session in first:  # each of the daemon's threads has its own memory now
            session.read(128)
        before = daemon.memory()
        opened = [Session(daemon.port, IQN, 100 + number, wire == "iser") for number in range(sessions)]
        fresh = daemon.memory()
        for session in opened:
            for _ in range(reads):
                session.read(128)
        used = daemon.memory()
        for session in first + opened:
            session.close()
        return {"wire": wire, "sessions": sessions, "reads": reads, "fresh": _each(fresh, before, sessions), "used": _each(used, before, sessions)}


def active(programs: pathlib.Path, wire: str, scheme: str, sessions: int, depth: int, seconds: float) -> dict:
    """Bytes a session while all are busy, at the most; and what is left when they have gone, in all."""
    with tempfile.TemporaryDirectory() as folder, Daemon(programs, pathlib.Path(folder), [null_target()]) as daemon:
        before = daemon.memory()
        load = processes.Daemon([
            str(programs / "iser"), "bench", "--json", "--rw", "randread", "--bs", "4k", "--iodepth", str(depth), "--threads", str(sessions),
            "--runtime", str(seconds), daemon.url(scheme)], pathlib.Path(folder) / "load.log")
        most = before
        while load.process.poll() is None:
            most = max(most, daemon.memory(), key=lambda m: m["rss"])
        if load.process.returncode != 0:
            raise processes.Failed(f"iser bench: {load.log.read_text()[-300:]}")
        after = daemon.memory()
    return {
        "wire": wire, "sessions": sessions, "depth": depth, "active": _each(most, before, sessions),
        "kept": {name: after[name] - before[name] for name in after}}


def faults(measured: dict) -> list[str]:
    """Where memory is not as bounded as it should be."""
    found = [f"an idle session ({one['wire']}, {state}) has {one[state]['rss'] / 1024:.0f} KiB, more than {MOST_IDLE[one['wire']]}"
             for one in measured["idle"] for state in ("fresh", "used") if one[state]["rss"] > MOST_IDLE[one["wire"]] * 1024]
    return found + [f"{one['kept']['rss'] / 2**20:.0f} MiB are kept after {one['sessions']} sessions ({one['wire']}), more than {MOST_KEPT}"
                    for one in measured["active"] if one["kept"]["rss"] > MOST_KEPT * 2**20]


def _each(now: dict, before: dict, sessions: int) -> dict:
    return {name: (now[name] - before[name]) / sessions for name in now}
