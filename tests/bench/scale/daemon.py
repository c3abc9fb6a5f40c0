"""A daemon of ours for many sessions, and what the kernel says of its process."""
import pathlib
import re
import time

from harness import machine
from harness.ours import Ours

IQN = "iqn.2026-11.org.example:scale"


def null_target(name: str = IQN) -> dict:
    return {"name": name, "luns": [{"lun": 0, "null": "1GiB"}]}


class Daemon(Ours):
    def __init__(self, programs: pathlib.Path, folder: pathlib.Path, targets: list[dict], start_seconds: float = 60):
        config = {
            "targets": targets,
            "limits": {"connections": 8192, "nop_interval": 0, "login_timeout": 60},
            "rdma": {"crc": True},
            "log_level": "warn",
        }
        begun = time.monotonic()
        super().__init__([str(programs / "iser-targetd"), "--log-level", "info"], folder, "scale", config, start_seconds)
        self.start_s = time.monotonic() - begun

    def url(self, scheme: str, query: str = "") -> str:
        return super().url(scheme, IQN, query)

    def cpu_s(self) -> float:
        return machine.cpu_seconds_of(self.daemon.pid)

    def memory(self) -> dict:
        """Bytes: RSS, PSS, and its anonymous part, which does not change when others map the same libraries."""
        text = pathlib.Path(f"/proc/{self.daemon.pid}/smaps_rollup").read_text()
        return {name.lower(): int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M)[1]) * 1024 for name in ("Rss", "Pss", "Pss_Anon")}

    def descriptors(self) -> int:
        return len(list(pathlib.Path(f"/proc/{self.daemon.pid}/fd").iterdir()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(20)
