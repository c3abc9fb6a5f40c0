"""Our daemon with a configuration, on a port of the system's choice."""
import json
import pathlib
import re

from . import processes


class Ours:
    """Listens when it is made; ends by stop(), and with this program at the latest."""

    def __init__(self, command: list[str], folder: pathlib.Path, name: str, config: dict, start_seconds: float = 15):
        """`config` lacks only portals and the state directory. The files of `name` go into the folder."""
        file = folder / f"{name}.yaml"
        file.write_text(json.dumps({**config, "portals": ["127.0.0.1:0"], "state_directory": str(folder / f"{name}.state")}))  # JSON is YAML
        self.daemon = processes.Daemon([*command, "--config", str(file)], folder / f"{name}.log")
        self.port = self.daemon.wait_for(self._port, "does not listen", start_seconds)

    def _port(self) -> int | None:
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.daemon.log.read_text(errors="replace"))
        return int(found[1]) if found else None

    def url(self, scheme: str, iqn: str, query: str = "") -> str:
        """Of the target's LUN 0."""
        return f"{scheme}://127.0.0.1:{self.port}/{iqn}/0" + (f"?{query}" if query else "")

    def stop(self, seconds: float = 10) -> None:
        self.daemon.stop(seconds)
