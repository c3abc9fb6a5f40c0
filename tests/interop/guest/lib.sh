# For the scripts that run in the guest. A script defines setup(), which brings up what its cells stand on, and cells(), which
# names them, sources this file and ends with: main "$@"
#
#   cell NAME COMMAND...   a test: it passes if COMMAND succeeds, run by `set -e` in a shell of its own (so what it sets does
#                          not last; files do). `skip WHY` and `fail WHY` end it.
#
# The kernel's side is the guest's own network; ours lives in the namespace `peer`. They meet on two links:
#   kernel 10.9.1.1 -- 10.9.1.2 peer        and        kernel 10.9.2.1 -- 10.9.2.2 peer

set -uo pipefail
iqn=iqn.2026-11.org.example:test
initiator_iqn=iqn.2026-11.org.example:guest
kernel_ip=10.9.1.1 peer_ip=10.9.1.2 kernel_ip2=10.9.2.1 peer_ip2=10.9.2.2
port=3260
# Where our programs run: `peer`, or the kernel's own side.
peer_net=/run/netns/peer kernel_net=/proc/1/ns/net
target_net=$peer_net initiator_net=$peer_net
cell_limit=${CELL_LIMIT:-240} # seconds
export OPENISER_RUN_DIR=/run/open-iser

fail() { echo "FAILED: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# wait_for SECONDS COMMAND...
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [[ $SECONDS -lt $end ]] || return 1
        sleep 0.1
    done
}

# ---- cells

report() { printf '%s\t%s\t%s\t%s\n' "$@" >>/out/cells; }
# run_limited LOG COMMAND...
run_limited() {
    local log=$1 pid end=$((SECONDS + cell_limit))
    shift
    set -m
    (set -e; trap - EXIT; "$@") >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    while kill -0 "$pid" 2>/dev/null; do
        if [[ $SECONDS -ge $end ]]; then
            echo "FAILED: not done within $cell_limit s" >>"$log"
            { ps axwwo pid,stat,wchan:24,args | grep -v '\[.*\]$'; dmesg | tail -n 40; } >>"$log" 2>&1
            kill -KILL -- "-$pid" 2>/dev/null
            return 1
        fi
        sleep 0.1
    done
    wait "$pid"
}
start_sniffer() {
    tcpdump -i any -s 0 -B 65536 -U -w "$1" tcp >/dev/null 2>/run/sniffer.log &
    echo $! >/run/sniffer.pid
    wait_for 30 grep -q 'listening on' /run/sniffer.log
}
sniffer_gone() { ! kill -0 "$(cat /run/sniffer.pid)" 2>/dev/null; }
# Idle and told to end, tcpdump may go on waiting for a packet.
stop_sniffer() {
    sleep 1
    kill -INT "$(cat /run/sniffer.pid)"
    wait_for 10 sniffer_gone || kill -KILL "$(cat /run/sniffer.pid)"
}
# Of programs built with sanitizers, each writes its reports to a file of its own.
export ASAN_OPTIONS=log_path=/out/sanitizer UBSAN_OPTIONS=log_path=/out/sanitizer:print_stacktrace=1
sanitizers_are_content() {
    local report
    report=$(compgen -G '/out/sanitizer.*' | head -n 1)
    [[ -n $report ]] || return 0
    head -n 60 "$report"
    for report in /out/sanitizer.*; do mv "$report" "/out/report-${report##*.}"; done
    echo "FAILED: a sanitizer complains: report-${report##*.}"
    return 1
}
cell() {
    local name=$1 start=$SECONDS status=0 log=/out/$1.log
    shift
    if [[ -n ${LIST:-} ]]; then
        echo "$name"
        return
    fi
    # shellcheck disable=SC2053  # patterns are meant
    [[ -z ${CELLS:-} || $name == $CELLS || $name == setup ]] || return 0
    [[ -z ${PCAP:-} ]] || start_sniffer "/out/$name.pcap"
    # No `||` from here up to main(): bash would ignore `set -e` in all that is called.
    run_limited "$log" "$@"
    status=$?
    [[ -z ${PCAP:-} ]] || stop_sniffer
    sanitizers_are_content >>"$log" || status=1
    case $status in
        0) report "$name" passed $((SECONDS - start)) "" ;;
        77) report "$name" skipped $((SECONDS - start)) "$(tail -n 1 "$log" | sed 's/^skipped: //')" ;;
        *) report "$name" FAILED $((SECONDS - start)) "$(grep -a '^FAILED' "$log" | tail -n 1 || true)" ;;
    esac
    return "$status"
}
main() {
    if [[ -n ${LIST:-} ]]; then
        cells
        exit
    fi
    ulimit -l unlimited # what devices may reach is locked; siw counts root's memory too
    : >/out/cells
    cell setup setup
    [[ $? == 0 ]] || exit 1
    cells
    dmesg >/out/dmesg.log
    rm -rf "$OPENISER_RUN_DIR"
    cut -f 2 /out/cells | grep -q FAILED && exit 1
    exit 0
}

