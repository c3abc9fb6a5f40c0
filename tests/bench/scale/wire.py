"""Initiator sessions by hand, many in one process, that can do a little and then keep still: plain, or iSER stream-first."""
import socket
import struct

BLOCK = 512
_HEADER = 28  # iSER's
_READ_STAG = 0x1234


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state = state >> 8 ^ _CRC[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF


class Session:
    """Logged in, with no command under way."""

    def __init__(self, port: int, target: str, number: int, rdma: bool):
        self._rdma, self._cmd_sn, self._stat_sn, self._msn = rdma, 1, 0, 1
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._log_in(target, number)
        if rdma:
            self._start_mpa()

    def read(self, blocks: int) -> None:
        """One READ (10); a unit attention is as good an answer as the data."""
        cdb = struct.pack(">BBIBHB", 0x28, 0, 0, 0, blocks, 0).ljust(16, b"\0")
        bhs = struct.pack(">BBxxI8xIIII", 0x01, 0xC1, 0, self._cmd_sn, blocks * BLOCK, self._cmd_sn, self._stat_sn) + cdb
        self._cmd_sn += 1
        if self._rdma:
            self._send_message(struct.pack(">BxxxIQIQ", 0x10 | 0x04, 0, 0, _READ_STAG, 0) + bhs)
            self._await_message()
        else:
            self._socket.sendall(bhs)
            while self._take_pdu() != 0x21:  # SCSI Response
                pass

    def close(self) -> None:
        self._socket.close()

    def _take(self, n: int) -> bytes:
        taken = bytearray()
        while len(taken) < n:
            piece = self._socket.recv(n - len(taken))
            if not piece:
                raise ConnectionError("the target has closed the connection")
            taken += piece
        return bytes(taken)

    def _take_pdu(self) -> int:
        bhs = self._take(48)
        self._take(-(-int.from_bytes(bhs[5:8]) // 4) * 4)
        self._stat_sn = int.from_bytes(bhs[24:28]) + 1
        if bhs[0] & 0x3F == 0x25 and bhs[1] & 1:  # Data-In with status
            return 0x21
        return bhs[0] & 0x3F

    def _log_in(self, target: str, number: int) -> None:
        keys = ["InitiatorName=iqn.2026-11.org.example:scale", "SessionType=Normal", f"TargetName={target}", "InitialR2T=No"]
        if self._rdma:
            keys += ["RDMAExtensions=Yes", "MaxAHSLength=256"]
        text = "".join(f"{key}\0" for key in keys).encode()
        isid = b"\x80" + number.to_bytes(5)
        bhs = struct.pack(">BBBBI", 0x43, 0x87, 0, 0, len(text)) + isid + struct.pack(">HIHxxII16x", 0, 0, 0, self._cmd_sn, 0)
        self._socket.sendall(bhs + text + b"\0" * (-len(text) % 4))
        answer = self._take(48)
        self._take(-(-int.from_bytes(answer[5:8]) // 4) * 4)
        if answer[0] != 0x23 or answer[36:38] != b"\0\0":
            raise ConnectionError(f"the target refuses the login: status {answer[36:38].hex()}")
        self._stat_sn = int.from_bytes(answer[24:28]) + 1

    def _start_mpa(self) -> None:
        """RFC 5044 section 7.1: revision 1, with CRC."""
        self._socket.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 0))
        reply = self._take(20)
        self._take(int.from_bytes(reply[18:20]))

    def _send_message(self, message: bytes) -> None:
        ulpdu = struct.pack(">BBIIII", 0x41, 0x43, 0, 0, self._msn, 0) + message
        self._msn += 1
        fpdu = struct.pack(">H", len(ulpdu)) + ulpdu
        fpdu += b"\0" * (-len(fpdu) % 4)
        self._socket.sendall(fpdu + struct.pack("<I", crc32c(fpdu)))

    def _await_message(self) -> None:
        """Up to the next Send; what is written meanwhile is thrown away."""
        while True:
            size = int.from_bytes(self._take(2))
            ulpdu = self._take(size + -(2 + size) % 4 + 4)
            if not ulpdu[0] & 0x80 and ulpdu[0] & 0x40:  # untagged, the last segment
                break
        self._stat_sn = int.from_bytes(ulpdu[18 + _HEADER + 24:18 + _HEADER + 28]) + 1
