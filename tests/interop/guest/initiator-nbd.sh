# Our initiator's block devices: `iser attach` and `iser mount` over the kernel's nbd driver, from our target in `peer`. File
# systems, LVM and LUKS on them; and what becomes of them when the target or the serving process is killed.
. ./lib.sh

url=iser://$peer_ip/$iqn
iser() { "$BIN/iser" "$@"; }
# Nobody here makes device nodes for device mapper but the tools themselves.
export DM_DISABLE_UDEV=1

setup() {
    links 9000
    modprobe -a nbd ext4 fuse loop dm_mod dm_crypt xts algif_skcipher
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 256MiB}
      - {lun: 1, file: /dev/shm/lun1, size: 64MiB}
      - {lun: 2, file: /dev/shm/lun2, size: 64MiB}
      - {lun: 3, memory: 32MiB, block_size: 4096}
Y
    start_target
}

# attach LUN NAME [OPTION...]: prints the device
attach() {
    local device
    device=$(iser attach "$url/$1" "$2" --via nbd "${@:3}")
    [[ $device == /dev/nbd* && -b $device ]] || fail "attach printed '$device'" >&2
    echo "$device"
}
is_free() { [[ ! -e /sys/block/${1#/dev/}/pid && $(blockdev --getsize64 "$1") == 0 ]]; }
# detach NAME DEVICE
detach() {
    iser detach "$1"
    is_free "$2" || fail "$2 is not free after detach"
    [[ -z $(ls -A "$OPENISER_RUN_DIR") ]] || fail "left in the run folder: $(ls "$OPENISER_RUN_DIR")"
}
of_record() { sed -n "s/.*\"$2\": \"\\?\\([^\",]*\\)\"\\?,\\?/\\1/p" "$OPENISER_RUN_DIR/$1.json"; }
server_of() { of_record "$1" pid; }
gone() { [[ ! -e /proc/$1 || $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) == Z ]]; }

devices() {
    local device queue
    device=$(attach 0 first)
    queue=/sys/block/${device#/dev/}/queue
    [[ $(blockdev --getsize64 --getss --getro "$device" | paste -sd ' ') == "268435456 512 0" ]] || fail "size, block or mode"
    [[ $(<"$queue/write_cache") == "write back" && $(<"$queue/fua") == 1 ]] || fail "the kernel knows of no cache or no FUA"
    [[ $(<"$queue/discard_max_bytes") -gt 0 && $(<"$queue/rotational") == 0 ]] || fail "no discard, or a rotating disk"
    [[ $(of_record first via) == nbd && $(of_record first device) == "$device" ]] || fail "the record does not say nbd"
    iser attached | grep -E "^first +$device .* nbd +- " || fail "iser attached does not list it"
    iser attach "$url/0" first --via nbd && fail "the name was given twice"
    detach first "$device"
    device=$(attach 3 pages)
    [[ $(blockdev --getsize64 --getss "$device" | paste -sd ' ') == "33554432 4096" ]] || fail "size or block of the 4 KiB LUN"
    detach pages "$device"
}
read_only() {
    local device
    device=$(attach 1 ro --read-only)
    [[ $(blockdev --getro "$device") == 1 ]] || fail "the device is writable"
    dd if=/dev/zero of="$device" bs=4k count=1 oflag=direct && fail "it could be written"
    dd if="$device" of=/dev/null bs=4k count=1 iflag=direct
    detach ro "$device"
}
ways() {
    local device
    device=$(iser attach "$url/0" auto)
    [[ $(of_record auto via) == nbd && $device == /dev/nbd* ]] || fail "auto took $device"
    detach auto "$device"
    device=$(iser attach "$url/0" file --via fuse)
    [[ $(of_record file via) == fuse && $device == /dev/loop* ]] || fail "--via fuse took $device"
    iser detach file
    iser attach "$url/0" --via ublk 2>/run/error && fail "ublk is there?"
    [[ $(wc -l </run/error) == 1 ]] && grep 'ublk is not implemented' /run/error || fail "ublk is not refused clearly"
}

# tree_on DEVICE: a file system with this source tree on it; its checksum in /run/tree
tree_on() {
    mkdir -p /mnt
    mkfs.ext4 -q -F "$1"
    mount "$1" /mnt
    copy_tree /mnt
    rm -r /mnt/target
    fstrim -v /mnt
    tree_sum /mnt >/run/tree
    umount /mnt
}
same_tree_on() {
    mount "$1" /mnt
    [[ $(tree_sum /mnt) == "$(</run/tree)" ]] || fail "the tree on $1 differs"
    umount /mnt
    fsck.ext4 -f -n "$1"
}
refuses_detach() {
    iser detach "$1" 2>/run/error && fail "it was detached while in use"
    cat /run/error
    grep -q 'in use' /run/error || fail "no clear message"
}
ext4_on_it() {
    local device
    device=$(attach 0 disk)
    tree_on "$device"
    mount "$device" /mnt
    refuses_detach disk
    umount /mnt
    detach disk "$device"
    device=$(attach 0 disk)
    same_tree_on "$device"
    detach disk "$device"
}
# Requests of all sizes, sixty in flight, each block's content checked.
in_flight() {
    local device
    device=$(attach 1 disk)
    fio --name=all --filename="$device" --rw=randwrite --bsrange=512-512k --blockalign=512 --iodepth=60 --ioengine=libaio --direct=1 \
        --size=24m --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal
    detach disk "$device"
}

lvm_() { # lvm_ COMMAND...: on nbd devices alone, without udev and daemons
    local config='devices { filter=["a|^/dev/nbd|","r|.*|"] obtain_device_list_from_udev=0 use_devicesfile=0 }'
    config+=' activation { udev_sync=0 udev_rules=0 monitoring=0 } global { use_lvmpolld=0 }'
    lvm "$1" --config "$config" "${@:2}"
}
lvm_on_it() {
    local device
    device=$(attach 1 disk)
    lvm_ pvcreate "$device"
    lvm_ vgcreate vg "$device"
    lvm_ lvcreate -y -l 100%FREE -n volume vg
    tree_on /dev/vg/volume
    refuses_detach disk
    lvm_ vgchange -an vg
    detach disk "$device"
    device=$(attach 1 disk)
    lvm_ vgchange -ay vg
    same_tree_on /dev/vg/volume
    lvm_ vgchange -an vg
    detach disk "$device"
}
luks_on_it() {
    local device
    head -c 32 /dev/urandom >/run/key
    device=$(attach 2 disk)
    cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$device" /run/key
    cryptsetup open --allow-discards --key-file /run/key "$device" secret
    tree_on /dev/mapper/secret
    refuses_detach disk
    cryptsetup close secret
    detach disk "$device"
    [[ $(head -c 4 /dev/shm/lun2) == LUKS ]] || fail "the target's disk has no LUKS header"
    device=$(attach 2 disk)
    cryptsetup open --allow-discards --key-file /run/key "$device" secret
    same_tree_on /dev/mapper/secret
    cryptsetup close secret
    detach disk "$device"
}

noted() { [[ -f /run/sums && $(wc -l </run/sums) -ge $1 ]]; }
says() { grep -q "$2" "$OPENISER_RUN_DIR/$1.log"; }
recovery() {
    local writer
    mkdir -p /mnt
    iser mount "$url/0" /mnt --via nbd --mkfs ext4 | tee /run/mounted
    grep '^/dev/nbd' /run/mounted || fail "not over nbd"
    : >/run/sums
    python3 ../fsynced_writer.py /mnt/file /run/sums --count 30 &
    writer=$!
    wait_for 60 noted 5 || fail "the writer does not get on"
    kill_target
    wait_for 30 says test-0 'connection is lost' || fail "the loss is not noticed"
    start_target
    wait "$writer" || fail "the writer saw an error"
    noted 30 || fail "not all was written"
    sha256sum --quiet -c /run/sums
    iser umount /mnt
    iser mount "$url/0" /mnt --via nbd --read-only
    sha256sum --quiet -c /run/sums || fail "files differ after a remount"
    iser umount /mnt
}
# What waits for the target is failed at once when the serving process is killed; nothing is stuck then.
killed() {
    local writer device server
    mkdir -p /mnt
    iser mount "$url/0" /mnt --via nbd --mkfs ext4
    device=$(of_record test-0 device) server=$(server_of test-0)
    : >/run/sums
    python3 ../fsynced_writer.py /mnt/file /run/sums &
    writer=$!
    wait_for 60 noted 3 || fail "the writer does not get on"
    kill_target
    wait_for 30 says test-0 'connection is lost' || fail "the loss is not noticed"
    kill -0 "$writer" || fail "the writer did not wait for the target"
    kill -KILL "$server"
    wait_for 20 gone "$server" || fail "the serving process is stuck"
    wait_for 20 gone "$writer" || fail "the writer is stuck"
    start_target
    iser umount /mnt
    wait_for 20 is_free "$device" || fail "$device is stuck"
    [[ -z $(ls -A "$OPENISER_RUN_DIR") ]] || fail "left in the run folder: $(ls "$OPENISER_RUN_DIR")"
    iser mount "$url/0" /mnt --via nbd
    sha256sum --quiet -c /run/sums || fail "a file that was synced is not whole"
    iser umount /mnt
}
# The same with nothing mounted: the record stays until detach, or the next attach of that name.
killed_idle() {
    local device server signal
    for signal in KILL TERM; do
        device=$(attach 1 disk)
        server=$(server_of disk)
        kill "-$signal" "$server"
        wait_for 20 gone "$server" || fail "the serving process is stuck"
        wait_for 20 is_free "$device" || fail "$device is stuck"
        detach disk "$device"
    done
    attach 1 disk
    kill -KILL "$(server_of disk)"
    wait_for 20 gone "$(server_of disk)"
    device=$(attach 1 disk)
    detach disk "$device"
}

cells() {
    cell devices devices
    cell read-only read_only
    cell ways ways
    cell ext4 ext4_on_it
    cell in-flight in_flight
    cell lvm lvm_on_it
    cell luks luks_on_it
    cell recovery recovery
    cell killed killed
    cell killed-idle killed_idle
}
main
