# 1 GiB of random bytes to a LUN and back over every wire, with markers and CRC on and off where the wire has them.
. "$(dirname "$0")/lib.sh"
size=${COPY_SIZE:-1073741824}
config_with_luns "lun: 0, memory: $size"
# CRC is off only if neither side asks for it: the target leaves it to the initiator.
echo "rdma: {crc: false}" >>"$work/target.yaml"
start_target

round_trip() {
    local to=$1 want
    # Fresh data for each round: what an earlier one left would not do.
    head -c "$size" /dev/urandom >"$work/data"
    want=$(sum_of "$work/data")
    iser cp "$work/data" "$to" >"$work/out" || fail "cp to $to"
    iser cp "$to" "$work/back" >>"$work/out" || fail "cp from $to"
    [[ $(sum_of "$work/back") == "$want" ]] || fail "$to: what comes back differs"
    rm -f "$work/back"
    printf '%-100s equal; %s\n' "$to" "$(tail -n 1 "$work/out")"
}

round_trip "iscsi://$portal/$iqn/0"
for wire in "wire=rdma-first" "wire=stream-first&rfc=7145" "wire=stream-first&rfc=5046"; do
    for markers in no yes; do
        for crc in yes no; do
            lun="iser://$portal/$iqn/0?$wire&markers=$markers&crc=$crc"
            iser info "$lun" >"$work/info"
            grep -Eq "^ +crc +$crc" "$work/info" || fail "$lun: CRC is not $crc: $(grep crc "$work/info")"
            grep -Eq "^ +markers_received +$markers" "$work/info" || fail "$lun: markers are not $markers"
            round_trip "$lun"
        done
    done
done
stop_target
