# Linux's own iSER initiator over siw against our target.
# variants: stock crc p2p
variant=$1
. ./lib.sh

setup() {
    case $variant in p2p) links 1500 ;; *) links 9000 ;; esac
    load_siw "$variant"
    stallable_store stall 32M
    stallable_store healthy 32M
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 512MiB}
      - {lun: 1, memory: 64MiB}
      - {lun: 2, file: /dev/mapper/stall}
      - {lun: 3, file: /dev/mapper/healthy}
limits: {nop_interval: 3s, threads: 1} # one thread: what holds it up holds up all
Y
    start_target
    start_iscsid
    log_in iser "$peer_ip" "${quick_errors[@]}"
}
# How long open-iscsi lets task management take, in seconds.
quick_errors=(node.session.err_timeo.{abort,lu_reset,tgt_reset}_timeout=10)
logins() { grep -c "from $kernel_ip:.* logged in to" /out/target.log; } # the kernel's

discovered() { # discovered INTERFACE
    iscsiadm -m discovery -t st -p "$peer_ip" -I "$1" -o nonpersistent | grep -x "$peer_ip:$port,1 $iqn"
}
two_luns() {
    local disk
    for disk in "$(disk_of 0)" "$(disk_of 1)"; do blockdev --getsize64 "$disk"; done | paste -sd ' ' |
        grep -x '536870912 67108864'
}

# ---- residuals

residuals() {
    local sg
    sg=$(sg_of 1)
    sg_raw -b -r 4k "$sg" 28 00 00 00 00 00 00 00 01 00 2>/dev/null | wc -c | grep -x 512
    sg_raw -b -r 4k "$sg" 12 00 00 00 24 00 2>/dev/null | wc -c | grep -x 36
}

# ---- resets

lun_reset() {
    local disk before
    disk=$(disk_of 1)
    before=$(tmf_requests)
    lun_reset_test "$disk"
    [[ $(tmf_requests) -gt $before ]] || fail "no task management request was sent"
}

# What the cells up to here do should give the kernel nothing to say of its connections.
quiet_kernel() {
    ! dmesg | grep -v 'module verification failed' |
        grep -E '(iser|siw)[^ ]*: .*(fail|invalid|error|unexpected|terminat)|conn error|I/O error|[Rr]esidual|BUG:|WARNING:'
}

# ---- a store that stalls, under LUN 2

# stalled COMMAND...: the store stalls while fio writes to it, and goes on once COMMAND succeeds. Meanwhile another LUN is served,
# and in the end no write is lost.
stalled() {
    local disk writer
    disk=$(disk_of 2)
    echo 5 | tee "/sys/block/$(basename "$disk")/device/timeout" "/sys/block/$(basename "$disk")/device/eh_timeout" >/dev/null
    dmesg -C
    echo 1 >/sys/module/libiscsi/parameters/debug_libiscsi_eh
    fio_verified "$disk" --sync=1 --iodepth=32 --size=8m --loops=8 >/run/fio.log 2>&1 &
    writer=$!
    wait_for 60 wrote_more "$disk" $(($(writes_done "$disk") + 100)) || fail "fio does not get on"
    dmsetup suspend --noflush --nolockfs stall
    wait_for 30 stands_still "$disk" || { dmsetup resume stall; fail "the store does not stall"; }
    healthy_lun_served || { dmsetup resume stall; fail "the other LUN was not served"; }
    "$@" || { dmsetup resume stall; fail "no success of: $*"; }
    dmsetup resume stall
    wait "$writer" || { cat /run/fio.log; fail "fio saw an error"; }
    echo 0 >/sys/module/libiscsi/parameters/debug_libiscsi_eh
    dmesg | grep -v 'cmd_timed_out' | tail -n 60
}
# stands_still DISK: commands are under way, be it writes or the reads that verify them, and for a second none has ended
stands_still() {
    local stat before after
    stat=/sys/block/$(basename "$1")/stat
    before=$(awk '{ print $1 + $5 }' "$stat")
    sleep 1
    after=$(awk '$9 > 0 { print $1 + $5 }' "$stat")
    [[ $after == "$before" ]]
}
healthy_lun_served() {
    local url="iser://$peer_ip/$iqn/3?wire=rdma-first"
    head -c 1M /dev/urandom >/run/written
    in_peer timeout 20 "$BIN/iser" write "$url" --lba 0 -i /run/written &&
        in_peer timeout 20 "$BIN/iser" read "$url" --lba 0 --count 2048 | cmp - /run/written
}
# Once the store goes on, the ABORT TASK is answered (RFC 7143 section 11.5.1) and the session stays.
stall_abort() {
    local before
    before=$(logins)
    stalled wait_for 60 kernel_says 'eh_abort aborting \['
    kernel_says 'abort success' || fail "no abort was answered"
    [[ $(logins) -eq $before ]] || fail "the session was lost"
}
stall_lun_reset() {
    stalled reset_under_way
    wait_for 60 kernel_says 'dev reset result = SUCCESS' || fail "the reset was not answered"
}
reset_under_way() {
    sg_reset -N -d "$(disk_of 2)" &
    wait_for 60 kernel_says 'LU Reset'
}
# Linux drops a session whose ABORT TASK is not answered in time. It is let in again when the old session's writes are done.
stall_relogin() {
    stalled wait_for 90 kernel_says 'wait for relogin'
    kernel_says 'session reset succeeded' || fail "Linux did not log in again"
}

