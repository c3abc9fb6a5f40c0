# What tshark makes of our own target and initiator on loopback: no malformed FPDU, every MPA CRC good, markers on and off.
. "$(dirname "$0")/lib.sh"
requires tshark tcpdump
requires_root
config_with_luns "lun: 0, memory: 16MiB"
start_target
head -c 3M /dev/urandom >"$work/data"

# capture NAME KEY...: cp to the LUN and back under tcpdump
capture() {
    local name=$1 query=$2 tcpdump_pid
    tcpdump -i lo -s 0 -B 65536 -U -w "$work/$name.pcap" "tcp port $target_port" 2>"$work/tcpdump.log" &
    tcpdump_pid=$!
    wait_for 10 grep -q listening "$work/tcpdump.log" || fail "tcpdump does not start: $(cat "$work/tcpdump.log")"
    iser cp "$work/data" "iser://$portal/$iqn/0?$query" >/dev/null
    iser cp --size 3M "iser://$portal/$iqn/0?$query" "$work/back" >/dev/null
    cmp "$work/data" "$work/back" || fail "$name: data differs"
    kill -INT "$tcpdump_pid"
    wait "$tcpdump_pid" || true
    grep -q '^0 packets dropped by kernel' "$work/tcpdump.log" || fail "$name: the capture has holes: $(cat "$work/tcpdump.log")"
    local good bad malformed wrong
    tshark -r "$work/$name.pcap" -o iwarp_mpa.desegment:TRUE -V 2>/dev/null >"$work/$name.txt"
    good=$(grep -c 'CRC check: 0x.*Good CRC32' "$work/$name.txt" || true)
    bad=$(grep -c 'CRC check: 0x.*Bad CRC32' "$work/$name.txt" || true)
    malformed=$(grep -c -i 'malformed' "$work/$name.txt" || true)
    wrong=$(grep -c -E 'Bad length|NOT set to zero' "$work/$name.txt" || true)
    echo "$name: $good good CRCs, $bad bad, $malformed malformed, $wrong wrong"
    [[ $good -gt 50 && $bad -eq 0 && $malformed -eq 0 && $wrong -eq 0 ]] || fail "$name: tshark objects"
    grep -q 'OpCode: RDMA Write' "$work/$name.txt" || grep -q 'OpCode: Write' "$work/$name.txt" || fail "$name: no RDMA Write seen"
    grep -q 'OpCode: Read Request' "$work/$name.txt" || fail "$name: no RDMA Read Request seen"
}

capture rdma-first "wire=rdma-first"
capture rdma-first-markers "wire=rdma-first&markers=yes"
capture stream-first "wire=stream-first"
capture stream-first-markers "wire=stream-first&markers=yes"
capture rfc5046 "wire=stream-first&rfc=5046"
stop_target
