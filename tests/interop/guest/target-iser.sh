# Linux's own iSER initiator over siw against our target.
# variants: stock crc p2p
variant=$1
. ./lib.sh

setup() {
    case $variant in p2p) links 1500 ;; *) links 9000 ;; esac
    load_siw "$variant"
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 512MiB}
      - {lun: 1, memory: 64MiB}
Y
    start_target
    start_iscsid
    log_in iser "$peer_ip"
}
two_luns() {
    local disk
    for disk in "$(disk_of 0)" "$(disk_of 1)"; do blockdev --getsize64 "$disk"; done | paste -sd ' ' |
        grep -x '536870912 67108864'
}
cells() {
    cell two-luns two_luns
    cell ext4 eval 'file_system_test ext4 "$(disk_of 0)"'
    cell xfs eval 'file_system_test xfs "$(disk_of 0)"'
    cell sizes eval 'sizes_test "$(disk_of 1)"'
    cell logout log_out
}
main
