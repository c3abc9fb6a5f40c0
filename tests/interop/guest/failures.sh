# Cells of what befalls a target and an initiator of ours on one RDMA device. Sourced after lib.sh and initiator.sh by a script that
# sets, besides what initiator.sh asks for:
#   device    the RDMA device, over kernel1        variant   its kind: siw, rxe

add_device() { rdma link add "$device" type "$variant" netdev kernel1; }
deleted() { ! rdma link show | grep -q "^link $device/"; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# The kernel waits for all who use the device.
delete_device() {
    rdma link delete "$device" &
    wait_for 30 ended $! || fail "the device is not given back: $(rdma resource show)"
    deleted || fail "the device is still there"
}
# resources: what of the device's is in use, by anybody
resources() { rdma resource show "$device" | grep -oE '(pd|cq|qp|mr) [0-9]+' | xargs; }
resources_are() { [[ $(resources) == "$1" ]]; }
# back_to RESOURCES: what was used is given back
back_to() { wait_for 30 resources_are "$1" || fail "in use: $(resources), before: $1"; }
serves_on() {
    head -c 300000 /dev/urandom >/run/data
    iser cp --verify /run/data "$(disk)"
}
same_target() { target_gone && fail "the target has ended"; [[ $(target_pid) == "$1" ]]; }

# The writer of `recovery` gets on behind the loss, in the same two processes. An rxe device that failed to send while its link was
# down sets no connection up ever again, whoever asks (Linux 6.1), and is made anew.
link_pulled() {
    local pid before
    pid=$(target_pid) before=$(resources)
    target_down() { ip link set kernel1 down; }
    target_up() {
        ip link set kernel1 up
        [[ $variant != rxe ]] || { delete_device; add_device; }
    }
    recovery
    same_target "$pid"
    back_to "$before"
}

writes_since() { [[ $(stat -c %y "$store") != "$1" ]]; }
# In the middle of its writes, many times, reading or with many commands under way.
initiator_killed() {
    local n before pid written target
    serves_on
    before=$(resources) target=$(target_pid)
    for n in 1 2 3 4 5 6 7 8; do
        written=$(stat -c %y "$store")
        (exec "$BIN/iser" bench "$(disk)" --rw randrw --bs "$((n * 16))k" --iodepth 16 --size 16MiB --runtime 60 >/run/bench 2>&1) &
        pid=$!
        wait_for 30 writes_since "$written" || { cat /run/bench; fail "nothing is written"; }
        kill -KILL "$pid"
        wait "$pid" || true
    done
    same_target "$target"
    back_to "$before"
    serves_on
}

device_removed() {
    local pid before
    pid=$(target_pid) before=$(resources)
    target_down() { delete_device; }
    target_up() { add_device; }
    recovery
    same_target "$pid"
    grep 'the RDMA device was removed; listening again' /out/target.log
    grep 'listening again, by verbs' /out/target.log
    back_to "$before"
}
# Used, and then not; at every address.
idle_device_removed() {
    local pid
    stop_target
    sed -i "s/\"$kernel_ip:$port\"/\"0.0.0.0:$port\"/" /run/target.yaml
    start_target
    pid=$(target_pid)
    serves_on
    delete_device
    add_device
    wait_for 30 serves_on || fail "not served on the device that came back"
    same_target "$pid"
    delete_device
    add_device
    stop_target
    target_by verbs
}
failure_cells() {
    modprobe -a fuse loop ext4 2>/dev/null
    cell link-pulled link_pulled
    cell initiator-killed initiator_killed
    cell device-removed device_removed
    cell idle-device-removed idle_device_removed
}