# ---- networks and devices

# links [MTU]: both links between the kernel's side and `peer`
links() {
    local n mtu=${1:-9000}
    ip link set lo up
    ip netns add peer
    ip -n peer link set lo up
    for n in 1 2; do
        ip link add "kernel$n" mtu "$mtu" type veth peer name "peer$n" mtu "$mtu" netns peer
        ip addr add "10.9.$n.1/24" dev "kernel$n"
        ip -n peer addr add "10.9.$n.2/24" dev "peer$n"
        ip link set "kernel$n" up
        ip -n peer link set "peer$n" up
    done
}
# Not `ip netns exec`: that keeps a copy of every mount, and a disk mounted at the time stays in use after its unmounting.
in_net() { nsenter --net="$1" "${@:2}"; }
in_peer() { in_net "$peer_net" "$@"; }

# load_siw VARIANT: a soft-iWARP device on each link's kernel side
load_siw() {
    modprobe -a ib_uverbs rdma_ucm iw_cm libcrc32c
    insmod "/lib/modules/siw/$1.ko"
    rdma link add siw1 type siw netdev kernel1
    rdma link add siw2 type siw netdev kernel2
}

# load_rdma siw|rxe: such a device on each link's kernel side. Both are reached from that side alone: rxe knows no other network namespace,
# and so both ends are there. The modules come in either order: a device that is removed is first taken from the one loaded last, be that
# the connection manager, which tells its users, or not.
load_rdma() {
    local n
    [[ $1 == rxe ]] || { load_siw stock; return; }
    modprobe -a rdma_cm ib_uverbs rdma_ucm rdma_rxe
    for n in 1 2; do rdma link add "rxe$n" type rxe netdev "kernel$n"; done
}

# ---- our target, in `peer` or where target_net says

# write_target_yaml: what start_target serves, from standard input
write_target_yaml() { cat >/run/target.yaml; }
target_pid() { cat /run/target.pid; }
target_listens() {
    kill -0 "$(target_pid)" 2>/dev/null || { tail -n 20 /out/target.log; fail "the target ended while starting"; }
    [[ $(tail -n +"$(cat /run/target.log.start)" /out/target.log | grep -c 'listening on') -ge $(grep -c . /run/portals) ]]
}
start_target() {
    local line
    [[ -f /out/target.log ]] || : >/out/target.log
    line=$(wc -l </out/target.log)
    echo $((line + 1)) >/run/target.log.start
    sed -n '/^portals: /p' /run/target.yaml | grep -oE '"[^"]+"' >/run/portals
    # exec, so that the process whose id is kept is the target itself
    (exec nsenter --net="$target_net" "$BIN/iser-targetd" --config /run/target.yaml) 2>>/out/target.log </dev/null &
    echo $! >/run/target.pid
    wait_for 30 target_listens
}
target_gone() { ! kill -0 "$(target_pid)" 2>/dev/null; }
stop_target() {
    kill -TERM "$(target_pid)"
    wait_for 60 target_gone
}
kill_target() {
    kill -KILL "$(target_pid)"
    wait_for 30 target_gone
}

