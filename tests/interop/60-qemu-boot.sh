# A machine of QEMU's boots from a LUN, by QEMU's iSCSI block driver over plain iSCSI: BIOS, boot loader, kernel, and a file
# system on a second LUN. What it reads there and what it writes is compared by checksum.
. "$(dirname "$0")/lib.sh"
requires_root
cache=$("$(dirname "$0")/guest/prepare")
requires qemu-system-x86_64 qemu-img syslinux mformat mcopy mkfs.ext4 debugfs
release=$(<"$cache/release")

# The system: /init copies a file, says what it read, and writes a block to the disk it came from.
marker_block=131000
make_initramfs() {
    local tree=$work/initramfs path
    mkdir -p "$tree"/{bin,proc,dev,mnt,modules}
    cp "$(command -v busybox)" "$tree/bin/busybox"
    for module in virtio_pci virtio_blk crc32c_generic ext4; do
        modprobe -d "$cache/root" -S "$release" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/modules"
    [[ -s $work/modules ]] || fail "no modules in $cache"
    while read -r path; do
        cp "$path" "$tree/modules/"
        basename "$path" >>"$tree/modules/order"
    done <"$work/modules"
    cat >"$tree/init" <<I
#!/bin/busybox sh
b=/bin/busybox
\$b mount -t proc proc /proc
\$b mount -t devtmpfs dev /dev
while read -r module; do \$b insmod "/modules/\$module"; done </modules/order
\$b mount -t ext4 /dev/vdb /mnt
echo "read \$(\$b sha256sum </mnt/data)"
\$b cp /mnt/data /mnt/copy
\$b umount /mnt
echo "written by the machine" | \$b dd of=/dev/vda bs=512 seek=$marker_block conv=notrunc,fsync
echo "the machine is done"
\$b poweroff -f
I
    chmod 755 "$tree/init"
    (cd "$tree" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs.gz"
}
# The disk it boots from: FAT with SYSLINUX, no partitions.
make_boot_disk() {
    truncate -s 64M "$work/boot.img"
    mformat -i "$work/boot.img" -T 131072 -h 16 -s 63 -F ::
    printf '%s\n' 'DEFAULT linux' 'LABEL linux' 'KERNEL vmlinuz' 'INITRD init.gz' \
        'APPEND console=ttyS0 quiet panic=-1' >"$work/syslinux.cfg"
    mcopy -i "$work/boot.img" "$cache/vmlinuz" ::vmlinuz
    mcopy -i "$work/boot.img" "$work/initramfs.gz" ::init.gz
    mcopy -i "$work/boot.img" "$work/syslinux.cfg" ::syslinux.cfg
    syslinux --install "$work/boot.img"
}
make_data_disk() {
    mkdir "$work/data"
    head -c 20M /dev/urandom >"$work/data/data"
    truncate -s 96M "$work/data.img"
    mkfs.ext4 -q -d "$work/data" "$work/data.img"
}

make_initramfs
make_boot_disk
make_data_disk
config_with_luns "lun: 0, file: lun0, size: 64MiB" "lun: 1, file: lun1, size: 96MiB"
start_target
plain=iscsi://$portal/$iqn
qemu-img convert -n -f raw -O raw "$work/boot.img" "$plain/0"
qemu-img convert -n -f raw -O raw "$work/data.img" "$plain/1"

timeout -k 10 300 qemu-system-x86_64 -accel tcg -cpu max -m 512 -display none -monitor none -no-reboot -nic none \
    -serial "file:$work/console" -drive "file=$plain/0,format=raw,if=virtio" -drive "file=$plain/1,format=raw,if=virtio" \
    </dev/null 2>"$work/qemu.log" || fail "QEMU ended with status $?: $(tail -n 20 "$work/console" "$work/qemu.log")"
[[ ! -s $work/qemu.log ]] || fail "QEMU complains: $(cat "$work/qemu.log")"
grep -aq 'the machine is done' "$work/console" || fail "it did not come to its end: $(tail -n 20 "$work/console")"
grep -a "^read $(sum_of "$work/data/data")" "$work/console" || fail "it read other data: $(grep -a '^read' "$work/console")"

# What it wrote, in the LUNs' files and through QEMU's driver
dd if="$work/lun0" bs=512 skip="$marker_block" count=1 status=none | grep -aq '^written by the machine' ||
    fail "its block is not in the boot LUN's file"
e2fsck -f -n "$work/lun1"
debugfs -R "dump /copy $work/copy" "$work/lun1"
cmp "$work/data/data" "$work/copy" || fail "its copy of the file differs"
qemu-img compare -f raw -F raw "$work/lun0" "$plain/0"
qemu-img compare -f raw -F raw "$work/lun1" "$plain/1"
status=0
qemu-img compare -f raw -F raw "$work/data.img" "$plain/1" || status=$?
[[ $status -eq 1 ]] || fail "QEMU finds no difference where there is one"
stop_target
