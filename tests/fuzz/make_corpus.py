#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: tests/fuzz/corpus/FUZZER/NAME. Run it after a change of what an
input means (see the head of each fuzz_*.cc) and commit what it makes.

usage: tests/fuzz/make_corpus.py
"""
import hashlib
import pathlib
import shutil
import struct

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LARGEST = 7800  # bytes of a seed; run_one takes inputs of up to 8192
RESERVED = 0xFFFFFFFF
ISID = b"\x80\x12\x34\x56\x00\x01"
NAMES = "InitiatorName=iqn.2026-11.org.example:i|"
TARGET = "TargetName=iqn.2026-11.org.example:x|"


def write(fuzzer, name, content):
    assert len(content) < 8192, (fuzzer, name, len(content))
    folder = HERE / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def pad(data):
    return data + bytes(-len(data) % 4)


def text(bars):
    return bars.replace("|", "\0").encode()


def record(content):
    return struct.pack(">H", len(content)) + content


def expanded(start, size):
    """A record of `size` bytes, zero behind `start` (take_expanded)."""
    return struct.pack(">HB", 0x8000 | size, len(start)) + start


# --- captures ---------------------------------------------------------------------------------


def streams(path):
    """The bytes of each direction of the one TCP connection in a pcap: from client, from server."""
    raw = path.read_bytes()
    at, sides = 24, ({}, {})
    first = [None, None]
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at + 8)[0]
        ip = raw[at + 16 + 14 : at + 16 + size]
        at += 16 + size
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack_from(">H", ip, 2)[0]]
        side = 1 if struct.unpack_from(">H", tcp)[0] == 3260 else 0
        sequence = struct.unpack_from(">I", tcp, 4)[0]
        if tcp[13] & 2:
            first[side] = sequence + 1
        payload = tcp[(tcp[12] >> 4) * 4 :]
        if payload and first[side] is not None:
            sides[side][(sequence - first[side]) & 0xFFFFFFFF] = payload
    whole = []
    for side in sides:
        stream = b""
        for offset in sorted(side):
            if offset > len(stream):
                break
            stream += side[offset][len(stream) - offset :]
        whole.append(stream)
    return whole


def fpdus(stream, most):
    """The ULPDUs behind the MPA frame, without markers."""
    at = 20 + struct.unpack_from(">H", stream, 18)[0]
    found, size = [], 0
    while at + 2 <= len(stream):
        length = struct.unpack_from(">H", stream, at)[0]
        if size + length + 2 > most or at + 2 + length > len(stream):
            break
        found.append(stream[at + 2 : at + 2 + length])
        size += length + 2
        at += (2 + length + 3) // 4 * 4 + 4
    return found


# --- iSCSI PDUs (RFC 7143 section 11) ------------------------------------------------------------


def pdu(opcode, flags, b2_3=b"\0\0", lun=bytes(8), itt=0, rest=b"", data=b"", ahs=b""):
    header = bytes([opcode, flags]) + b2_3 + bytes([len(ahs) // 4]) + len(data).to_bytes(3, "big")
    header += lun + struct.pack(">I", itt) + rest
    return header.ljust(48, b"\0") + ahs + pad(data)


def words(*values):
    return struct.pack(">%dI" % len(values), *values)


def login_request(stage, following, keys, transit=True, cmd_sn=1):
    flags = (0x80 if transit else 0) | stage << 2 | (following if transit else 0)
    return pdu(0x43, flags, lun=ISID + bytes(2), rest=words(0, cmd_sn, 0), data=text(keys))


def chap_response(digest, secret, size):
    """To the challenge of fuzz_login, whose random numbers are all 0x5a."""
    return hashlib.new(digest, b"\x5a" + secret.encode() + b"\x5a" * size).hexdigest()


def login_response(stage, following, keys, transit=True, stat_sn=0, status=b"\0\0", tsih=1):
    flags = (0x80 if transit else 0) | stage << 2 | (following if transit else 0)
    return pdu(0x23, flags, lun=bytes(6) + struct.pack(">H", tsih), rest=words(0, stat_sn, 1, 64) + status,
               data=text(keys))


class Commands:
    """Requests in order: CmdSN counts by itself."""

    def __init__(self):
        self.cmd_sn, self.itt = 1, 1

    def number(self, immediate=False):
        self.itt += 1
        if not immediate:
            self.cmd_sn += 1
        return self.itt - 1, self.cmd_sn - (0 if immediate else 1)

    def scsi(self, cdb, flags=0x80, length=0, data=b"", lun=0, ahs=b"", immediate=False):
        itt, cmd_sn = self.number(immediate)
        return pdu(0x41 if immediate else 0x01, flags | 1, lun=bytes([0, lun]) + bytes(6), itt=itt,
                   rest=words(length, cmd_sn, 1) + bytes(cdb).ljust(16, b"\0"), data=data, ahs=ahs)

    def read(self, cdb, length, lun=0):
        return self.scsi(cdb, 0x80 | 0x40, length, lun=lun)

    def write(self, cdb, length, data=b"", final=True, lun=0):
        return self.scsi(cdb, (0x80 if final else 0) | 0x20, length, data, lun)

    def data_out(self, data, offset=0, ttt=RESERVED, data_sn=0, final=True, itt=None):
        return pdu(0x05, 0x80 if final else 0, itt=itt or self.itt - 1,
                   rest=words(ttt, 0, 1, 0, data_sn, offset), data=data)

    def manage(self, function, referenced=RESERVED, immediate=True):
        itt, cmd_sn = self.number(immediate)
        return pdu(0x42 if immediate else 0x02, 0x80 | function, itt=itt, rest=words(referenced, cmd_sn, 1, 0))

    def ping(self, data=b"ping", immediate=True, itt=None, ttt=RESERVED):
        number, cmd_sn = self.number(immediate)
        return pdu(0x40 if immediate else 0, 0x80, itt=number if itt is None else itt,
                   rest=words(ttt, cmd_sn, 1), data=data)

    def ask(self, keys, final=True, ttt=RESERVED, more=False):
        itt, cmd_sn = self.number()
        return pdu(0x04, (0x80 if final else 0) | (0x40 if more else 0), itt=itt,
                   rest=words(ttt, cmd_sn, 1), data=text(keys))

    def snack(self, kind=0):
        return pdu(0x10, 0x80 | kind, itt=self.itt - 1, rest=words(RESERVED, 0, 1, 0, 0, 0, 0))

    def log_out(self, reason=0):
        itt, cmd_sn = self.number()
        return pdu(0x06, 0x80 | reason, itt=itt, rest=words(0, cmd_sn, 1))


def cdb10(opcode, lba, blocks, flags=0):
    return struct.pack(">BBIBHB", opcode, flags, lba, 0, blocks, 0)


def cdb16(opcode, lba, blocks, flags=0):
    return struct.pack(">BBQIBB", opcode, flags, lba, blocks, 0, 0)


INQUIRY = bytes([0x12, 0, 0, 0, 96, 0])
SETTLE = [INQUIRY, bytes(6), bytes(6)]  # takes the unit attentions there are


def scsi_scripts():
    """name, and what a target is told after its unit attentions."""
    yield "discover", lambda c: (
        c.read(bytes([0xA0]) + bytes(5) + words(256) + bytes(2), 256)
        + b"".join(c.read(bytes([0x12, 1, page, 0, 255, 0]), 255) for page in (0, 0x80, 0x83, 0xB0, 0xB1, 0xB2))
        + c.read(cdb10(0x25, 0, 0), 8)
        + c.read(bytes([0x9E, 0x10]) + bytes(8) + words(32) + bytes(2), 32)
        + c.read(bytes([0x1A, 0, 0x3F, 0, 255, 0]), 255)
        + c.read(cdb10(0x5A, 0x3F << 24, 255), 255)
        + c.read(bytes([0x03, 0, 0, 0, 96, 0]), 96)
        + c.read(bytes([0xA3, 0x0C, 0]) + bytes(3) + words(4096) + bytes(2), 4096)
        + c.read(bytes([0xA3, 0x0C, 0x80]) + bytes(3) + words(4096) + bytes(2), 4096)
        + c.read(bytes([0xA3, 0x0C, 0x81, 0x28, 0, 0]) + words(64) + bytes(2), 64)
        + c.read(bytes([0xA3, 0x0C, 2, 0x9E, 0, 0x10]) + words(64) + bytes(2), 64)
        + c.read(bytes([0x12, 1, 0x86, 0, 255, 0]), 255)
        + c.scsi(bytes([0x1B, 0, 0, 0, 1, 0]))
    )
    yield "read", lambda c: (
        c.read(cdb10(0x28, 0, 8), 4096)
        + c.read(cdb16(0x88, 8, 16), 8192)
        + c.read(bytes([0x08, 0, 0, 1, 2, 0]), 1024)
        + c.read(struct.pack(">BBIIBB", 0xA8, 0, 4, 4, 0, 0), 2048)
        + c.read(cdb10(0x28, 0, 8), 100)
        + c.read(cdb10(0x28, 127, 8), 4096)
        + c.read(cdb10(0x28, 0, 1, 8), 4096, lun=1)
        + c.read(cdb10(0x28, 0, 1), 512, lun=9)
    )
    yield "write", lambda c: (
        c.write(cdb10(0x2A, 0, 2), 1024, b"w" * 1024)
        + c.write(cdb10(0x2A, 2, 4), 2048, b"w" * 512, final=False)
        + c.data_out(b"x" * 512, 512, final=False)
        + c.data_out(b"y" * 1024, 1024, data_sn=1)
        + c.write(cdb16(0x8A, 6, 2, 8), 1024)
        + c.data_out(b"r" * 512, 0, ttt=1, final=False)
        + c.data_out(b"r" * 512, 512, ttt=1, data_sn=1)
        + c.scsi(cdb10(0x35, 0, 0))
        + c.write(cdb10(0x2F, 0, 1, 2), 512, bytes(512))
        + c.write(cdb10(0x2F, 0, 1, 0), 0)
        + c.write(cdb10(0x2F, 0, 8, 6), 512, bytes(512))
        + c.read(cdb10(0x28, 0, 2, 0x18), 1024)
    )
    yield "manage_blocks", lambda c: (
        c.write(cdb10(0x42, 0, 24), 24, struct.pack(">HHIQII", 22, 16, 0, 8, 4, 0))
        + c.write(cdb10(0x41, 0, 16), 512, b"s" * 512)
        + c.write(cdb16(0x93, 32, 16, 8), 512, bytes(512))
        + c.write(cdb16(0x93, 32, 16, 1), 0)
        + c.write(cdb16(0x89, 0, 1)[:13] + b"\1\0\0", 1024, b"s" * 512 + b"t" * 512)
        + c.write(cdb16(0x89, 0, 1)[:13] + b"\1\0\0", 1024, b"q" * 512 + b"t" * 512)
    )
    yield "bidirectional", lambda c: (
        c.scsi([0x53], 0x80 | 0x60, 512, b"b" * 512, ahs=struct.pack(">HBBI", 5, 2, 0, 1024))
        + c.scsi([0x7F], 0x80, 0, ahs=struct.pack(">HBB", 17, 1, 0) + bytes(16))
    )
    yield "manage_tasks", lambda c: (
        c.write(cdb10(0x2A, 0, 8), 4096, final=True)
        + c.manage(1, c.itt - 1)
        + c.write(cdb10(0x2A, 0, 8), 4096, final=True)
        + b"".join(c.manage(function) for function in range(2, 13))
    )
    yield "requests", lambda c: (
        c.ping()
        + c.ping(b"", immediate=False)
        + c.ping(itt=RESERVED, ttt=1)
        + c.ask("SendTargets=All|")
        + c.ask("Send", final=False, more=True)
        + c.ask("MaxRecvDataSegmentLength=4096|X-x=1|")
        + c.snack()
        + c.scsi([0], immediate=True)
        + c.log_out()
    )
    yield "large", lambda c: (
        b"".join(c.read(cdb10(0x28, 8 * n, 64), 262144, lun=1) for n in range(8))
        + c.write(cdb10(0x2A, 0, 64), 262144, lun=1)
        + c.manage(1, c.itt - 3)
    )
    yield "out_of_order", lambda c: out_of_order(c)


def out_of_order(c):
    first, second, third = c.read(cdb10(0x28, 0, 1), 512), c.scsi([0]), c.ping(immediate=False)
    return third + second + c.data_out(b"stray", itt=77) + second + first + c.log_out(1)


def make_target():
    for name, script in scsi_scripts():
        c = Commands()
        stream = b"".join(c.read(cdb, 96) for cdb in SETTLE) + script(c)
        for variant, flags, step in (("", 2, 255), ("_digests", 0x8 | 0x10 | 2, 3), ("_small", 0x20 | 0x40 | 0x80, 20)):
            write("fuzz_target", name + variant, bytes([flags, step, len(name) % 4]) + stream)
        if name == "large":
            write("fuzz_target", "stalled", bytes([2, 255, 0x80]) + stream)
            write("fuzz_target", "stalled_reset", bytes([2, 255, 0x81]) + stream + c.manage(5) + c.manage(6))
        if name == "write":
            write("fuzz_target", "already_read", bytes([2, 0, 0]) + stream)
    c = Commands()
    stream = c.ask("SendTargets=All|") + c.ask("SendTargets=|") + c.ask("SendTargets=iqn.a|") + c.log_out()
    write("fuzz_target", "discovery", bytes([4, 255, 0]) + stream)


# --- the target's answers --------------------------------------------------------------------


class Answers:
    def __init__(self):
        self.stat_sn, self.exp_cmd_sn = 1, 1

    def numbers(self, counts=True):
        self.stat_sn += counts
        return words(self.stat_sn - counts, self.exp_cmd_sn, self.exp_cmd_sn + 8)

    def response(self, itt, status=0, sense=b"", flags=0, residual=0, takes=1):
        self.exp_cmd_sn += takes
        data = struct.pack(">H", len(sense)) + sense if sense else b""
        return pdu(0x21, 0x80 | flags, bytes([0, status]), itt=itt,
                   rest=words(0) + self.numbers() + words(0, 0, residual), data=data)

    def data_in(self, itt, data, offset=0, data_sn=0, status=False, final=True):
        flags = (0x80 if final else 0) | (1 if status else 0)
        return pdu(0x25, flags, itt=itt, rest=words(RESERVED) + self.numbers(status) + words(data_sn, offset, 0),
                   data=data)

    def r2t(self, itt, offset, length, r2t_sn=0, ttt=5):
        return pdu(0x31, 0x80, itt=itt, rest=words(ttt) + self.numbers(False) + words(r2t_sn, offset, length))

    def other(self, opcode, itt, flags=0x80, b2_3=b"\0\0", data=b"", ttt=RESERVED, tail=b"", counts=True):
        return pdu(opcode, flags, b2_3, itt=itt, rest=words(ttt) + self.numbers(counts) + tail, data=data)


def other_tag(n):
    """The Initiator Task Tag of a session's nth request (from 1) that is no SCSI command."""
    return (n - 1) << 16 | 0xFFFE