# ---- the kernel's initiator, by open-iscsi

start_iscsid() {
    modprobe -a sd_mod sg iscsi_tcp ib_iser crc32c
    mkdir -p /run/lock/iscsi /var/lib/iscsi /etc/iscsi/nodes
    echo "InitiatorName=$initiator_iqn" >/etc/iscsi/initiatorname.iscsi
    iscsid
    wait_for 10 pidof iscsid >/dev/null
}
# log_in TRANSPORT IP [SETTING=VALUE...]: TRANSPORT is iser or tcp
log_in() {
    local iface=default portal=$2:$port setting
    [[ $1 == tcp ]] || iface=iser
    shift 2
    iscsiadm -m node -o new -T "$iqn" -p "$portal,1" -I "$iface"
    for setting in "$@"; do
        iscsiadm -m node -T "$iqn" -p "$portal" -I "$iface" -o update -n "${setting%%=*}" -v "${setting#*=}"
    done
    iscsiadm -m node -T "$iqn" -p "$portal" -I "$iface" -l
}
log_out() {
    iscsiadm -m node -u
    iscsiadm -m node -o delete
    wait_for 20 no_session
}
no_session() { ! compgen -G '/sys/class/iscsi_session/session*' >/dev/null; }
# disk_of LUN [SESSION_GLOB]: prints /dev/sdX
disk_path() { compgen -G "/sys/class/iscsi_session/${2:-session*}/device/target*/*:*:*:$1/block/sd*" | tail -n 1; }
has_disk() { [[ -n $(disk_path "$@") && -b /dev/$(basename "$(disk_path "$@")") ]]; }
disk_of() {
    wait_for 30 has_disk "$@" || fail "no disk for LUN $1"
    echo "/dev/$(basename "$(disk_path "$@")")"
}
# sg_of LUN [SESSION_GLOB]: prints /dev/sgN
sg_of() { echo "/dev/$(basename "$(compgen -G "/sys/block/$(basename "$(disk_of "$@")")/device/scsi_generic/sg*")")"; }
# tmf_requests: how many task management requests the sessions have sent
tmf_requests() { iscsiadm -m session -s | awk '$1 == "tmfcmd_pdus:" { n += $2 } END { print n + 0 }'; }
session_negotiated() { iscsiadm -m session -P 3; }

# ---- LIO, the kernel's target

lio=/sys/kernel/config/target
# lio_target SIZE: LUN 0 on a file, open to every initiator
lio_target() {
    local disk=$lio/core/fileio_0/disk tpg=$lio/iscsi/$iqn/tpgt_1 attribute
    mkdir -p /etc/target
    modprobe -a target_core_mod target_core_file iscsi_target_mod
    mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
    mkdir -p "$disk"
    truncate -s "$1" /dev/shm/lio.img
    echo "fd_dev_name=/dev/shm/lio.img,fd_dev_size=$(stat -c %s /dev/shm/lio.img)" >"$disk/control"
    echo 1 >"$disk/enable"
    for attribute in emulate_tpu emulate_tpws; do echo 1 >"$disk/attrib/$attribute"; done
    # Without a serial number LIO has no VPD pages.
    echo 0123456789abcdef >"$disk/wwn/vpd_unit_serial"
    mkdir -p "$tpg/lun/lun_0"
    ln -s "$disk" "$tpg/lun/lun_0/port"
    echo 0 >"$tpg/attrib/authentication"
    echo 1 >"$tpg/attrib/generate_node_acls"
    echo 0 >"$tpg/attrib/demo_mode_write_protect"
    echo 1 >"$tpg/enable"
}
lio_tcp_portal() { mkdir -p "$lio/iscsi/$iqn/tpgt_1/np/$1:$2"; }
# lio_iser_portal IP PORT. LIO first opens a plain portal of that address in the caller's network namespace, and the same TCP
# port is what iWARP listens on; so the plain one is put out of the way.
lio_iser_portal() {
    modprobe ib_isert
    if [[ ! -e /run/netns/away ]]; then
        ip netns add away
        ip -n away link set lo up
    fi
    ip -n away addr replace "$1/32" dev lo
    nsenter --net=/run/netns/away mkdir -p "$lio/iscsi/$iqn/tpgt_1/np/$1:$2"
    echo 1 >"$lio/iscsi/$iqn/tpgt_1/np/$1:$2/iser"
}

