# Cells of our initiator, `iser` run in `peer` or where initiator_net says, against any target. Sourced after lib.sh by a script that
# sets, before the cells run:
#   base      URL without LUN and keys          query      keys, such as ?wire=rdma-first, or nothing
#   wire      what `iser` must say it used      lun        the disk's number       store, size   the file it lives in, its bytes
#   refusal   pattern of what the target says to a block beyond the end
# and defines target_down and target_up: no session survives the first, all is as before after the second.

refusal='ILLEGAL_REQUEST: LBA_OUT_OF_RANGE \(5/21/00\)'

iser() { in_net "$initiator_net" "$BIN/iser" "$@"; }
disk() { echo "$base/$lun$query"; }
# of_json PYTHON: prints that expression of `it`, what standard input says
of_json() { python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"; }
sum_of() { sha256sum "$1" | cut -d' ' -f1; }
# store_has OFFSET FILE: the target keeps FILE's bytes at OFFSET of the disk
store_has() {
    tail -c +$(($1 + 1)) "$store" 2>/dev/null | head -c "$(stat -c %s "$2")" >/run/stored || true
    cmp "$2" /run/stored
}

discover_it() {
    iser discover "$1" | tee /run/discovered
    grep -E "^$iqn +$kernel_ip:$port +1\$" /run/discovered || fail "discovery does not find $iqn at $kernel_ip:$port"
}
ls_it() {
    iser ls "$base$query"
    iser ls --json "$base$query" >/run/luns
    [[ $(of_json '[l["size"] for l in it if l["lun"] == '"$lun"']' </run/luns) == "[$size]" ]] || fail "no LUN $lun of $size bytes"
}
info_it() {
    iser info "$(disk)"
    iser info --json "$(disk)" >/run/info
    [[ $(of_json 'it["connection"]["wire"]' </run/info) == "$wire" ]] || fail "the wire is not $wire"
    [[ $(of_json 'it["lun"]["size"]' </run/info) == "$size" ]] || fail "the disk is not of $size bytes"
}
# From one block to more than a command carries, at odd places; and the last blocks of the LUN.
read_write() {
    local place lba count
    for place in 0:1 7:3 1001:255 3001:2049 $((size / 512 - 9)):9; do
        lba=${place%:*} count=${place#*:}
        head -c $((count * 512)) /dev/urandom >/run/data
        iser write "$(disk)" --lba "$lba" -i /run/data
        store_has $((lba * 512)) /run/data || fail "$count blocks at $lba: the target has other data than was written"
        iser read "$(disk)" --lba "$lba" --count "$count" -o /run/back
        cmp /run/data /run/back || fail "$count blocks at $lba: what comes back differs"
    done
}
# A hole of 4 MiB in the middle.
copy() {
    local want
    { head -c 6M /dev/urandom; head -c 4M /dev/zero; head -c 3M /dev/urandom; } >/run/data
    want=$(sum_of /run/data)
    iser cp --verify /run/data "$(disk)"
    store_has 0 /run/data || fail "the target has other data than was copied"
    iser cp --size 13MiB "$(disk)" /run/back
    [[ $(sum_of /run/back) == "$want" ]] || fail "what comes back differs"
}
ping_it() {
    iser ping "$(disk)" -c 5 -i 0.1
    iser ping "$(disk)" -c 2 -i 0 -s 0
    iser ping "$(disk)" -c 2 -i 0 -s 8192
}
bench_it() {
    iser bench "$(disk)" --rw randread --bs 4k --iodepth 16 --size 4MiB --runtime 2 --rate-verify
    iser bench "$(disk)" --rw randrw --bs 64k --iodepth 8 --size 16MiB --runtime 2 --json | tee /run/bench
    [[ $(of_json 'it["errors"] == 0 < it["ios"]' </run/bench) == True ]] || fail "errors, or nothing done"
}
bad_lba() {
    local status=0
    # What we know ourselves, before it is sent.
    iser read "$(disk)" --lba $((size / 512)) --count 1 -o /run/back 2>/run/error && fail "a block beyond the end was read"
    cat /run/error
    grep -q "blocks $((size / 512)) to $((size / 512)) are not all on the LUN" /run/error || fail "no clear message"
    # READ (10) and WRITE (10) of the first block that is not there: the target's sense data.
    iser scsi "$(disk)" "2800$(printf %08x $((size / 512)))00000100" --in 512 | tee /run/answer && status=1
    grep -E "^status: $refusal" /run/answer || fail "READ: not refused in these words"
    head -c 512 /dev/zero >/run/data
    iser scsi "$(disk)" "2a00$(printf %08x $((size / 512)))00000100" --out /run/data | tee /run/answer && status=1
    grep -E "^status: $refusal" /run/answer || fail "WRITE: not refused in these words"
    [[ $status == 0 ]] || fail "iser scsi ended with 0"
    iser read "$(disk)" --lba 0 --count 1 -o /run/back
}
mount_it() {
    local before device
    mkdir -p /mnt
    iser mount -o noinit_itable "$(disk)" /mnt --mkfs ext4
    copy_tree /mnt
    rm -r /mnt/target
    fstrim -v /mnt || echo "no fstrim"
    before=$(tree_sum /mnt)
    iser umount /mnt
    iser mount "$(disk)" /mnt --read-only
    [[ $(tree_sum /mnt) == "$before" ]] || fail "the tree differs after a remount"
    iser umount /mnt
    device=$(iser attach "$(disk)" check)
    fsck.ext4 -f -n "$device"
    iser detach check
}

# The target goes, and comes back, in the middle of writing: nobody notices but by the time it takes.
session_log() { cat "$OPENISER_RUN_DIR"/*.log; }
logged() { session_log | grep -q "$1"; }
written() { [[ $(wc -l </run/sums) -ge $1 ]]; }
recovery() {
    local writer before quiet=noinit_itable,no_prefetch_block_bitmaps
    mkdir -p /mnt
    rm -f /run/enough
    iser mount -o "$quiet" "$(disk)" /mnt --mkfs ext4
    : >/run/sums
    python3 ../fsynced_writer.py /mnt/file /run/sums --until /run/enough --pause 0.05 &
    writer=$!
    echo "$writer" >/run/writer # for target_down
    wait_for 60 written 5 || fail "the writer does not get on"
    target_down
    wait_for 30 logged 'connection is lost' || fail "the loss is not noticed"
    before=$(wc -l </run/sums)
    target_up
    wait_for 60 logged 'connection is back' || { session_log; fail "the session does not come back"; }
    wait_for 60 written $((before + 5)) || { session_log; fail "the writer does not get on behind the loss"; }
    touch /run/enough
    wait "$writer" || fail "the writer saw an error"
    session_log
    iser umount /mnt
    iser mount -o "$quiet" "$(disk)" /mnt
    sha256sum --quiet -c /run/sums || fail "a file is not what was written"
    iser umount /mnt
    fsck.ext4 -f -n "$store"
}

# What the kernel said of all that. Its target reports connections that end, which is no complaint.
kernel_is_content() {
    dmesg
    dmesg | grep -E 'BUG|WARNING|Oops|general protection|blocked for more|Call Trace|refcount|use-after' && fail "the kernel complains"
    return 0
}

# What can be asked of a target that stays.
io_cells() {
    modprobe -a fuse loop ext4 2>/dev/null
    cell ls ls_it
    cell info info_it
    cell read-write read_write
    cell cp copy
    cell ping ping_it
    cell bench bench_it
    cell bad-lba bad_lba
    cell mount mount_it
}
initiator_cells() {
    io_cells
    cell recovery recovery
    cell kernel kernel_is_content
}
