"""The targets that contenders drive: each a daemon on the target's core, with the LUN file as its store."""
import os
import pathlib
import shutil
import socket

from . import machine, processes
from .cases import MIB
from .ours import Ours, Place


class OpenIser(Ours):
    """Our daemon. It locks its LUN file, so each needs one of its own."""
    IQN = "iqn.2026-11.org.example:bench"

    def __init__(self, name: str, programs: pathlib.Path, folder: pathlib.Path, lun: pathlib.Path, busy_poll: int = 0,
                 counting: list[str] = [], place: Place = Place()):
        """`counting` goes before the program's name in the command."""
        config = {
            "targets": [{"name": self.IQN, "luns": [{"lun": 0, "file": str(lun), "size": 0}]}],
            "rdma": {"crc": False},  # none only where the initiator wants none either
            "limits": {"threads": 1, "busy_poll": busy_poll},  # all threads would share the one core
        }
        self.polls = busy_poll > 0
        super().__init__(processes.on_core(machine.TARGET_CORE, [*counting, str(programs / "iser-targetd")]), folder, name, config, place=place)
        self.rest()

    def url(self, scheme: str, query: str = "") -> str:
        return super().url(scheme, self.IQN, query)

    def work(self) -> None:
        if self.polls:
            self.daemon.resume()

    def rest(self) -> None:
        """One that polls may not take its core from the others."""
        if self.polls:
            self.daemon.pause()


class Tgtd:
    """Debian's tgtd, with the settings that it does best with: by default it has segments of 8 KiB and InitialR2T=Yes."""
    TID, IQN = "1", "iqn.2026-11.org.example:tgtd"
    SETTINGS = {
        "MaxRecvDataSegmentLength": MIB, "MaxXmitDataSegmentLength": MIB, "FirstBurstLength": MIB, "MaxBurstLength": 16776192,
        "InitialR2T": "No", "ImmediateData": "Yes", "MaxOutstandingR2T": 8,
        "HeaderDigest": "CRC32C,None", "DataDigest": "CRC32C,None",
    }

    @staticmethod
    def installed() -> bool:
        return bool(shutil.which("tgtd") and shutil.which("tgtadm")) and os.geteuid() == 0

    def __init__(self, folder: pathlib.Path, lun: pathlib.Path, host: str):
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        with socket.socket(family) as free:
            free.bind((host.strip("[]"), 0))
            self.portal = f"{host}:{free.getsockname()[1]}"
        self.control = str(10000 + os.getpid() % 20000)
        command = ["tgtd", "-f", "-C", self.control, "--iscsi", f"portal={self.portal}"]
        self.daemon = processes.Daemon(processes.on_core(machine.TARGET_CORE, command), folder / "tgtd.log")
        self.daemon.wait_for(self._answers, "does not answer")
        self._set_up(lun)

    def _answers(self) -> bool:
        try:
            self._tgtadm("--op", "show", "--mode", "system")
            return True
        except processes.Failed:
            return False

    def _tgtadm(self, *arguments: str) -> None:
        processes.run(["tgtadm", "-C", self.control, "--lld", "iscsi", *arguments])

    def _set_up(self, lun: pathlib.Path) -> None:
        self._tgtadm("--op", "new", "--mode", "target", "--tid", self.TID, "-T", self.IQN)
        self._tgtadm("--op", "new", "--mode", "logicalunit", "--tid", self.TID, "--lun", "1", "-b", str(lun), "--bstype", "rdwr")
        for name, value in self.SETTINGS.items():
            self._tgtadm("--op", "update", "--mode", "target", "--tid", self.TID, "--name", name, "--value", str(value))
        self._tgtadm("--op", "bind", "--mode", "target", "--tid", self.TID, "-I", "ALL")

    def url(self, scheme: str, query: str = "") -> str:
        return f"{scheme}://{self.portal}/{self.IQN}/1" + (f"?{query}" if query else "")

    def work(self) -> None:
        pass

    def rest(self) -> None:
        pass

    def stop(self) -> None:
        """It ignores SIGTERM while it has a target."""
        for arguments in (("--op", "delete", "--force", "--mode", "target", "--tid", self.TID), ("--op", "delete", "--mode", "system")):
            try:
                self._tgtadm(*arguments)
            except processes.Failed:
                pass
        self.daemon.stop()
        for end in ("", ".lock"):
            pathlib.Path(f"/var/run/tgtd/socket.{self.control}{end}").unlink(missing_ok=True)
