# Our initiator by verbs against LIO's iSER target, both on one address of this guest.
# variants: siw rxe
variant=$1
. ./lib.sh
. ./initiator.sh
. ./lio_recovery.sh
initiator_net=$kernel_net
base=iser://$kernel_ip:$port/$iqn query='?wire=verbs' wire=verbs lun=0 store=/dev/shm/lio.img size=$((64 << 20))

setup() {
    links
    load_rdma "$variant"
    lio_target "$size"
    lio_iser_portal "$kernel_ip" "$port"
    wait_for 30 iser info "$(disk)" >/dev/null
}
cells() {
    cell discover-iser discover_it "iser://$kernel_ip?wire=verbs"
    initiator_cells
}
main
