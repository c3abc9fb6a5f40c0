# The two providers with each other: verbs over siw on the kernel's side, the built-in iWARP in `peer`.
. ./lib.sh
. ./initiator.sh
lun=0 store=/dev/shm/lun0 size=$((64 << 20))

setup() {
    links
    load_rdma siw
}
# ends TARGET_NET IP TRANSPORT INITIATOR_NET WIRE: our target there, and what our initiator does with it
ends() {
    target_net=$1 initiator_net=$4 wire=$5 base=iser://$2:$port/$iqn query="?wire=$5"
    write_target_yaml <<Y
portals: [{address: "$2:$port", transport: $3}]
targets:
  - name: $iqn
    luns:
      - {lun: $lun, file: $store, size: $size}
Y
    start_target
    info_it
    read_write
    copy
    bench_it
    stop_target
}
cells() {
    cell verbs-initiator ends "$peer_net" "$peer_ip" iwarp "$kernel_net" verbs
    cell verbs-target ends "$kernel_net" "$kernel_ip" verbs "$peer_net" rdma-first
}
main
