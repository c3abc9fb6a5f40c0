# A cluster of three nodes that fence each other by persistent reservations (SPC-4 section 5.13), as sg_persist speaks: two nodes
# over TCP and one over iSER, each an initiator with a name of its own.
. ./lib.sh

setup() {
    links
    load_siw stock
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
state_directory: /run/state
targets:
  - name: $iqn
    luns: [{lun: 0, file: /dev/shm/lun0, size: 64MiB}]
Y
    start_target
    start_iscsid
    local node
    for node in 1 2 3; do join "$node"; done
}
# join NODE: its session
join() {
    local node=$1
    iscsiadm -m iface -I "node$node" -o new
    [[ $node -ne 3 ]] || iscsiadm -m iface -I node3 -o update -n iface.transport_name -v iser
    iscsiadm -m iface -I "node$node" -o update -n iface.initiatorname -v "$iqn.node$node"
    iscsiadm -m node -o new -T "$iqn" -p "$peer_ip:$port,1" -I "node$node"
    iscsiadm -m node -T "$iqn" -p "$peer_ip:$port" -I "node$node" -l
    wait_for 30 disk_of_node "$node" >/dev/null
}
session_of() { basename "$(dirname "$(grep -lx "$iqn.node$1" /sys/class/iscsi_session/session*/initiatorname)")"; }
disk_of_node() { disk_of 0 "$(session_of "$1")"; }

# node NODE SG_PERSIST_ARGUMENT...: what it prints goes to /run/said, without the name of the device and the product
node() { sg_persist --no-inquiry "${@:2}" "$(disk_of_node "$1")" 2>&1 | tee /run/said; }
out() { node "$1" --out "${@:2}"; }
# Takes note of the unit attention that waits for a node, if there is one.
attend() { sg_turs "$(disk_of_node "$1")" >/dev/null 2>&1 || true; }
# says PATTERN...: each in a line of /run/said
says() {
    local pattern
    for pattern in "$@"; do grep -qE "$pattern" /run/said || fail "does not say '$pattern'"; done
}
# registered KEY...: these and no others, as node 1 sees it
registered() {
    node 1 --in --read-keys
    [[ $(grep -oE '0x[0-9a-f]+$' /run/said | sort | paste -sd ' ') == "$*" ]] || fail "not registered: $*"
}
writes() { head -c 4096 /dev/urandom | dd of="$(disk_of_node "$1")" bs=4096 oflag=direct conv=notrunc status=none; }
reads() { dd if="$(disk_of_node "$1")" of=/dev/null bs=4096 count=1 iflag=direct status=none; }
# attention NODE PATTERN: the unit attention that waits for the node
attention() {
    sg_turs -v "$(disk_of_node "$1")" >/run/said 2>&1 && fail "node $1 has no unit attention"
    cat /run/said
    grep -qiE "$2" /run/said || fail "node $1: another unit attention"
}

capabilities() {
    node 1 --in --report-capabilities
    says 'CRH.*: 1' 'SIP_C.*: 1' 'ATP_C.*: 1' 'PTPL_C.*: 1' 'Write Exclusive: 1' 'Exclusive Access: 1' \
        'Write Exclusive, registrants only: 1' 'Exclusive Access, registrants only: 1' 'Write Exclusive, all registrants: 1' \
        'Exclusive Access, all registrants: 1'
}
register() {
    local n
    for n in 1 2 3; do out "$n" --register --param-sark="0xa$n"; done
    registered 0xa1 0xa2 0xa3
    out 2 --register --param-rk=0xbad --param-sark=0xb2 && fail "a registration was changed with another key"
    says '[Rr]eservation conflict'
    out 2 --register --param-rk=0xa2 --param-sark=0xb2
    out 3 --register-ignore --param-sark=0xb3
    registered 0xa1 0xb2 0xb3
    node 1 --in --read-full-status
    says "$iqn.node1" "$iqn.node2" "$iqn.node3" 'Key=0xb2' 'Key=0xb3'
}
# Only those registered may write, everybody may read; then nobody else may even read.
reserve() {
    out 1 --reserve --param-rk=0xa1 --prout-type=5
    node 2 --in --read-reservation
    says 'Key=0xa1' 'scope: LU_SCOPE, +type: Write Exclusive, registrants only'
    out 2 --reserve --param-rk=0xb2 --prout-type=5 && fail "reserved twice"
    says '[Rr]eservation conflict'
    writes 2
    out 3 --register --param-rk=0xb3 --param-sark=0
    registered 0xa1 0xb2
    writes 3 && fail "a node that is not registered writes"
    reads 3
    out 1 --release --param-rk=0xa1 --prout-type=5
    attention 2 'reservations released'
    out 1 --reserve --param-rk=0xa1 --prout-type=6
    reads 3 && fail "a node that is not registered reads"
    reads 2
    out 3 --register --param-sark=0xb3
}
# The second node takes over from the first, and what the first still had under way is gone.
fence() {
    local port_of_node1
    attend 2
    out 2 --preempt-abort --param-rk=0xb2 --param-sark=0xa1 --prout-type=5
    attend 3
    node 3 --in --read-reservation
    says 'Key=0xb2' 'Write Exclusive, registrants only'
    attention 1 'registrations preempted'
    registered 0xb2 0xb3
    writes 1 && fail "the node that was fenced writes"
    writes 2
    writes 3
    out 1 --register --param-sark=0xa1
    writes 1
    node 1 --in --read-full-status
    port_of_node1=$(grep -oE "$iqn.node1,i,0x[0-9a-f]+" /run/said)
    # The key moves with the reservation to another node.
    out 2 --register-move --param-rk=0xb2 --param-sark=0xc1 --relative-target-port=1 --transport-id="$port_of_node1"
    node 1 --in --read-reservation
    says 'Key=0xc1'
}
clear() {
    local n
    for n in 1 2 3; do attend "$n"; done
    out 2 --clear --param-rk=0xb2
    attention 1 'reservations preempted'
    node 1 --in --read-keys
    says 'there are NO registered reservation keys'
    node 1 --in --read-reservation
    says 'there is NO reservation held'
    attention 3 'reservations preempted'
    writes 3
}
# restarted: the target was killed, and everybody is back
restarted() {
    local n
    kill_target
    start_target
    for n in 1 2 3; do wait_for 60 reads "$n" || true; done
}
through_power_loss() {
    out 1 --register --param-sark=0xd1 --param-aptpl
    out 2 --register --param-sark=0xd2 --param-aptpl
    out 1 --reserve --param-rk=0xd1 --prout-type=5
    restarted
    registered 0xd1 0xd2
    node 2 --in --read-reservation
    says 'Key=0xd1' 'Write Exclusive, registrants only'
    writes 1
    writes 2
    writes 3 && fail "the reservation does not hold after the restart"
    out 2 --preempt --param-rk=0xd2 --param-sark=0xd1 --prout-type=5
    writes 1 && fail "node 1 writes"
    # Registered again without APTPL, all is forgotten (SPC-4 section 5.13.5).
    out 2 --register --param-rk=0xd2 --param-sark=0xd3
    restarted
    node 1 --in --read-keys
    says 'there are NO registered reservation keys'
    writes 1
}
leave() {
    iscsiadm -m node -u
    wait_for 20 no_session
}

cells() {
    cell capabilities capabilities
    cell register register
    cell reserve reserve
    cell fence fence
    cell clear clear
    cell through-power-loss through_power_loss
    cell logout leave
}
main
