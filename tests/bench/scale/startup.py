"""How long the daemon takes to start with many LUNs, and what it needs then; how long a discovery of many targets takes."""
import pathlib
import tempfile
import time

from harness import processes

from .daemon import Daemon

LUN_BYTES = "16MiB"  # sparse, so nothing of it is there


def _lun(kind: str, folder: pathlib.Path, target: int, lun: int) -> dict:
    if kind == "file":
        return {"lun": lun, "file": str(folder / "disks" / f"{target}-{lun}.img"), "size": LUN_BYTES}
    return {"lun": lun, kind: LUN_BYTES}


def _targets(kind: str, folder: pathlib.Path, targets: int, luns: int) -> list[dict]:
    return [{"name": f"iqn.2026-11.org.example:t{t}", "luns": [_lun(kind, folder, t, lun) for lun in range(luns)]} for t in range(targets)]


def start(programs: pathlib.Path, kind: str, targets: int = 1000, luns: int = 10) -> list[dict]:
    """The first start makes the files, the second finds them."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "disks").mkdir()
        for first in (True, False):
            with Daemon(programs, folder, _targets(kind, folder, targets, luns), 120) as daemon:
                results.append({
                    "kind": kind, "first": first, "targets": targets, "luns": targets * luns,
                    "seconds": daemon.start_s, "descriptors": daemon.descriptors(), **daemon.memory()})
    return results


def discovery(programs: pathlib.Path, targets: int = 5000) -> dict:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wanted = _targets("null", folder, targets, 1)
        with Daemon(programs, folder, wanted, 120) as daemon:
            begun = time.monotonic()
            found = processes.run_json([str(programs / "iser"), "discover", "--json", f"127.0.0.1:{daemon.port}"])
            seconds = time.monotonic() - begun
    names = {target["name"] for target in wanted}
    missing = names - {target["target"] for target in found}
    if missing or len(found) != len(names):
        raise processes.Failed(f"discovery of {targets} targets gave {len(found)}; missing are {sorted(missing)[:3]}")
    return {"targets": targets, "seconds": seconds}
