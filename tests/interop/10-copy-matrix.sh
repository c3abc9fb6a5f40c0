# 1 GiB of random bytes to a LUN and back over every wire, with markers and CRC on and off where the wire has them.
. "$(dirname "$0")/lib.sh"
size=${COPY_SIZE:-1073741824}
config_with_luns "lun: 0, memory: $size"
start_target
head -c "$size" /dev/urandom >"$work/data"
want=$(sum_of "$work/data")

round_trip() {
    local to=$1
    iser cp "$work/data" "$to" >"$work/out" || fail "cp to $to"
    iser cp "$to" "$work/back" >>"$work/out" || fail "cp from $to"
    [[ $(sum_of "$work/back") == "$want" ]] || fail "$to: what comes back differs"
    rm -f "$work/back"
    # Nothing of this round may make the next one look good.
    iser scsi "$to" "93 00 0000000000000000 00000000 00 00" --out "$work/zeroes" >/dev/null || fail "cannot zero $to"
    printf '%-100s equal; %s\n' "$to" "$(tail -n 1 "$work/out")"
}
head -c 512 /dev/zero >"$work/zeroes"

round_trip "iscsi://$portal/$iqn/0"
for wire in "wire=rdma-first" "wire=stream-first&rfc=7145" "wire=stream-first&rfc=5046"; do
    for markers in no yes; do
        for crc in yes no; do round_trip "iser://$portal/$iqn/0?$wire&markers=$markers&crc=$crc"; done
    done
done
stop_target
