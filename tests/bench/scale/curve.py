"""What an I/O costs with more and more sessions."""
import pathlib
import tempfile

from harness import processes

from .daemon import Daemon, null_target

SESSIONS = [1, 2, 4, 16, 64, 256]
QUEUE = 256  # commands at one time, of all sessions together
WINDOW = 128  # the most that one session has
WIRES = {"iser": "iser", "plain": "iscsi"}


def measure(programs: pathlib.Path, seconds: float, rounds: int) -> list[dict]:
    """4 KiB random reads of a null LUN: with QUEUE commands shared among the sessions, with eight each, and with one."""
    samples = []
    with tempfile.TemporaryDirectory() as folder, Daemon(programs, pathlib.Path(folder), [null_target()]) as daemon:
        for turn in range(rounds):
            for wire, scheme in WIRES.items():
                for sessions in SESSIONS:
                    depths = {"shared": min(QUEUE // sessions, WINDOW), "8 each": 8, "one each": 1}
                    for load, depth in depths.items():
                        samples.append({"round": turn, "wire": wire, "load": load, **_sample(programs, daemon, scheme, sessions, depth, seconds)})
    return samples


def _run(programs: pathlib.Path, daemon: Daemon, scheme: str, sessions: int, depth: int, seconds: float) -> tuple[dict, float]:
    """What the load says, and the daemon's CPU seconds from the first login to the last logout."""
    before = daemon.cpu_s()
    out = processes.run_json([
        str(programs / "iser"), "bench", "--json", "--rw", "randread", "--bs", "4k", "--iodepth", str(depth),
        "--threads", str(sessions), "--runtime", str(seconds), daemon.url(scheme)])
    if out["errors"]:
        raise processes.Failed(f"{sessions} sessions over {scheme}: {out['errors']} errors")
    return out, daemon.cpu_s() - before


def _sample(programs: pathlib.Path, daemon: Daemon, scheme: str, sessions: int, depth: int, seconds: float) -> dict:
    """Logins and logouts are taken off the target's CPU by a run that ends with its first commands."""
    least, least_cpu = _run(programs, daemon, scheme, sessions, depth, 0.001)
    out, cpu = _run(programs, daemon, scheme, sessions, depth, seconds)
    return {
        "sessions": sessions, "depth": depth, "iops": out["iops"], "ios": out["ios"],
        "target_us": (cpu - least_cpu) / (out["ios"] - least["ios"]) * 1e6,
        "target_session_us": least_cpu / sessions * 1e6,
        "initiator_us": (out["cpu_user_s"] + out["cpu_sys_s"]) / out["ios"] * 1e6,
        "p50_us": out["lat_us"]["p50"], "p99_us": out["lat_us"]["p99"],
    }
