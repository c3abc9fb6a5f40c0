# What tshark makes of our own target and initiator on loopback: no malformed FPDU, every FPDU's CRC good, markers on and off.
. "$(dirname "$0")/lib.sh"
requires tshark tcpdump python3
requires_root

# Left to guess, tshark takes a stream for something else altogether once a payload looks like it, and some Sends for NFS.
only_iwarp=(--disable-protocol rpcordma)
while read -r protocol; do only_iwarp+=(--disable-protocol "$protocol"); done \
    < <(tshark -G heuristic-decodes 2>/dev/null | awk -F '\t' '$1 == "tcp" && $2 != "iwarp_mpa" { print $2 }')

# tcpdump has written all it saw once the file no longer grows.
settled() {
    local before
    before=$(stat -c %s "$1")
    sleep 0.3
    [[ $before -gt $size && $(stat -c %s "$1") -eq $before ]]
}

# capture NAME QUERY SIZE INITIATOR: cp to the LUN and back under tcpdump; sets fpdus and at_marker. Returns 1 where the capture lost a
# packet, which on a busy machine happens without tcpdump's counters showing it: such a capture says nothing about us.
capture() {
    local name=$1 query=$2 size=$3 initiator=$4 tcpdump_pid
    head -c "$size" /dev/urandom >"$work/data"
    : >"$work/tcpdump.log"
    tcpdump -i lo -s 0 -B 65536 --immediate-mode -U -w "$work/$name.pcap" "tcp port $target_port" 2>"$work/tcpdump.log" &
    tcpdump_pid=$!
    wait_for 10 grep -q listening "$work/tcpdump.log" || fail "tcpdump does not start: $(cat "$work/tcpdump.log")"
    iser cp --initiator-name "$initiator" "$work/data" "iser://$portal/$iqn/0?$query" >/dev/null || fail "$name: cp to the LUN"
    iser cp --initiator-name "$initiator" --size "$size" "iser://$portal/$iqn/0?$query" "$work/back" >/dev/null || fail "$name: cp from the LUN"
    cmp "$work/data" "$work/back" || fail "$name: data differs"
    wait_for 20 settled "$work/$name.pcap" || fail "$name: tcpdump does not come to an end"
    kill -INT "$tcpdump_pid"
    wait "$tcpdump_pid" || true
    python3 "$(dirname "$0")/fpdu_per_packet.py" "$work/$name.pcap" "$work/$name.cut.pcap" "$target_port" \
        >"$work/counts" 2>"$work/counts.err" || {
        grep -q 'has a hole' "$work/counts.err" || fail "$name: $(cat "$work/counts.err")"
        return 1
    }
    read -r fpdus at_marker <"$work/counts"
}

# judge NAME: every FPDU dissected, every CRC good
judge() {
    local name=$1 good bad malformed wrong operation
    tshark -r "$work/$name.cut.pcap" "${only_iwarp[@]}" -V 2>/dev/null >"$work/$name.txt"
    good=$(grep -c 'CRC check: 0x.*Good CRC32' "$work/$name.txt" || true)
    bad=$(grep -c 'CRC check: 0x.*Bad CRC32' "$work/$name.txt" || true)
    malformed=$(grep -c -i 'malformed' "$work/$name.txt" || true)
    wrong=$(grep -c -E 'Bad length|does not contain the expected' "$work/$name.txt" || true)
    echo "$name: $fpdus FPDUs, $good good CRCs, $bad bad, $malformed malformed, $wrong wrong"
    [[ $fpdus -gt 40 && $good -eq $fpdus && $bad -eq 0 && $malformed -eq 0 && $wrong -eq 0 ]] || fail "$name: tshark objects"
    for operation in 'Write' 'Read Request' 'Read Response' 'Send' 'Send with'; do
        grep -q "OpCode: .*$operation" "$work/$name.txt" || fail "$name: no $operation was seen"
    done
}

declare -A markers_size=([no]=3145728 [yes]=131072)
for markers in no yes; do
    config_with_luns "lun: 0, memory: 16MiB"
    # For markers in both directions each side has to ask.
    [[ $markers == no ]] || echo "rdma: {markers: true}" >>"$work/target.yaml"
    start_target
    for wire in "wire=rdma-first" "wire=stream-first&rfc=7145" "wire=stream-first&rfc=5046"; do
        name=${wire//[&=]/-}-markers-$markers
        # Some sizes of data and of the login have an FPDU that tshark cannot take (see fpdu_per_packet.py); there are enough
        # that have none.
        size=$((markers_size[$markers]))
        fpdus=0 initiator=iqn.2026-11.org.example:tshark
        for _ in {1..16}; do
            capture "$name" "$wire&markers=$markers" "$size" "$initiator" || continue
            [[ $at_marker -gt 0 ]] || break
            size=$((size + 8704)) initiator+=-judge
        done
        [[ $fpdus -gt 0 ]] || fail "$name: no capture of 16 was whole"
        judge "$name"
    done
    stop_target
    unset target_port
done
