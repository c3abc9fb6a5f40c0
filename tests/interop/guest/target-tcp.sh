# The kernel's plain iSCSI initiator against our target: digests, and how written data travels.
. ./lib.sh

setup() {
    links
    stallable_store slow 32M
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 512MiB}
      - {lun: 1, memory: 64MiB}
      - {lun: 2, file: /dev/mapper/slow}
limits: {nop_interval: 2s, nop_timeout: 5s}
Y
    start_target
    start_iscsid
}
# anew SETTING=VALUE...: a session with these settings, whatever the cell before left
anew() {
    no_session || log_out
    log_in tcp "$peer_ip" "$@"
}
# negotiated KEY VALUE
negotiated() {
    session_negotiated >/run/negotiated
    grep -x "[[:space:]]*$1: $2" /run/negotiated || fail "not $1=$2 but: $(grep "$1:" /run/negotiated)"
}
counter() { iscsiadm -m session -s | sed -n "s/^[[:space:]]*$1: //p"; }
# r2ts_for SIZE DISK: how many R2Ts one write of SIZE got
r2ts_for() {
    local before
    before=$(counter r2t_pdus)
    head -c "$1" /dev/urandom | dd of="$2" bs="$1" iflag=fullblock oflag=direct status=none
    echo $(($(counter r2t_pdus) - before))
}

# write_data INITIAL_R2T IMMEDIATE_DATA DIGEST R2TS: R2TS is how many a small write gets, RFC 7143 sections 13.10 and 13.11
write_data() {
    local disk
    anew "node.session.iscsi.InitialR2T=$1" "node.session.iscsi.ImmediateData=$2" \
        "node.conn[0].iscsi.HeaderDigest=$3" "node.conn[0].iscsi.DataDigest=$3"
    negotiated InitialR2T "$1"
    negotiated ImmediateData "$2"
    negotiated HeaderDigest "${3%%,*}"
    negotiated DataDigest "${3%%,*}"
    disk=$(disk_of 1)
    [[ $(r2ts_for 4096 "$disk") -eq $4 ]] || fail "a write of 4 KiB should get $4 R2Ts"
    [[ $(r2ts_for 262144 "$disk") -ge 1 ]] || fail "a write of 256 KiB should get an R2T"
    blocks_test "$disk"
    log_out
}
# one_digest HEADER DATA
one_digest() {
    anew "node.conn[0].iscsi.HeaderDigest=$1" "node.conn[0].iscsi.DataDigest=$2"
    negotiated HeaderDigest "$1"
    negotiated DataDigest "$2"
    blocks_test "$(disk_of 1)"
    log_out
}
discovery() {
    iscsiadm -m discovery -t sendtargets -p "$peer_ip:$port" | tee /run/discovered
    grep -x "$peer_ip:$port,1 $iqn" /run/discovered
    iscsiadm -m node -o delete
}
two_luns() {
    local lun
    anew
    for lun in 0 1 2; do blockdev --getsize64 "$(disk_of "$lun")"; done | paste -sd ' ' | grep -x '536870912 67108864 33554432'
}
file_system() {
    anew "${@:2}"
    file_system_test "$1" "$(disk_of 0)"
}

# ---- NOPs on a connection that is otherwise idle: how many bytes the kernel has had is told by TCP

