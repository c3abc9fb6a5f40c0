"""RDMA devices: whether one carries an address, and which."""
import json
import pathlib
import resource
import tempfile

from . import processes
from .ours import Ours, Place


def unlock_memory() -> None:
    """What a device may reach is locked, and siw counts root's memory too. Takes root; else the limit stays as it is."""
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (ValueError, PermissionError):
        pass


def refusal(programs: pathlib.Path, host: str) -> str:
    """Why our daemon cannot listen there by verbs, in its own words and in one line; nothing where it can."""
    config = {"targets": [{"name": "iqn.2026-11.org.example:device", "luns": [{"lun": 0, "memory": "1MiB"}]}]}
    with tempfile.TemporaryDirectory(prefix="openiser-bench-") as folder:
        try:
            Ours([str(programs / "iser-targetd")], pathlib.Path(folder), "device", config, place=Place(host, ("verbs",))).stop()
            return ""
        except processes.Failed as failure:
            return str(failure).strip().splitlines()[-1]


def at(address: str) -> str:
    """The RDMA link that carries the address, as iproute2 tells it: `siw1/1 state ACTIVE physical_state LINK_UP netdev eth0`."""
    try:
        interfaces = json.loads(processes.run(["ip", "-j", "address", "show", "to", address]))
        names = {interface["ifname"] for interface in interfaces if interface}
        links = processes.run(["rdma", "link"]).splitlines()
    except (processes.Failed, OSError, json.JSONDecodeError):
        return "a device that iproute2 does not tell"
    mine = [link.removeprefix("link ").strip() for link in links if names & set(link.split())]
    return "; ".join(mine) or "a device that iproute2 does not tell"
