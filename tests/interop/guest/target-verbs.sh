# Others' initiators by RDMA devices against our target by verbs, all on one address of this guest: Linux's ib_iser and libiscsi.
# variants: siw rxe
variant=$1
. ./lib.sh
target_net=$kernel_net
url=iser://$kernel_ip:$port/$iqn

setup() {
    links
    load_rdma "$variant"
    write_target_yaml <<Y
portals: [{address: "$kernel_ip:$port", transport: verbs}]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 256MiB}
      - {lun: 1, memory: 64MiB}
Y
    start_target
    start_iscsid
    log_in iser "$kernel_ip"
}
discovered() {
    iscsiadm -m discovery -t st -p "$kernel_ip" -I iser -o nonpersistent | grep -x "$kernel_ip:$port,1 $iqn"
}
over_verbs() { grep "logged in to $iqn, verbs" /out/target.log; }
lun_reset() {
    local before
    before=$(tmf_requests)
    lun_reset_test "$(disk_of 1)"
    [[ $(tmf_requests) -gt $before ]] || fail "no task management request was sent"
}

# ---- libiscsi

inquiry() {
    iscsi-inq "$url/0" | tee /run/inq
    grep -q 'Vendor:openiser' /run/inq
    iscsi-inq -e 1 -c 0x83 "$url/0"
}
capacity() { iscsi-readcapacity16 "$url/1" | grep 'RETURNED LOGICAL BLOCK ADDRESS:131071'; }
# swp 0|1: Linux sets it, libiscsi reads it. Over iSER libiscsi 1.19 sends MODE SELECT without its parameter list, and crashes: the message
# is shorter than it says, and so LIO and we end the connection.
swp() {
    sg_raw -r 16 -o /run/page "$(sg_of 1)" 1a 08 0a 00 10 00
    python3 - "$1" <<'P'
import sys
page = bytearray(open("/run/page", "rb").read())
page[0] = 0
page[8] = page[8] & ~8 | 8 * int(sys.argv[1])
open("/run/page", "wb").write(page)
P
    sg_raw -s 16 -i /run/page "$(sg_of 1)" 15 10 00 00 10 00
    iscsi-swp "$url/1" | grep -x "SWP:$1"
}
write_protection() {
    swp 1
    swp 0
}
performance() {
    iscsi-perf -t 2 -b 8 -m 8 "$url/1" | tee /run/perf
    tr '\r' '\n' </run/perf | grep 'iops average [1-9]'
}

cells() {
    cell discovery-iser discovered
    cell over-verbs over_verbs
    cell ext4 eval 'file_system_test ext4 "$(disk_of 0)"'
    cell sizes eval 'sizes_test "$(disk_of 1)"'
    cell blocks eval 'blocks_test "$(disk_of 1)"'
    cell trim eval 'trim_test "$(disk_of 0)" /dev/shm/lun0'
    cell bad-lba eval 'bad_lba_test "$(sg_of 1)"'
    cell lun-reset lun_reset
    cell libiscsi-inq inquiry
    cell libiscsi-readcapacity16 capacity
    cell libiscsi-swp write_protection
    cell libiscsi-perf performance
    cell logout log_out
}
main