def make_initiator():
    def acts(*whats):
        return b"".join(bytes([1, what]) for what in whats)

    def answers(stream):
        return b"\0" + record(stream)

    sense = bytes([0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0])
    for digests in (0, 0x18):
        a = Answers()
        write("fuzz_initiator", f"read_{digests}", bytes([2 | digests, 255]) + acts(0, 0, 2) + answers(
            a.data_in(0, b"d" * 2048, final=False) + a.data_in(0, b"d" * 2048, 2048, 1, status=True)
            + a.data_in(1, b"d" * 1024) + a.response(1, flags=2, residual=3072)
            + a.response(2, 2, sense)) + acts(8) + answers(a.other(0x26, other_tag(1))))
        a = Answers()
        write("fuzz_initiator", f"write_{digests}", bytes([0x42 | digests, 40]) + acts(1, 3) + answers(
            a.r2t(0, 8192, 8192) + a.r2t(0, 16384, 3616, 1, 6) + a.response(0)
            + a.data_in(1, b"d" * 700) + a.response(1)))
        a = Answers()
        write("fuzz_initiator", f"manage_{digests}", bytes([0x82 | digests, 255]) + acts(0, 1, 2, 4, 0x15, 0x55) + answers(
            a.other(0x22, other_tag(1)) + a.other(0x22, other_tag(2), b2_3=b"\1\0") + a.response(1)
            + a.other(0x22, other_tag(3))))
        a = Answers()
        write("fuzz_initiator", f"requests_{digests}", bytes([2 | digests, 7]) + acts(6, 7, 2) + answers(
            a.other(0x20, other_tag(1), data=b"ping") + a.other(0x20, RESERVED, ttt=9, data=b"x", counts=False)
            + a.other(0x24, other_tag(2), 0, ttt=4, data=text("TargetName=iqn.a|Target"))
            + a.other(0x24, other_tag(2), data=text("Address=127.0.0.1:3260,1|"))
            + a.response(0) + a.other(0x32, RESERVED, tail=words(0) + bytes([0, 0]) + bytes(6), data=b"\0\x12" + sense)
            + a.other(0x3F, RESERVED, b2_3=b"\4\0", data=Commands().scsi([0]))) + acts(0x69, 0x69, 0x69))
        for event in (1, 2, 3, 4):
            a = Answers()
            write("fuzz_initiator", f"event_{event}_{digests}", bytes([2 | digests, 255]) + acts(2, 0) + answers(
                a.other(0x32, RESERVED, tail=words(0) + bytes([event, 0, 0, 0, 0, 1, 0, 0]))
                + a.response(0) + a.other(0x24, other_tag(1), data=text("a=NotUnderstood|"))
                + a.other(0x26, other_tag(1))))
    a = Answers()
    write("fuzz_initiator", "discovery", bytes([4, 255]) + acts(7, 7) + answers(
        a.other(0x24, other_tag(1), data=text("TargetName=iqn.a|TargetAddress=[::1]:3260,1|"))
        + a.other(0x24, other_tag(2), data=text("TargetName=iqn.a|"))) + acts(8))


