# Our initiator and our target with each other by verbs, over the kernel's soft RDMA devices, both ends on one address of this guest;
# and what befalls them.
# variants: siw rxe
variant=$1
. ./lib.sh
. ./initiator.sh
. ./failures.sh
device=${variant}1
target_net=$kernel_net initiator_net=$kernel_net
base=iser://$kernel_ip:$port/$iqn query='?wire=verbs' wire=verbs lun=0 store=/dev/shm/lun0 size=$((64 << 20))

target_by() { # target_by TRANSPORT [FURTHER LINES]: starts it
    write_target_yaml <<Y
portals: [{address: "$kernel_ip:$port", transport: $1}]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: $store, size: $size}
limits: {nop_interval: 2s, nop_timeout: 3s}
${2:-}
Y
    start_target
}
setup() {
    links
    load_rdma "$variant"
    target_by verbs
    wait_for 10 iser info "$(disk)"
}
target_down() { kill_target; }
target_up() { start_target; }

# ---- set-up

says_what_it_is_built_with() {
    "$BIN/iser" --version | grep 'verbs: rdma-core [0-9]'
    "$BIN/iser-targetd" --version | grep 'verbs: rdma-core [0-9]'
}
# fails_with PATTERN COMMAND...: in one line
fails_with() {
    ! "${@:2}" >/run/output 2>/run/error || fail "succeeds: ${*:2}"
    cat /run/error
    grep -qE "$1" /run/error || fail "does not say $1"
    [[ $(wc -l </run/error) == 1 ]] || fail "says more than a line"
}
# A name server that says nothing: the look-up is not waited for.
name_unknown() {
    python3 -c 'import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 53)); time.sleep(600)' &
    wait_for 10 grep -q ':0035 ' /proc/net/udp
    printf 'nameserver 127.0.0.1\noptions attempts:1 timeout:8\n' >/etc/resolv.conf
    fails_with 'timed out' iser info "iser://silent.example:$port/$iqn/0?wire=verbs"
    kill $!
}
refused() {
    fails_with 'Connection refused' iser info "iser://$kernel_ip:9/$iqn/0?wire=verbs"
    fails_with 'no RDMA device has this address or a route to it: ' iser info "iser://127.0.0.1:$port/$iqn/0?wire=verbs"
    stop_target
    target_by verbs 'negotiation: {rdma_extensions: false}'
    fails_with 'reject' iser info "$(disk)"
    grep 'rejected: negotiation.rdma_extensions is off' /out/target.log
    stop_target
    target_by verbs
}
# RoCE has ports of its own; siw's are TCP's, which the built-in iWARP has already.
both_on_one_port() {
    stop_target
    target_by auto
    case $variant in
        siw) grep "listening on $kernel_ip:$port; not by verbs: " /out/target.log ;;
        rxe) grep "listening on $kernel_ip:$port, and by verbs" /out/target.log ;;
    esac
    head -c 4M /dev/urandom >/run/data
    iser cp --verify /run/data "$base/0?wire=rdma-first"
    iser cp --size 4MiB "$(disk)" /run/back
    cmp /run/data /run/back
    stop_target
    target_by verbs
}

cells() {
    cell version says_what_it_is_built_with
    cell discover discover_it "iser://$kernel_ip:$port?wire=verbs"
    io_cells
    cell recovery recovery
    cell refused refused
    cell name-unknown name_unknown
    cell both-on-one-port both_on_one_port
    failure_cells
    cell stop stop_target
    cell kernel kernel_is_content
}
main
