# A source tree on ext4 over iSER and over plain iSCSI: equal after unmounting and mounting again, and fsck finds nothing.
. "$(dirname "$0")/lib.sh"
requires_mounts
requires mkfs.ext4 fsck.ext4
truncate -s 512M "$work/disk.img"
config_with_luns "lun: 0, file: $work/disk.img, size: 512MiB"
start_target
mnt=$work/mnt
mkdir "$mnt"

tree=$(cd "$(dirname "$0")/../.." && pwd)

for scheme in iser iscsi; do
    lun=$scheme://$portal/$iqn/0
    iser mount "$lun" "$mnt" --mkfs ext4
    for folder in base rdmap iscsi iser target initiator config tests; do cp -a "$tree/$folder" "$mnt/"; done
    want=$(tree_sum "$mnt")
    iser umount "$mnt"
    iser mount "$lun" "$mnt" --read-only
    [[ $(tree_sum "$mnt") == "$want" ]] || fail "$scheme: the tree changed"
    [[ $(tree_sum "$mnt") != "$(tree_sum "$tree/.ci")" ]] || fail "the comparison compares nothing"
    iser umount "$mnt"
    device=$(iser attach "$lun" check)
    fsck.ext4 -f -n "$device" || fail "$scheme: fsck finds faults"
    iser detach check
    echo "$scheme: equal, fsck clean"
done
[[ -z $(ls "$OPENISER_RUN_DIR") ]] || fail "something is left in the run folder: $(ls "$OPENISER_RUN_DIR")"
stop_target
fsck.ext4 -f -n "$work/disk.img" || fail "fsck of the image itself finds faults"
