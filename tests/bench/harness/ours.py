"""Our daemon with a configuration, on ports of the system's choice."""
import dataclasses
import json
import pathlib
import re

from . import processes

LISTENS = {"iwarp": "", "verbs": ", by verbs"}  # what the daemon says behind the address


@dataclasses.dataclass(frozen=True)
class Place:
    """Where targets listen, each transport on a port of its own."""
    host: str = "127.0.0.1"  # as in a URL: IPv6 in brackets
    transports: tuple[str, ...] = ("iwarp",)  # iwarp: TCP, plain iSCSI too

    @property
    def by_verbs(self) -> bool:
        return "verbs" in self.transports


class Ours:
    """Listens when it is made; ends by stop(), and with this program at the latest."""

    def __init__(self, command: list[str], folder: pathlib.Path, name: str, config: dict, start_seconds: float = 15,
                 place: Place = Place()):
        """`config` lacks only portals and the state directory. The files of `name` go into the folder."""
        file = folder / f"{name}.yaml"
        portals = [{"address": f"{place.host}:0", "transport": transport} for transport in place.transports]
        file.write_text(json.dumps({**config, "portals": portals, "state_directory": str(folder / f"{name}.state")}))  # JSON is YAML
        self.place = place
        self.daemon = processes.Daemon([*command, "--config", str(file)], folder / f"{name}.log")
        self.ports = self.daemon.wait_for(self._ports, "does not listen", start_seconds)

    def _ports(self) -> dict[str, int] | None:
        """By transport; nothing until each has one."""
        log = self.daemon.log.read_text(errors="replace")
        found = {transport: re.search(rf"listening on {re.escape(self.place.host)}:(\d+){words}$", log, re.M)
                 for transport, words in LISTENS.items() if transport in self.place.transports}
        return {transport: int(port[1]) for transport, port in found.items()} if all(found.values()) else None

    @property
    def port(self) -> int:
        """That of plain iSCSI and the built-in iWARP."""
        return self.ports["iwarp"]

    def url(self, scheme: str, iqn: str, query: str = "") -> str:
        """Of the target's LUN 0."""
        port = self.ports["verbs"] if "wire=verbs" in query else self.port
        return f"{scheme}://{self.place.host}:{port}/{iqn}/0" + (f"?{query}" if query else "")

    def stop(self, seconds: float = 10) -> None:
        self.daemon.stop(seconds)