# --- login -----------------------------------------------------------------------------------


OPERATIONAL = ("HeaderDigest=CRC32C,None|DataDigest=None|MaxRecvDataSegmentLength=8192|MaxBurstLength=262144|"
               "FirstBurstLength=65536|InitialR2T=No|ImmediateData=Yes|MaxOutstandingR2T=4|MaxConnections=1|"
               "DefaultTime2Wait=2|DefaultTime2Retain=0|DataPDUInOrder=Yes|DataSequenceInOrder=Yes|"
               "ErrorRecoveryLevel=0|")
ISER = ("InitiatorRecvDataSegmentLength=8192|TargetRecvDataSegmentLength=8192|RDMAExtensions=Yes|"
        "MaxOutstandingUnexpectedPDUs=8|MaxAHSLength=256|TaggedBufferForSolicitedDataOnly=Yes|"
        "iSERHelloRequired=Yes|iSCSIProtocolLevel=2|")
SECURITY_ANSWERS = "TargetPortalGroupTag=1|AuthMethod=None|"
ANSWERS = ("HeaderDigest=None|DataDigest=None|MaxRecvDataSegmentLength=8192|MaxBurstLength=262144|FirstBurstLength=65536|InitialR2T=No|ImmediateData=Yes|"
           "MaxOutstandingR2T=1|MaxConnections=1|ErrorRecoveryLevel=0|"
           "DefaultTime2Wait=2|DefaultTime2Retain=0|")
