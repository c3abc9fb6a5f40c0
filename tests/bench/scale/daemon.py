"""A daemon of ours with a configuration of its own, and what the kernel says of its process."""
import json
import pathlib
import re
import time

from harness import machine, processes

IQN = "iqn.2026-11.org.example:scale"


def null_target(name: str = IQN) -> dict:
    return {"name": name, "luns": [{"lun": 0, "null": "1GiB"}]}


class Daemon:
    def __init__(self, programs: pathlib.Path, folder: pathlib.Path, targets: list[dict], start_seconds: float = 60):
        config = {
            "portals": ["127.0.0.1:0"],
            "targets": targets,
            "limits": {"connections": 8192, "nop_interval": 0, "login_timeout": 60},
            "rdma": {"crc": True},
            "log_level": "warn",
            "state_directory": str(folder / "state"),
        }
        file = folder / "scale.yaml"
        file.write_text(json.dumps(config))  # JSON is YAML
        begun = time.monotonic()
        self.daemon = processes.Daemon([str(programs / "iser-targetd"), "--log-level", "info", "--config", str(file)], folder / "scale.log")
        self.port = int(self.daemon.wait_for(self._port, "does not listen", start_seconds)[1])
        self.start_s = time.monotonic() - begun

    def _port(self):
        return re.search(r"listening on 127\.0\.0\.1:(\d+)", self.daemon.log.read_text(errors="replace"))

    def url(self, scheme: str, query: str = "") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{IQN}/0" + (f"?{query}" if query else "")

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
        self.daemon.stop(20)
