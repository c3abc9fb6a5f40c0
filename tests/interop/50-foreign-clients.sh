# Programs that others wrote, over plain iSCSI against iser-targetd: libiscsi's tools and QEMU's block driver.
. "$(dirname "$0")/lib.sh"
requires iscsi-ls iscsi-inq iscsi-readcapacity16 iscsi-swp iscsi-perf qemu-img qemu-io
config_with_luns "lun: 0, memory: 64MiB" "lun: 3, memory: 32MiB, block_size: 4096" "lun: 5, file: sparse, size: 64MiB"
start_target
plain=iscsi://$portal/$iqn

iscsi-ls -s "iscsi://$portal" >"$work/ls"
cat "$work/ls"
grep -q "$iqn" "$work/ls" || fail "iscsi-ls does not list the target"
grep -qi 'lun:0 ' "$work/ls" || fail "iscsi-ls does not list LUN 0"
grep -qi 'lun:3 ' "$work/ls" || fail "iscsi-ls does not list LUN 3"

iscsi-inq "$plain/0" | tee "$work/inq"
grep -q 'Vendor:openiser' "$work/inq" || fail "iscsi-inq: vendor"
for page in 0x00 0x80 0x83 0xb0 0xb1 0xb2; do
    iscsi-inq -e 1 -c "$page" "$plain/0" >"$work/vpd" || fail "iscsi-inq: VPD page $page"
done

iscsi-readcapacity16 "$plain/0" | tee "$work/capacity"
grep -q 'RETURNED LOGICAL BLOCK ADDRESS:131071' "$work/capacity" || fail "capacity of LUN 0"
iscsi-readcapacity16 "$plain/3" | grep -q 'LOGICAL BLOCK LENGTH IN BYTES:4096' || fail "block length of LUN 3"

head -c 64M /dev/urandom >"$work/image"
qemu-img convert -n -f raw -O raw "$work/image" "$plain/0"
qemu-img convert -f raw -O raw "$plain/0" "$work/back"
cmp "$work/image" "$work/back" || fail "qemu-img: what comes back differs"
iser cp "iser://$portal/$iqn/0" "$work/back2" >/dev/null
cmp "$work/image" "$work/back2" || fail "our initiator reads something else than QEMU wrote"
qemu-img convert -f raw -O qcow2 "$plain/0" "$work/image.qcow2"
qemu-img compare -f qcow2 -F raw "$work/image.qcow2" "$plain/0"

# GET LBA STATUS: where data is and where holes are
qemu-io -f raw -c 'write -P 0x5a 32M 1M' "$plain/5"
qemu-img map -f raw --output=json "$plain/5" | tee "$work/map"
grep -q '"start": 33554432, "length": 1048576, .*"zero": false, "data": true' "$work/map" ||
    fail "QEMU sees no data where it wrote"
[[ $(grep -c '"zero": true, "data": false' "$work/map") -eq 2 ]] || fail "QEMU should see a hole before and one behind"
qemu-io -f raw -c 'discard 32M 1M' "$plain/5"
qemu-io -f raw -c 'read -P 0 32M 1M' "$plain/5"
qemu-img map -f raw --output=json "$plain/5" | tee "$work/map"
! grep -q '"data": true' "$work/map" || fail "QEMU sees data where it discarded it"

# Software write protection
swp() { iscsi-swp "${@:2}" "$plain/0" >"$work/swp" 2>&1 || fail "iscsi-swp: $(cat "$work/swp")"; grep -qx "SWP:$1" <(iscsi-swp "$plain/0") || fail "SWP is not $1"; }
swp 0
swp 1 -s on
! qemu-io -f raw -c 'write -P 1 0 4096' "$plain/0" >"$work/error" 2>&1 || fail "a LUN is written that is write protected"
swp 0 -s off
qemu-io -f raw -c 'write -P 0x77 0 4096' "$plain/0"
qemu-io -f raw -c 'read -P 0x77 0 4096' "$plain/0"

# perf LUN OPTION...
perf() {
    iscsi-perf -t 2 "${@:2}" "$plain/$1" >"$work/perf" 2>&1 || fail "iscsi-perf: $(tail -n 3 "$work/perf")"
    grep -q 'iops average [1-9]' "$work/perf" || fail "iscsi-perf $* reads nothing: $(tail -n 3 "$work/perf")"
}
perf 0 -b 8 -m 16
perf 3 -b 16 -m 32 -r
stop_target
