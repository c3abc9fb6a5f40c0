# dm-multipath over two portals of one target: one path is iSER over siw on the first link, the other plain iSCSI on the second.
. ./lib.sh

settings=(
    node.session.timeo.replacement_timeout=2
    'node.conn[0].timeo.noop_out_interval=2' 'node.conn[0].timeo.noop_out_timeout=5'
)
setup() {
    links
    load_siw stock
    write_target_yaml <<Y
portals: ["$peer_ip:$port", "$peer_ip2:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, memory: 64MiB}
Y
    start_target
    start_iscsid
    start_multipathd
    log_in iser "$peer_ip" "${settings[@]}"
    log_in tcp "$peer_ip2" "${settings[@]}"
}
start_multipathd() {
    modprobe -a dm_multipath dm_round_robin
    cat >/etc/multipath.conf <<Y
defaults {
    find_multipaths no
    path_grouping_policy multibus
    path_selector "round-robin 0"
    path_checker tur
    polling_interval 1
    max_polling_interval 2
    failback immediate
    no_path_retry queue
}
Y
    /lib/systemd/systemd-udevd --daemon
    multipathd
    wait_for 30 multipathd show daemon
}
# disk_at IP: the disk of the session with that portal
disk_at() {
    local portal
    portal=$(grep -lx "$1" /sys/class/iscsi_connection/connection*/persistent_address)
    disk_of 0 "$(sed -E 's|.*/connection([0-9]+):.*|session\1|' <<<"$portal")"
}
both_disks() { iser_disk=$(disk_at "$peer_ip") tcp_disk=$(disk_at "$peer_ip2"); }
# paths_are ISER TCP: A for a path in use, F for one that failed, as dm-multipath has them
paths_are() {
    local status path
    status=$(dmsetup status --target multipath)
    for path in "$iser_disk $1" "$tcp_disk $2"; do
        [[ "$status " == *" $(cat "/sys/block/$(basename "${path% *}")/dev") ${path#* } "* ]] || return 1
    done
}
# naa_of DISK: the name of the logical unit in VPD page 83
naa_of() { sg_vpd -p di "$1" | sed -n 's/^ *0x\(6[0-9a-f]\{31\}\)$/\1/p'; }

one_map() {
    both_disks
    wait_for 60 paths_are A A || fail "no map with two paths: $(dmsetup status)"
    multipathd show topology | tee /run/topology
    [[ $(grep -c 'active ready running' /run/topology) -eq 2 ]] || fail "there should be two paths"
    [[ $(naa_of "$iser_disk") == "$(naa_of "$tcp_disk")" ]] || fail "the paths' VPD pages 83 name different units"
    [[ -b /dev/mapper/3$(naa_of "$iser_disk") ]] || fail "the map is not named after the unit"
    iscsiadm -m session | tee /run/sessions
    grep "^iser: .* $peer_ip:$port,1 $iqn" /run/sessions
    grep "^tcp: .* $peer_ip2:$port,1 $iqn" /run/sessions
}
map() { compgen -G '/dev/mapper/3*'; }
# written_over DISK: from now on
written_over() { wait_for 60 wrote_more "$1" $(($(writes_done "$1") + 20)) || fail "nothing is written over $1"; }

both_paths() {
    both_disks
    keep_writing &
    written_over "$iser_disk"
    written_over "$tcp_disk"
    stop_writing $!
}
# keep_writing: until stop_writing says so. What was written is read back and compared.
keep_writing() {
    while [[ ! -e /run/stop ]]; do
        fio_verified "$(map)" --iodepth=8 --size=8m --rate=2m >/run/fio.log 2>&1 || { cat /run/fio.log; return 1; }
    done
}
stop_writing() {
    touch /run/stop
    wait "$1" || fail "the writer met an error, or other data than it wrote"
    rm /run/stop
}

# links_lost N...: they go down while the disk is written to, and come up again; the writer sees nothing of it
links_lost() {
    local n iser=A tcp=A writer
    both_disks
    wait_for 60 paths_are A A || fail "not both paths are there at the start: $(dmsetup status)"
    keep_writing &
    writer=$!
    written_over "$iser_disk"
    for n in "$@"; do
        ip -n peer link set "peer$n" down
        [[ $n == 1 ]] && iser=F || tcp=F
    done
    wait_for 60 paths_are "$iser" "$tcp" || fail "the paths should be $iser $tcp: $(dmsetup status)"
    case $iser$tcp in
        FA) written_over "$tcp_disk" ;;
        AF) written_over "$iser_disk" ;;
    esac
    for n in "$@"; do ip -n peer link set "peer$n" up; done
    wait_for 100 paths_are A A || fail "a path does not come back: $(dmsetup status)"
    written_over "$iser_disk"
    written_over "$tcp_disk"
    stop_writing "$writer"
}
no_multipathd() { ! pidof multipathd; }
removed() {
    multipathd shutdown
    wait_for 30 no_multipathd
    udevadm settle
    wait_for 30 multipath -F # udev's own look at a disk just closed may still be under way
    log_out
}
cells() {
    cell one-map one_map
    cell both-paths both_paths
    cell iser-path-lost links_lost 1
    cell tcp-path-lost links_lost 2
    cell both-paths-lost links_lost 1 2
    cell logout removed
}
main
