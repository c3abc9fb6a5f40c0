#!/usr/bin/env python3
"""usage: fpdu_per_packet.py IN.pcap OUT.pcap PORT

Cuts the byte streams of a capture anew, so that every FPDU travels in a TCP segment of its own, as an MPA-aware TCP would
send it (RFC 5044 section 5.1); not a byte of the streams changes. tshark's dissector takes it for granted where markers are
in use. Prints how many FPDUs there are, and how many of them end exactly where a marker is due: that marker belongs to the next
FPDU (RFC 5044 section 4.3), but tshark 4.0 looks for it in this one, and loses the stream there. The parsing is written apart
from the product's own."""
import struct
import sys

ETHERNET = b"\0" * 12 + b"\x08\x00"


def packets(path):
    with open(path, "rb") as f:
        data = f.read()
    magic, at = data[:4], 24
    assert magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"), "a little-endian pcap file is wanted"
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from("<IIII", data, at)
        yield (seconds, fraction), data[at + 16:at + 16 + size]
        at += 16 + size


def tcp_segments(path):
    """(time, source port, destination port, seq, flags, payload) of each IPv4 TCP packet."""
    for when, frame in packets(path):
        ip = frame[14:]
        header = (ip[0] & 15) * 4
        total = struct.unpack_from(">H", ip, 2)[0]
        tcp = ip[header:total] if total else ip[header:]
        source, destination, seq = struct.unpack_from(">HHI", tcp)
        yield when, source, destination, seq, tcp[13], tcp[(tcp[12] >> 4) * 4:]


class Direction:
    """One direction of a connection: its bytes, and the time at which each stretch of them was captured."""

    def __init__(self):
        self.first = None
        self.data = bytearray()
        self.times = []  # (end offset, time)
        self.early = []  # (offset, time, payload) of what was captured before what comes in front of it

    def add(self, when, seq, flags, payload):
        if flags & 2:
            self.first = (seq + 1) & 0xffffffff
        if self.first is None or not payload:
            return
        self.early.append(((seq - self.first) & 0xffffffff, when, payload))
        self.early.sort(key=lambda segment: segment[0])
        while self.early and self.early[0][0] <= len(self.data):
            offset, _, payload = self.early.pop(0)
            new = payload[len(self.data) - offset:]
            if new:
                self.data += new
                self.times.append((len(self.data), when))

    def check_whole(self):
        if self.early:
            raise SystemExit(f"the capture has a hole at byte {len(self.data)} of a stream")

    def time_of(self, offset):
        return next(when for end, when in self.times if end >= offset)


def mpa_frame(data, kind):
    """Offsets of the MPA frame's start and end, and whether its M bit is set; None without one."""
    start = data.find(b"MPA ID " + kind + b" Frame")
    if start < 0:
        return None
    return start, start + 20 + struct.unpack_from(">H", data, start + 18)[0], bool(data[start + 16] & 0x80)


def fpdu_ends(data, start, markers):
    """Offsets at which the FPDUs from `start` on end."""
    at = start
    while at < len(data):
        def is_marker(position):
            return markers and (position - start) % 512 == 0
        position = at + (4 if is_marker(at) else 0)
        if position + 2 > len(data):
            raise SystemExit("a stream ends within an FPDU")
        left = 2 + struct.unpack_from(">H", data, position)[0]
        left += -left % 4 + 4
        while left > 0:
            if is_marker(position) and position != at + 4 * is_marker(at):
                position += 4
            position += 4
            left -= 4
        if position > len(data):
            raise SystemExit("a stream ends within an FPDU")
        yield position
        at = position


def cut(connection):
    """(time, kind, source, destination, seq, payload) of each new segment."""
    (a, b), (one, two) = connection
    request = mpa_frame(one.data, b"Req")
    if not request:
        return
    reply = mpa_frame(two.data, b"Rep")
    # The M bit of one side asks for markers in what the other sends.
    # Each way's FPDUs, and in front of them what came before as one segment.
    for source, destination, way, frame, markers in ((a, b, one, request, reply[2]), (b, a, two, reply, request[2])):
        ends = [frame[0]] if frame[0] else []
        ends += [frame[1]] + list(fpdu_ends(way.data, frame[1], markers))
        begin = 0
        for end in ends:
            kind = "start" if end <= frame[1] else "at marker" if markers and (end - frame[1]) % 512 == 0 else "fpdu"
            yield way.time_of(end), kind, source, destination, way.first + begin, bytes(way.data[begin:end])
            begin = end


def frame_of(source, destination, seq, ack, payload):
    tcp = struct.pack(">HHIIBBHHH", source, destination, seq & 0xffffffff, ack & 0xffffffff, 5 << 4, 0x10, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    return ETHERNET + ip + tcp + payload


def main():
    source_file, output, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    connections = {}
    for when, source, destination, seq, flags, payload in tcp_segments(source_file):
        client = source if destination == port else destination
        ways = connections.setdefault(client, (Direction(), Direction()))
        ways[0 if source == client else 1].add(when, seq, flags, payload)
    segments = []
    for client, ways in connections.items():
        for way in ways:
            way.check_whole()
        segments += cut(((client, port), ways))
    segments.sort(key=lambda s: (s[0], s[1] != "start"))
    reached = {}
    with open(output, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for when, _, source, destination, seq, payload in segments:
            # Acknowledged is what went the other way so far: tshark passes over what looks like a retransmission.
            ways = connections[source if destination == port else destination]
            ack = reached.get((destination, source), ways[1 if destination == port else 0].first)
            reached[source, destination] = seq + len(payload)
            frame = frame_of(source, destination, seq, ack, payload)
            f.write(struct.pack("<IIII", *when, len(frame), len(frame)) + frame)
    kinds = [s[1] for s in segments]
    print(len(kinds) - kinds.count("start"), kinds.count("at marker"))


if __name__ == "__main__":
    main()