# ---- work on a disk

# tree: a source tree to copy: this project's own
tree=$(cd ../../.. 2>/dev/null && pwd || true)
copy_tree() { # copy_tree DIR
    (cd "$tree" && tar -c base rdmap iscsi iser config target initiator README.md) | tar -x -C "$1"
}
tree_sum() { (cd "$1" && find . -type f -not -path './lost+found/*' -print0 | sort -z | xargs -0 sha256sum) | sha256sum; }

# file_system_test TYPE DISK: mkfs, a tree with fsync, trim, remount, compare, fsck
file_system_test() {
    local type=$1 disk=$2 before
    mkdir -p /mnt
    case $type in
        ext4) mkfs.ext4 -q -F "$disk" ;;
        xfs) mkfs.xfs -q -f "$disk" ;;
    esac
    modprobe "$type"
    mount -t "$type" "$disk" /mnt
    copy_tree /mnt
    sync -f /mnt/README.md
    rm -r /mnt/target
    fstrim -v /mnt
    before=$(tree_sum /mnt)
    umount /mnt
    blockdev --flushbufs "$disk"
    mount -t "$type" "$disk" /mnt
    [[ $(tree_sum /mnt) == "$before" ]] || fail "$type: the tree differs after a remount"
    umount /mnt
    case $type in
        ext4) fsck.ext4 -f -n "$disk" ;;
        xfs) xfs_repair -n "$disk" ;;
    esac
}
# sizes_test DISK: 512 B to 1 MiB at several depths, each block's content checked by fio
sizes_test() {
    local size depth
    local -A bytes=([512]=64k [4k]=512k [64k]=2m [1m]=8m)
    for size in 512 4k 64k 1m; do
        for depth in 1 8 32; do
            fio --name="$size-$depth" --filename="$1" --rw=randwrite --bs="$size" --iodepth="$depth" --ioengine=libaio --direct=1 \
                --size=16m --io_size="${bytes[$size]}" --verify=crc32c --verify_fatal=1 --do_verify=1 \
                --minimal >/dev/null || fail "blocks of $size at depth $depth"
        done
    done
}
# blocks_test DISK: blocks around the sizes at which data goes with the command, unasked or asked for; compared past the page cache
blocks_test() {
    local size
    for size in 512 8192 65536 69632 1048576; do
        head -c $((size * 3)) /dev/urandom >/dev/shm/written
        dd if=/dev/shm/written of="$1" bs="$size" seek=5 oflag=direct conv=notrunc status=none
        dd if="$1" bs="$size" skip=5 count=3 iflag=direct status=none | cmp - /dev/shm/written || fail "blocks of $size"
    done
}
# trim_test DISK FILE: what fstrim gives back leaves the target's file; what is discarded reads as zeros
trim_test() {
    local disk=$1 file=$2 full left
    mkdir -p /mnt
    mkfs.ext4 -q -F -E nodiscard "$disk"
    modprobe ext4
    mount -t ext4 "$disk" /mnt
    head -c 32M /dev/urandom >/mnt/big
    sync -f /mnt/big
    full=$(stat -c %b "$file")
    rm /mnt/big
    sync -f /mnt
    fstrim -v /mnt
    umount /mnt
    fsck.ext4 -f -n "$disk"
    left=$(stat -c %b "$file")
    [[ $left -le $((full - 31 * 2048)) ]] || fail "of $full sectors of the file $left are left"
    head -c 1M /dev/urandom | dd of="$disk" bs=1M iflag=fullblock oflag=direct status=none
    blkdiscard -o 0 -l 1M "$disk"
    dd if="$disk" bs=1M count=1 iflag=direct status=none | cmp -n 1048576 - /dev/zero || fail "what was discarded is not zeros"
}
sense_of() { # sense_of KEY WORDS SG_RAW_ARGUMENT...: the command must fail with them
    local key=$1 words=$2 answer
    shift 2
    answer=$(sg_raw "$@" 2>&1) && fail "$* succeeds"
    echo "$*: $answer"
    [[ $answer == *"$key"* && $answer == *"$words"* ]] || fail "$*: not $key, $words"
}
# bad_lba_test SG: of a LUN of 131072 blocks of 512 bytes the last one is read, and none behind it is read or written
bad_lba_test() {
    local sg=$1 range="Logical block address out of range"
    sg_raw -r 512 "$sg" 28 00 00 01 ff ff 00 00 01 00 >/dev/null # the last block
    sense_of "Illegal Request" "$range" -r 512 "$sg" 28 00 00 02 00 00 00 00 01 00
    sense_of "Illegal Request" "$range" -r 1k "$sg" 88 00 00 00 00 00 00 01 ff ff 00 00 00 02 00 00
    sense_of "Illegal Request" "$range" -r 512 "$sg" 88 00 ff ff ff ff ff ff ff ff 00 00 00 01 00 00
    sense_of "Illegal Request" "$range" -s 512 -i /dev/zero "$sg" 2a 00 00 02 00 00 00 00 01 00
    sense_of "Illegal Request" "$range" -s 64k -i /dev/zero "$sg" 8a 00 00 00 00 00 00 01 ff f0 00 00 00 80 00 00
    sense_of "Illegal Request" "Invalid command operation code" "$sg" c1 00 00 00 00 00
    sg_raw -r 512 "$sg" 28 00 00 01 ff ff 00 00 01 00 >/dev/null
}
# fio_verified DISK ARGUMENT...: random writes, and at the end every block's content is checked
fio_verified() {
    fio --name=verified --filename="$1" --rw=randwrite --bs=16k --iodepth=16 --ioengine=libaio --direct=1 --verify=crc32c \
        --verify_fatal=1 --do_verify=1 "${@:2}"
}
# lun_reset_test DISK: resets while fio writes as fast as it can, which the kernel then repeats
lun_reset_test() {
    local n fio
    fio_verified "$1" --size=4m --time_based --runtime=6 &
    fio=$!
    for n in 1 2 3; do
        wait_for 30 writes_under_way "$1" || fail "fio wrote nothing"
        sg_reset -d "$1"
    done
    wait "$fio" || fail "fio met an error, or other data than it wrote"
}
writes_done() { awk '{ print $5 }' "/sys/block/$(basename "$1")/stat"; }
# wrote_more DISK COUNT: COUNT writes in all
wrote_more() { [[ $(writes_done "$1") -ge $2 ]]; }
writes_under_way() { [[ $(awk '{ print $9 }' "/sys/block/$(basename "$1")/stat") -gt 0 ]]; }

# ---- a store that stalls

# stallable_store NAME SIZE: /dev/mapper/NAME, for a LUN of our target
stallable_store() {
    local loop
    modprobe -a loop dm_mod
    truncate -s "$2" "/dev/shm/$1.img"
    loop=$(losetup --show -f "/dev/shm/$1.img")
    DM_DISABLE_UDEV=1 dmsetup create "$1" --table "0 $(blockdev --getsz "$loop") linear $loop 0"
}
kernel_says() { [[ $(dmesg | grep -c -E "$1") -gt ${2:-0} ]]; }