sent_and_received() {
    ss -tinH dst "$peer_ip" dport = ":$port" | grep -oE 'bytes_(sent|received):[0-9]+' | cut -d: -f2 | paste -sd ' '
}
# exchanged BYTES SENT RECEIVED: each way so many more
exchanged() {
    local now
    now=$(sent_and_received)
    [[ ${now% *} -ge $(($2 + $1)) && ${now#* } -ge $(($3 + $1)) ]]
}
# pings SETTING...: four NOPs and their answers, by when one without an answer would have ended the connection
pings() {
    local errors before
    anew "$@"
    blocks_test "$(disk_of 1)"
    errors=$(dmesg | grep -c 'detected conn error' || true)
    before=$(sent_and_received)
    # shellcheck disable=SC2086  # two numbers
    wait_for 60 exchanged $((4 * 48)) $before || fail "no NOPs: before $before, after $(sent_and_received)"
    ! kernel_says 'detected conn error' "$errors" || fail "the connection was lost"
    grep -x LOGGED_IN /sys/class/iscsi_session/session*/state
}
noticed() { ! grep -qx LOGGED_IN /sys/class/iscsi_session/session*/state; }
# A target that is stopped answers no NOP, which the kernel notices with nothing else under way; then it logs in again.
frozen() {
    local disk
    anew 'node.conn[0].timeo.noop_out_interval=1' 'node.conn[0].timeo.noop_out_timeout=2'
    disk=$(disk_of 1)
    kill -STOP "$(target_pid)"
    wait_for 60 noticed || { kill -CONT "$(target_pid)"; fail "the kernel does not notice"; }
    kill -CONT "$(target_pid)"
    blocks_test "$disk"
    grep -x LOGGED_IN /sys/class/iscsi_session/session*/state
}
no_kernel_nops=('node.conn[0].timeo.noop_out_interval=0' 'node.conn[0].timeo.noop_out_timeout=0')

# The store below LUN 2 does not answer: the kernel gives up a read and aborts it (RFC 7143 section 11.5), while other LUNs are
# served. Once the store answers again all goes on, with the right data and over the same connection.
stalled_store() {
    local disk timeout reader
    anew node.session.err_timeo.abort_timeout=60
    disk=$(disk_of 2)
    timeout=/sys/block/$(basename "$disk")/device/timeout
    head -c 256k /dev/urandom >/run/written
    dd if=/run/written of="$disk" bs=256k oflag=direct conv=fsync status=none
    echo 3 >/proc/sys/vm/drop_caches # the target's read is to reach the store
    dmesg -C
    echo 1 >/sys/module/libiscsi/parameters/debug_libiscsi_eh
    echo 2 >"$timeout"
    dmsetup suspend --nolockfs --noflush slow
    dd if="$disk" of=/run/read bs=256k count=1 iflag=direct status=none &
    reader=$!
    wait_for 60 kernel_says 'eh_abort aborting \[' || { dmsetup resume slow; fail "the kernel did not abort the read"; }
    (blocks_test "$(disk_of 1)") || { dmsetup resume slow; fail "another LUN was not served"; }
    kill -0 "$reader" || fail "the read ended while the store was stalled"
    dmsetup resume slow
    echo 30 >"$timeout"
    wait "$reader" || fail "the read failed"
    echo 0 >/sys/module/libiscsi/parameters/debug_libiscsi_eh
    cmp /run/written /run/read || fail "the read gave other data"
    dmesg | grep -E 'abort|reset'
    kernel_says 'abort success' || fail "the abort did not succeed"
    ! kernel_says 'detected conn error' || fail "the connection was lost"
}

digests=(HeaderDigest DataDigest)
digests=("${digests[@]/#/node.conn[0].iscsi.}")
digests=("${digests[@]/%/=CRC32C}")
cells() {
    local digest r2t immediate suffix
    cell discovery discovery
    for digest in None,CRC32C CRC32C,None; do
        for r2t in Yes No; do
            for immediate in Yes No; do
                [[ $digest == None* ]] && suffix= || suffix=-digests
                cell "initial-r2t-${r2t,}-immediate-data-${immediate,}$suffix" write_data "$r2t" "$immediate" "$digest" \
                    "$([[ $r2t$immediate == YesNo ]] && echo 1 || echo 0)"
            done
        done
    done
    cell header-digest-alone one_digest CRC32C None
    cell data-digest-alone one_digest None CRC32C
    cell two-luns two_luns
    cell ext4-digests file_system ext4 "${digests[@]}"
    cell xfs file_system xfs
    cell sizes-digests eval 'anew "${digests[@]}"; sizes_test "$(disk_of 1)"'
    cell trim eval 'anew; trim_test "$(disk_of 0)" /dev/shm/lun0'
    cell bad-lba eval 'anew; bad_lba_test "$(sg_of 1)"'
    cell lun-reset eval 'anew; lun_reset_test "$(disk_of 1)"'
    cell stalled-store stalled_store
    cell nop-out pings 'node.conn[0].timeo.noop_out_interval=1' 'node.conn[0].timeo.noop_out_timeout=5'
    cell nop-in pings "${no_kernel_nops[@]}"
    cell nop-unanswered frozen
    cell logout log_out
}
main
