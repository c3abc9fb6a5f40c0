# Our initiator against LIO's iSER target over siw. As a responder siw takes the CRC and the MPA revision that the request asks for,
# whatever its build, so the variants differ in what we ask for as well: stock without CRC, the others with; p2p and rev1 on links
# of 1500 bytes MTU. rev1 has only the cells that would show a revision without read depths.
# variants: stock crc p2p rev1
variant=$1
. ./lib.sh
. ./initiator.sh
. ./lio_recovery.sh
base=iser://$kernel_ip:$port/$iqn query= wire=rdma-first lun=0 store=/dev/shm/lio.img size=$((256 << 20))
[[ $variant != stock ]] || query='?crc=no'

setup() {
    case $variant in p2p | rev1) links 1500 ;; *) links 9000 ;; esac
    load_siw "$variant"
    lio_target "$size"
    lio_iser_portal "$kernel_ip" "$port"
    wait_for 30 iser info "$(disk)" >/dev/null
}

crc() {
    local asked
    head -c 2M /dev/urandom >/run/data
    for asked in True False; do
        [[ $asked == True ]] && query='?crc=yes' || query='?crc=no'
        iser info --json "$(disk)" >/run/info
        [[ $(of_json 'it["connection"]["crc"]' </run/info) == "$asked" ]] || fail "$query is not what was settled"
        iser cp --verify /run/data "$(disk)"
        store_has 0 /run/data || fail "$query: the target has other data than was copied"
    done
}
cells() {
    if [[ $variant == rev1 ]]; then
        cell info info_it
        cell read-write read_write
        cell cp copy
        return
    fi
    cell discover discover_it "$kernel_ip"
    cell discover-iser discover_it "iser://$kernel_ip?wire=rdma-first"
    cell crc crc
    initiator_cells
}
main
