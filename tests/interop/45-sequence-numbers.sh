# CmdSN, StatSN and ExpStatSN of a plain session, as tshark reads them (RFC 7143 section 4.2.2): peers are so lenient with them
# that a fault shows nowhere else.
. "$(dirname "$0")/lib.sh"
requires tshark tcpdump python3
requires_root

config_with_luns "lun: 0, memory: 16MiB"
start_target
: >"$work/tcpdump.log"
tcpdump -i lo -s 0 -B 65536 --immediate-mode -U -w "$work/plain.pcap" "tcp port $target_port" 2>"$work/tcpdump.log" &
tcpdump_pid=$!
cleanup_fn "kill $tcpdump_pid 2>/dev/null"
wait_for 10 grep -q listening "$work/tcpdump.log" || fail "tcpdump does not start: $(cat "$work/tcpdump.log")"
head -c 8M /dev/urandom >"$work/data"
iser cp "$work/data" "iscsi://$portal/$iqn/0" >/dev/null || fail "cp to the LUN"
iser ping "iscsi://$portal/$iqn/0" -c 3 >/dev/null || fail "ping"
stop_target
tcpdump_is_done() { tshark -r "$work/plain.pcap" -d "tcp.port==$target_port,iscsi" -Y 'iscsi.opcode == 0x26' 2>/dev/null | grep -c . | grep -qx 2; }
wait_for 20 tcpdump_is_done || fail "the capture has not the end of both sessions"
kill -INT "$tcpdump_pid"
wait "$tcpdump_pid" || true

# A line a PDU: stream, time, opcode, CmdSN, StatSN, ExpStatSN. PDUs that share a packet share a line of lists.
tshark -r "$work/plain.pcap" -d "tcp.port==$target_port,iscsi" -Y iscsi -T json -e tcp.stream -e iscsi.opcode -e iscsi.cmdsn -e iscsi.statsn \
    -e iscsi.expstatsn --no-duplicate-keys 2>/dev/null >"$work/pdus.json" || fail "tshark"
python3 - "$work/pdus.json" <<'PY' || fail "sequence numbers"
import json, sys

LOGOUT_REQUEST, RESPONSES = 0x06, {0x20, 0x21, 0x22, 0x23, 0x24, 0x26}
commands = responses = 0
last = {}  # of each stream: the StatSN and the CmdSN told last


def request(stream, opcode, cmd, exp):
    cmd_before = stream.setdefault("cmd", cmd)
    assert cmd - cmd_before in (0, 1), f"opcode {opcode:#x}: CmdSN {cmd:#x} after {cmd_before:#x}"
    stream["cmd"] = cmd
    stat = stream.get("stat", exp - 1)
    assert exp <= stat + 1, f"opcode {opcode:#x}: ExpStatSN {exp:#x} after StatSN {stat:#x}"
    # By then everything has been answered.
    assert opcode != LOGOUT_REQUEST or exp == stat + 1, f"at the logout ExpStatSN is {exp:#x} after StatSN {stat:#x}"


def response(stream, opcode, stat):
    before = stream.get("stat", stat - 1)
    assert stat == before + 1, f"opcode {opcode:#x}: StatSN {stat:#x} after {before:#x}"
    stream["stat"] = stat


for packet in json.load(open(sys.argv[1])):
    fields = {name: [int(v, 0) for v in values] for name, values in packet["_source"]["layers"].items()}
    stream = last.setdefault(fields["tcp.stream"][0], {})
    opcodes = fields["iscsi.opcode"]
    if opcodes[0] < 0x20:
        requests = [o for o in opcodes if o != 0x05]  # a Data-Out has no CmdSN
        exps = [e for o, e in zip(opcodes, fields.get("iscsi.expstatsn", [])) if o != 0x05]
        for numbers in zip(requests, fields.get("iscsi.cmdsn", []), exps):
            request(stream, *numbers)
            commands += 1
    else:
        for opcode, stat in zip(opcodes, fields.get("iscsi.statsn", [])):
            if opcode in RESPONSES:
                response(stream, opcode, stat)
                responses += 1
assert len(last) >= 2 and commands > 20 and responses > 20, (len(last), commands, responses)
print(f"{len(last)} sessions: {commands} requests and {responses} responses in order")
PY