KEYS_OF_ISER = "RDMAExtensions=Yes|TargetRecvDataSegmentLength=8192|InitiatorRecvDataSegmentLength=8192|"
ISER_ANSWERS = (KEYS_OF_ISER +
                "MaxBurstLength=262144|FirstBurstLength=65536|MaxConnections=1|ErrorRecoveryLevel=0|"
                "DefaultTime2Wait=2|DefaultTime2Retain=0|InitialR2T=No|ImmediateData=Yes|MaxOutstandingR2T=1|")


def make_login():
    full = NAMES + "InitiatorAlias=a|SessionType=Normal|" + TARGET
    scripts = {
        "plain": (0, login_request(1, 3, full + OPERATIONAL)),
        "iser": (8 | 32, login_request(1, 3, full + OPERATIONAL + ISER)),
        "rdma_first": (1 | 8, login_request(1, 3, full + ISER)),
        "security": (8, login_request(0, 1, full + "AuthMethod=None|") + login_request(1, 3, OPERATIONAL)),
        "chap": (0, login_request(0, 0, full + "AuthMethod=CHAP,None|", False)
                 + login_request(0, 0, "CHAP_A=7,5|", False)
                 + login_request(0, 1, "CHAP_N=user|CHAP_R=0x00112233445566778899aabbccddeeff|")),
        # What a target that sends nothing but 0x5a is answered by a user who knows the secret.
        "chap_mutual": (192, login_request(0, 0, full + "AuthMethod=CHAP|", False)
                        + login_request(0, 0, "CHAP_A=7,5|", False)
                        + login_request(0, 1, "CHAP_N=user|CHAP_R=0x" + chap_response("sha256", "a-secret-of-the-user", 32)
                                        + "|CHAP_I=1|CHAP_C=0bAAECAwQFBgcICQoLDA0ODw==|")
                        + login_request(1, 3, OPERATIONAL)),
        "discovery": (4, login_request(0, 3, NAMES + "SessionType=Discovery|AuthMethod=None|")),
        "refused": (128, login_request(1, 3, full)),
        "not_found": (64, login_request(1, 3, full)),
        "unknown_keys": (0, login_request(1, 3, full + "X-vendor=1|a=b|" + "k" * 63 + "=v|MaxBurstLength=0x400|")
                         + login_request(1, 3, "")),
        "in_parts": (0, pdu(0x43, 0x44, lun=ISID + bytes(2), rest=words(0, 1, 0), data=text(full)[:40]) + login_request(1, 3, full[40:] + OPERATIONAL)),
        "empty": (0, login_request(0, 1, "") + login_request(1, 3, "")),
    }
    for name, (flags, stream) in scripts.items():
        write("fuzz_login", "to_target_" + name, bytes([flags, 255]) + stream)
    first = login_response(0, 1, SECURITY_ANSWERS, tsih=0)
    unexpected = "MaxOutstandingUnexpectedPDUs=4|MaxAHSLength=256|"
    answers = {
        "plain": (0, first + login_response(1, 3, ANSWERS, stat_sn=1)),
        "iser": (8 | 32, first + login_response(1, 3, ANSWERS + KEYS_OF_ISER + unexpected, stat_sn=1)),
        "no_iser": (8, first + login_response(1, 3, ANSWERS + KEYS_OF_ISER.replace("Yes", "No"), stat_sn=1)),
        "rdma_first": (1 | 8, first + login_response(1, 3, ISER_ANSWERS, stat_sn=1)),
        "discovery": (4, first + login_response(1, 3, "HeaderDigest=None|DataDigest=None|", stat_sn=1)),
        "slow": (0, first + login_response(1, 1, ANSWERS, False, 1) + login_response(1, 3, "", stat_sn=2)),
        "in_parts": (0, pdu(0x23, 0x40, lun=bytes(8), rest=words(0, 0, 1, 64), data=b"TargetPortalGroup")
                     + login_response(0, 1, "Tag=1|AuthMethod=None|", stat_sn=1, tsih=0) + login_response(1, 3, ANSWERS, stat_sn=2)),
        "redirected": (0, login_response(0, 1, "TargetAddress=[::1]:3261,1|", False, status=b"\1\1")),
        "refused": (0, login_response(0, 0, "", False, status=b"\2\3")),
        "chap_mutual": (128, login_response(0, 0, "AuthMethod=CHAP|TargetPortalGroupTag=1|", False, tsih=0)
                        + login_response(0, 0, "CHAP_A=7|CHAP_I=1|CHAP_C=0bAAECAwQFBgcICQoLDA0ODw==|", False, 1, tsih=0)
                        + login_response(0, 1, "CHAP_N=target|CHAP_R=0x" + chap_response("sha256", "that-of-the-target", 32) + "|",
                                         stat_sn=2, tsih=0)
                        + login_response(1, 3, ANSWERS, stat_sn=3)),
    }
    for name, (flags, stream) in answers.items():
        write("fuzz_login", "to_initiator_" + name, bytes([2 | flags, 255]) + stream)


