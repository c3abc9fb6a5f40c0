# Our initiator against LIO's iSER target over siw. As a responder siw takes the CRC and the MPA revision that the request asks for,
# whatever its build, so the variants differ in what we ask for as well: stock without CRC, the others with; p2p and rev1 on links
# of 1500 bytes MTU. rev1 has only the cells that would show a revision without read depths.
# variants: stock crc p2p rev1
variant=$1
. ./lib.sh
. ./initiator.sh
base=iser://$kernel_ip:$port/$iqn query= wire=rdma-first lun=0 store=/dev/shm/lio.img size=$((256 << 20))
[[ $variant != stock ]] || query='?crc=no'

setup() {
    case $variant in p2p | rev1) links 1500 ;; *) links 9000 ;; esac
    load_siw "$variant"
    lio_target "$size"
    lio_iser_portal "$kernel_ip" "$port"
    wait_for 30 iser info "$(disk)" >/dev/null
}

# Nothing is under way when LIO ends the session: of a command whose response can no more be posted its ib_isert (Linux 6.1) loses
# track, and then waits for it for ever. So the file system is frozen, its journal with it, and a read has just been answered, so that
# no ping is due. The writer goes on once the session is gone.
writer_stopped() { [[ $(cut -d' ' -f3 "/proc/$(cat /run/writer)/stat") == T ]]; }
nothing_under_way() { [[ $(<"/sys/block/$(basename "$(findmnt -no SOURCE /mnt)")/inflight") =~ ^\ *0\ +0$ ]]; }
target_down() {
    kill -STOP "$(cat /run/writer)"
    wait_for 30 writer_stopped
    sync -f /mnt
    fsfreeze -f /mnt
    wait_for 30 nothing_under_way
    dd if="$(findmnt -no SOURCE /mnt)" of=/dev/null bs=4096 count=1 iflag=direct status=none
    echo 0 >"$lio/iscsi/$iqn/tpgt_1/enable"
    fsfreeze -u /mnt & # which is done when the target is back
    kill -CONT "$(cat /run/writer)"
}
target_up() { echo 1 >"$lio/iscsi/$iqn/tpgt_1/enable"; }

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
