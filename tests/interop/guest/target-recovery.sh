# Linux's initiators recover by themselves from what befalls our target and the wire, and nothing that was fsynced is lost.
# variants: iser tcp
variant=$1
. ./lib.sh

# replacement_timeout: how long Linux waits for a session to come back before it gives writers an error.
patience=(
    node.session.timeo.replacement_timeout=120 node.session.err_timeo.abort_timeout=5
    'node.conn[0].timeo.noop_out_interval=2' 'node.conn[0].timeo.noop_out_timeout=3'
)
setup() {
    links
    [[ $variant == tcp ]] || load_siw stock
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 256MiB}
Y
    start_target
    start_iscsid
    log_in "$variant" "$peer_ip" "${patience[@]}"
    mkdir -p /mnt
    modprobe ext4
    mkfs.ext4 -q -F "$(disk_of 0)"
    mount "$(disk_of 0)" /mnt
}

notes() { if [[ -f /run/$1.notes ]]; then wc -l <"/run/$1.notes"; else echo 0; fi; }
noted() { [[ $(notes "$1") -ge $2 ]]; }
logins() { grep -c 'logged in to' /out/target.log; }
logged_in_again() { [[ $(logins) -gt $1 ]]; }

# survives NAME COMMAND...: COMMAND strikes while files are written, until /run/NAME.enough is there. The writer sees nothing of it but time.
survives() {
    local name=$1 before struck writer
    shift
    before=$(logins)
    python3 ../fsynced_writer.py "/mnt/$name" "/run/$name.notes" --until "/run/$name.enough" &
    writer=$!
    wait_for 60 noted "$name" 10 || fail "the writer does not get on"
    "$@"
    struck=$(notes "$name")
    wait_for 100 logged_in_again "$before" || fail "Linux does not log in again"
    wait_for 60 noted "$name" $((struck + 20)) || fail "the writer does not get on afterwards"
    touch "/run/$name.enough"
    wait "$writer" || fail "the writer saw an error"
    ! dmesg | grep -E 'I/O error|offline error|Aborting journal|Remounting filesystem read-only' || fail "the kernel saw an error"
    echo "$struck files when it was struck, $(notes "$name") at the end"
    echo 3 >/proc/sys/vm/drop_caches
    sha256sum --quiet -c "/run/$name.notes" || fail "a file that was fsynced is not whole"
}

killed() {
    kill_target
    start_target
}
drained() {
    stop_target
    start_target
}
session_is() { grep -qx "$1" /sys/class/iscsi_session/session*/state; }
# The link goes away at the peer's end, so that neither side is told.
silence() {
    ip -n peer link set peer1 down
    wait_for 60 session_is FAILED || fail "Linux does not notice"
    ip -n peer link set peer1 up
}
# The device that the initiator's connections use goes down.
device_down() {
    ip link set kernel1 down
    wait_for 60 session_is FAILED || fail "Linux does not notice"
    ip link set kernel1 up
}
reset() { in_peer ss -K state established sport = ":$port"; }

whole() {
    umount /mnt
    blockdev --flushbufs "$(disk_of 0)"
    fsck.ext4 -f -n "$(disk_of 0)"
    mount "$(disk_of 0)" /mnt
    sha256sum --quiet -c /run/*.notes
    umount /mnt
    log_out
    stop_target
    fsck.ext4 -f -n /dev/shm/lun0
}
cells() {
    cell sigkill survives sigkill killed
    cell sigterm survives sigterm drained
    cell silence survives silence silence
    cell device-down survives device-down device_down
    cell reset survives reset reset
    cell fsck whole
}
main