# --- RDMAP (RFC 5040, 5041, 5044) --------------------------------------------------------------


def mpa(reply=False, crc=True, markers=False, revision=2, private=b"", enhanced=(8, 8)):
    key = b"MPA ID Rep Frame" if reply else b"MPA ID Req Frame"
    flags = (0x80 if markers else 0) | (0x40 if crc else 0)
    if revision == 2:
        flags |= 0x10
        private = struct.pack(">HH", *enhanced) + private
    return key + bytes([flags, revision]) + struct.pack(">H", len(private)) + private


def untagged(opcode, payload=b"", queue=0, msn=1, offset=0, last=True, invalidate=0, version=1):
    control = version << 6 | opcode
    return struct.pack(">BBIIII", (0x40 if last else 0) | version, control, invalidate, queue, msn, offset) + payload


def tagged(opcode, stag, offset, payload=b"", last=True, version=1):
    control = version << 6 | opcode
    return struct.pack(">BBIQ", 0x80 | (0x40 if last else 0) | version, control, stag, offset) + payload


def read_request(source, offset, size, sink=0x77, sink_offset=0, msn=1):
    return untagged(1, struct.pack(">IQIIQ", sink, sink_offset, size, source, offset), 1, msn)


# fixed_random.cc, in the order that fuzz_iwarp draws words: for its own reads' sinks (slots of
# StagTable: 4 bits), then the three regions.
SINK, BOTH, READS, WRITES = 0x1000F, 0x20000, 0x30001, 0x40002