# ---- keep-alive: NOP-Out of Linux, NOP-In of the target (RFC 7143 sections 11.18 and 11.19), as libiscsi's debug messages tell

# idle INTERVAL WORDS...: a session whose initiator pings after INTERVAL seconds of silence (0: never) idles until the kernel has
# said each of WORDS three times, and it stays
idle() {
    local before words timeo="node.conn[0].timeo" interval=$1
    shift
    log_out
    log_in iser "$peer_ip" "$timeo.noop_out_interval=$interval" "$timeo.noop_out_timeout=$((interval * 20))"
    disk_of 0
    before=$(logins)
    dmesg -C
    echo 1 | tee /sys/module/libiscsi/parameters/debug_libiscsi_{conn,session} >/dev/null
    for words in "$@"; do wait_for 60 kernel_says "$words" 2 || { dmesg | tail -n 40; fail "no '$words'"; }; done
    echo 0 | tee /sys/module/libiscsi/parameters/debug_libiscsi_{conn,session} >/dev/null
    dmesg | tail -n 20
    [[ $(logins) -eq $before ]] || fail "the session was lost"
    blockdev --flushbufs "$(disk_of 0)"
    dd if="$(disk_of 0)" of=/dev/null bs=64k count=1 iflag=direct status=none
}
initiator_pings() { idle 1 'Sending nopout as ping' '\[op 0x20 cid 0 itt 0x[0-9a-f]{1,7} '; }
target_pings() { idle 0 '\[op 0x20 cid 0 itt 0xffffffff ' 'mgmtpdu \[op 0x0 .*itt 0xffffffff'; }

cells() {
    cell discovery-tcp discovered default
    cell discovery-iser discovered iser
    cell two-luns two_luns
    cell ext4 eval 'file_system_test ext4 "$(disk_of 0)"'
    [[ $variant != stock ]] || cell xfs eval 'file_system_test xfs "$(disk_of 0)"'
    cell sizes eval 'sizes_test "$(disk_of 1)"'
    cell trim eval 'trim_test "$(disk_of 0)" /dev/shm/lun0'
    cell bad-lba eval 'bad_lba_test "$(sg_of 1)"'
    cell residuals residuals
    cell lun-reset lun_reset
    cell quiet-kernel quiet_kernel
    if [[ $variant == stock ]]; then
        cell stall-abort stall_abort
        cell stall-lun-reset stall_lun_reset
        cell stall-relogin stall_relogin
        cell initiator-pings initiator_pings
        cell target-pings target_pings
    fi
    cell logout log_out
}
main
