# SIGKILL of the target while a mounted file system writes. Every file that was fsynced before the kill is whole afterwards,
# both when the mount recovers by itself and after a remount.
. "$(dirname "$0")/lib.sh"
requires_mounts
requires mkfs.ext4 python3
truncate -s 1G "$work/disk.img"
config_with_luns "lun: 0, file: $work/disk.img, size: 1GiB"
start_target
mnt=$work/mnt
mkdir "$mnt"

iser mount "$url/0" "$mnt" --mkfs ext4

writer=$(dirname "$0")/fsynced_writer.py
lines() { [[ -f $1 && $(wc -l <"$1") -ge $2 ]]; }

for round in 1 2 3; do
    python3 "$writer" "$mnt/notes-$round" "$work/notes-$round" --count 300 &
    writing=$!
    wait_for 60 lines "$work/notes-$round" $((20 * round)) || fail "the writer does not get on"
    kill -KILL "$target_pid"
    wait "$target_pid" 2>/dev/null || true
    cp "$work/notes-$round" "$work/before-kill"
    start_target
    wait "$writing" || fail "round $round: the writer saw an error: recovery is not transparent"
    lines "$work/notes-$round" 300 || fail "round $round: the writer did not finish"
    sha256sum --quiet -c "$work/before-kill" || fail "round $round: a file fsynced before the kill is not whole"
done

# And with everything of the initiator gone as well: kill, then a mount from nothing.
python3 "$writer" "$mnt/notes-last" "$work/notes-last" &
writing=$!
wait_for 60 lines "$work/notes-last" 50 || fail "the writer does not get on"
kill -KILL "$target_pid"
wait "$target_pid" 2>/dev/null || true
cp "$work/notes-last" "$work/before-kill"
kill -KILL "$writing"
server=$(python3 -c 'import json, sys, glob; print(json.load(open(glob.glob(sys.argv[1] + "/*.json")[0]))["pid"])' "$OPENISER_RUN_DIR")
kill -KILL "$server"
umount -l "$mnt"
wait "$writing" 2>/dev/null || true
start_target
iser mount "$url/0" "$mnt"
cat "$work"/notes-[0-9] "$work/before-kill" >"$work/all"
sha256sum --quiet -c "$work/all" || fail "after a remount a fsynced file is not whole"
echo "$(wc -l <"$work/all") fsynced files, all whole after four kills"
iser umount "$mnt"
stop_target
fsck.ext4 -f -n "$work/disk.img" || fail "fsck finds faults"