def make_iwarp():
    for name in ("stock", "crc", "p2p", "stock-chap"):
        for side, stream in zip(("client", "server"), streams(ROOT / "tests/data" / f"lio-iser-siw-{name}.pcap")):
            flags = (1 if name == "crc" else 0) | (4 if side == "server" else 0) | (16 if name == "p2p" else 0)
            write("fuzz_iwarp", f"{name}_{side}", bytes([flags, 255]) + stream[:4000])
            ulpdus = b"".join(record(u) for u in fpdus(stream, 4000))
            write("fuzz_iwarp", f"{name}_{side}_framed", bytes([flags | 8, 80]) + ulpdus)

    def framed(name, *ulpdus):
        for variant, flags in (("plain", 0), ("crc", 1), ("markers", 3), ("initiator", 5), ("small", 0x80)):
            write("fuzz_iwarp", f"{name}_{variant}", bytes([8 | flags, 255]) + b"".join(map(record, ulpdus)))

    send = [untagged(3, bytes([what]) + b"message", msn=at + 1) for at, what in enumerate((5, 0x80, 0x71, 0x42))]
    framed("sends", *send, untagged(5, b"\7solicited", msn=5),
           untagged(3, b"\7part", msn=6, last=False), untagged(3, b"ial", msn=6, offset=5))
    framed("invalidate", untagged(4, b"\7", invalidate=BOTH), untagged(6, b"\7", msn=2, invalidate=READS),
           untagged(3, b"\x23", msn=3), tagged(0, WRITES, 0, b"late"))
    framed("writes", tagged(0, BOTH, 16, b"w" * 600, False), tagged(0, BOTH, 616, b"w" * 100),
           tagged(0, WRITES, 4092, b"last"), tagged(0, 0, 0), untagged(3, b"\7"))
    framed("reads", read_request(BOTH, 0, 64), read_request(READS, 100, 3000, msn=2), read_request(0, 0, 0, msn=3),
           tagged(2, SINK, 4096, b"a" * 32, False), tagged(2, SINK, 4128, b"a" * 32),
           untagged(3, b"\x42"), tagged(2, SINK, 12288, b"b" * 16), untagged(3, b"\x02", msn=2), tagged(2, SINK, 0))
    large = [expanded(tagged(0, BOTH, 0), 20000), *[record(untagged(3, b"\7", msn=n)) for n in (1, 2, 3)],
             expanded(untagged(3, b"\7", msn=4, last=False), 1000),
             expanded(untagged(3, msn=4, offset=982), 30000), expanded(untagged(3, b"\xF2", msn=5), 64),
             expanded(tagged(0, WRITES, 1000), 17000)]
    answers = [expanded(tagged(2, SINK, 4096), 64 + 14), expanded(untagged(3, b"\xF2"), 50),
               expanded(tagged(2, SINK, 12288, last=False), 16398), expanded(tagged(2, SINK, 12288 + 16384), 16398)]
    late = [expanded(tagged(0, BOTH, 0, last=False), 20000), record(untagged(4, b"\7", invalidate=BOTH)),
            expanded(tagged(0, BOTH, 20000), 20000)]
    revoked = [record(untagged(3, b"\3")), expanded(tagged(0, BOTH, 0), 20000)]
    region_ends = [*[record(read_request(READS, 0, 65536, msn=n)) for n in range(1, 33)], record(untagged(3, b"\x13")), record(untagged(3, b"\x15", msn=2)),
                   record(untagged(3, b"\6", msn=3))]
    for name, records in (("revoked", revoked), ("region_ends", region_ends), ("large", large), ("answers", answers), ("late", late)):
        for flags in (8, 9, 13, 11):
            write("fuzz_iwarp", f"{name}_{flags}", bytes([flags, 7 if flags == 8 else 255]) + b"".join(records))
    framed("terminate", untagged(7, bytes([0x10, 0x01, 0xC0, 0]) + b"\0\x12" + untagged(3), 2))
    framed("bad", untagged(3, b"\7"), tagged(0, READS, 0, b"no right"))
    framed("disconnect", untagged(3, b"\x80"), untagged(3, b"\4", msn=2), untagged(3, b"\7", msn=3))
    old = [untagged(3, b"\x80", version=0), tagged(0, BOTH, 0, b"w", version=0)]
    for flags in (8 | 0x40, 8 | 0x40 | 4):
        write("fuzz_iwarp", f"consortium_{flags}", bytes([flags, 255]) + b"".join(map(record, old)))
    stream = streams(ROOT / "tests/data" / "lio-iser-siw-stock.pcap")[0]
    write("fuzz_iwarp", "upgrade", bytes([0, 0]) + stream[:2000])
    write("fuzz_iwarp", "reject", bytes([0, 255]) + mpa(private=b"Rejected"))
    write("fuzz_iwarp", "rejected", bytes([4, 255]) + mpa(True)[:16] + b"\x20\1\0\0")
    for revision, flag in ((1, 0x20), (2, 0), (2, 16)):
        for reply in (False, True):
            write("fuzz_iwarp", f"start_{revision}_{flag}_{reply}", bytes([flag | (4 if reply else 0), 9])
                  + mpa(reply, revision=revision, private=b"private",
                        enhanced=(0x8000 | 0x4000 | 4, 0xC000 | 4) if flag == 16 else (4, 4)))


