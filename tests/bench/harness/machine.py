"""The machine: what it is, how busy it is, and a network namespace of its own."""
import os
import pathlib
import platform
import subprocess
import sys
import time

TARGET_CORE, LOAD_CORE = 0, 1
TICK = 1 / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """CPU seconds that all of the machine has used."""
    user, nice, system, _idle, _wait, irq, softirq = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) * TICK


def cpu_seconds_of(pid: int) -> float:
    """CPU seconds of the threads that a process has, to the nanosecond."""
    total = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((thread / "schedstat").read_text().split()[0])
        except FileNotFoundError:  # it has just ended
            pass
    return total / 1e9


def wait_until_quiet(longest: float, cores: float = 0.2) -> None:
    """Waits until the machine uses less than so many cores, but no longer than that."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(0.1)
        if busy_seconds() - before <= cores * 0.1 + TICK / 2:
            return


def enter_network_namespace() -> None:
    """Starts this program again in a network namespace of its own, as root; in it, ports and settings are its own."""
    if os.environ.get("OPENISER_BENCH_NETNS") == "yes":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        try:
            pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("reno")
        except OSError as error:
            print(f"congestion control stays as it is: {error}", file=sys.stderr)
        return
    if os.geteuid() != 0:
        print("not root: this network namespace, and its congestion control, are used as they are", file=sys.stderr)
        return
    os.environ["OPENISER_BENCH_NETNS"] = "yes"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def _first_line(*command: str) -> str:
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except OSError:
        return "not installed"
    except subprocess.TimeoutExpired:
        return "unknown"
    return ((out.stdout or out.stderr).strip().splitlines() or ["unknown"])[0]


def facts(programs: pathlib.Path) -> dict:
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in cpuinfo.splitlines() if line.startswith("model name")), "unknown")
    control = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "congestion_control": control,
        "versions": {
            "open-iser": _first_line(str(programs / "iser"), "--version"),
            "commit": _first_line("git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty"),
            "tgtd": _first_line("tgtd", "--version"),
            "libiscsi": _first_line("dpkg-query", "-W", "-f", "${Version}", "libiscsi7"),
            "isa-l": _first_line("dpkg-query", "-W", "-f", "${Version}", "libisal2"),
        },
    }