# --- iSER (RFC 7145 section 9) -----------------------------------------------------------------


SEND, SEND_INVALIDATE, WRITE, READ, ACT, WAIT, REVOKE, DISCONNECT = range(8)
# The peer's first region; the nth is n << 16 plus n - 1. Good for one command, unless:
FIRST = 0x10000
NO_INVALIDATE = 0x80


def iser(message, write=None, read=None, old=False):
    flags = 0x10 | (8 if write is not None else 0) | (4 if read is not None else 0)
    header = bytes([flags, 0, 0, 0])
    for stag in (write, read):
        header += words(stag or 0) + (b"" if old else bytes(8))
    return header + message


def hello(kind, version, reads, size):
    return struct.pack(">BBH", kind << 4, version << 4 | version, reads).ljust(size, b"\0")


def deed(what, content=b"", hold=False, barely=False):
    return bytes([what | (0x80 if hold else 0) | (0x40 if barely else 0)]) + record(content)


def make_iser():
    for name, old in (("", False), ("_5046", True)):
        flags = 1 | NO_INVALIDATE | (2 if old else 0)
        greeting = deed(SEND, hello(2, 1, 8, 12)) if old else b""

        def say(stream, hold=False, **stags):
            return deed(SEND, iser(stream, old=old, **stags), hold)

        c = Commands()
        settle = b"".join(say(c.read(cdb, 96), read=FIRST) for cdb in SETTLE)
        script = (say(c.read(cdb10(0x28, 0, 8), 4096), read=FIRST)
                  + say(c.write(cdb10(0x2A, 0, 8), 4096, b"i" * 512), write=FIRST)
                  + say(c.write(cdb10(0x2A, 0, 4), 2048, final=False), write=FIRST)
                  + say(c.data_out(b"u" * 1024))
                  + say(c.ping()) + say(c.ask("SendTargets=All|")) + say(c.manage(5)) + say(c.log_out()))
        write("fuzz_iser", "commands" + name, bytes([flags, 0]) + greeting + settle + script)
        c = Commands()
        settle = b"".join(say(c.read(cdb, 96), read=FIRST) for cdb in SETTLE)
        script = (say(c.write(cdb10(0x2A, 0, 8), 4096), True, write=FIRST)
                  + say(c.read(cdb10(0x28, 0, 16), 8192), True, read=FIRST)
                  + say(c.manage(1, c.itt - 2)) + say(c.manage(2)) + say(c.manage(8, c.itt - 3), write=FIRST)
                  + deed(ACT, b"\2") + deed(ACT, b"\1") + say(c.write(cdb10(0x2A, 0, 8), 4096), True, write=FIRST)
                  + deed(REVOKE) + deed(WAIT, b"\x1f") + deed(ACT, b"\0") + deed(DISCONNECT))
        for more in (0, 1, 4, 16):
            write("fuzz_iser", f"aborts{name}_{more}", bytes([flags | (32 if more == 1 else 0), more]) + greeting + settle + script)
    for number, last in enumerate((deed(DISCONNECT), deed(ACT, b"\3", barely=True), deed(REVOKE), b"")):
        c = Commands()
        waiting = b"".join(deed(SEND, iser(c.read(cdb, 96), read=FIRST)) for cdb in SETTLE)
        waiting += deed(SEND, iser(c.write(cdb10(0x2A, 0, 64), 32768), write=FIRST), barely=True)
        waiting += deed(SEND, iser(c.manage(1, c.itt - 1)), hold=True)
        waiting += deed(SEND, iser(c.write(cdb10(0x2A, 0, 64), 32768), write=FIRST), barely=True)
        write("fuzz_iser", f"waiting_{number}", bytes([1 | NO_INVALIDATE, 4 | 1]) + waiting + last + deed(WAIT, b"\1"))
    c = Commands()
    write("fuzz_iser", "bidirectional", bytes([1 | NO_INVALIDATE, 0])
          + b"".join(deed(SEND, iser(c.read(cdb, 96), read=FIRST)) for cdb in SETTLE)
          + deed(SEND, iser(c.scsi([0x53], 0xE0, 512, b"b" * 512, ahs=struct.pack(">HBBI", 5, 2, 0, 1024)),
                            write=FIRST, read=FIRST)))
    c = Commands()
    write("fuzz_iser", "hello_to_target", bytes([1 | 8, 4]) + deed(SEND, hello(2, 10, 1, 28))
          + deed(SEND, iser(c.read(INQUIRY, 96), read=FIRST)) + deed(SEND, iser(c.write(cdb10(0x2A, 0, 1), 512), write=FIRST)))
    c = Commands()
    reads = b"".join(deed(SEND, iser(c.read(cdb, 96), read=(n + 1 << 16) + n)) for n, cdb in enumerate(SETTLE))
    write("fuzz_iser", "invalidates", bytes([1, 0]) + reads
          + deed(SEND, iser(c.write(cdb10(0x2A, 0, 8), 4096), write=(4 << 16) + 3))
          + deed(SEND, iser(c.read(cdb10(0x28, 0, 8), 4096), read=(5 << 16) + 4)))
    login = login_request(1, 3, NAMES + TARGET + ISER.replace("iSERHelloRequired=Yes|", ""))
    for flags in (1 | 4, 1 | 2 | 4):
        c = Commands()
        write("fuzz_iser", f"login_to_target_{flags}", bytes([flags, 0])
              + deed(SEND, iser(login, old=bool(flags & 2)))
              + (deed(SEND, hello(2, 1, 8, 12)) if flags & 2 else b"")
              + deed(SEND, iser(c.read(INQUIRY, 96), read=FIRST, old=bool(flags & 2))) + deed(SEND, iser(c.log_out(), old=bool(flags & 2))))
    # To an initiator: a task's STags are the first regions of its end. They are learnt from the
    # order of registration: the nth is n << 16 plus its slot.
    sense = bytes([0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0])
    for old in (False, True):
        a = Answers()

        def answer(stream, invalidate=None):
            message = iser(stream, old=old)
            return deed(SEND, message) if invalidate is None else deed(SEND_INVALIDATE, words(invalidate) + message)

        greeting = deed(SEND, hello(3, 1, 8, 12)) if old else b""
        script = (deed(ACT, b"\0") + deed(ACT, b"\1") + deed(ACT, b"\3") + deed(ACT, b"\2")
                  + deed(WRITE, words(0x10000) + b"\0\0" + b"d" * 512) + deed(READ, words(0x20001) + b"\0\0\x10\0")
                  + answer(a.response(0), 0x10000) + answer(a.response(1), 0x20001)
                  + answer(a.response(3, 2, sense)) + answer(a.response(2))
                  + deed(ACT, b"\6") + answer(a.other(0x20, other_tag(1), data=b"ping"))
                  + answer(a.other(0x20, RESERVED, ttt=9, counts=False))
                  + answer(a.other(0x32, RESERVED, tail=words(0) + bytes([0, 0]) + bytes(6), data=b"\0\x12" + sense))
                  + deed(ACT, b"\x08") + answer(a.other(0x26, other_tag(2))))
        for more in (0, 1, 16):
            write("fuzz_iser", f"to_initiator_{int(old)}_{more}",
                  bytes([(2 if old else 0) | (64 if more == 16 else 0), more]) + greeting + script)
        a = Answers()
        write("fuzz_iser", f"aborts_to_initiator_{int(old)}", bytes([(2 if old else 0) | 32, 0]) + greeting
              + deed(ACT, b"\0") + deed(ACT, b"\1") + deed(ACT, b"\1") + deed(ACT, b"\4") + deed(ACT, b"\x14")
              + deed(ACT, b"\x55") + answer(a.other(0x22, other_tag(1))) + answer(a.other(0x22, other_tag(2)))
              + answer(a.other(0x3F, RESERVED, b2_3=b"\4\0", data=Commands().scsi([0])))
              + answer(a.response(2)))
    write("fuzz_iser", "hello_to_initiator", bytes([8, 0]) + deed(SEND, hello(3, 10, 4, 28)) + deed(ACT, b"\0"))
    write("fuzz_iser", "login_to_initiator", bytes([4, 0])
          + deed(SEND, iser(login_response(0, 1, SECURITY_ANSWERS, tsih=0)))
          + deed(SEND, iser(login_response(1, 3, ISER_ANSWERS, stat_sn=1)))
          + deed(ACT, b"\0") + deed(SEND, iser(Answers().response(0))))


# --- configuration -----------------------------------------------------------------------------


def make_config():
    for path in sorted((ROOT / "config/samples").glob("*.yaml")) + [ROOT / "config/quickstart.yaml"]:
        write("fuzz_config", path.stem, path.read_bytes())
    write("fuzz_config", "flow", b'{portals: [":0"], targets: [{name: iqn.2026-11.a:b, luns: [{lun: 0, null: 1M}]}]}')
    write("fuzz_config", "wrong", b"portals: {a: b}\ntargets:\n  - name: x\n    luns: 3\nlimits: {threads: -1}\nz: &a [*a]\n")


if __name__ == "__main__":
    shutil.rmtree(HERE / "corpus", ignore_errors=True)
    make_target()
    make_initiator()
    make_login()
    make_iwarp()
    make_iser()
    make_config()
