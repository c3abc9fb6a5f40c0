# Sourced by the interop scripts: `. lib.sh`, with the folder of the programs as the script's first argument.
# Every script works in a folder of its own, on loopback ports that the system chooses, and cleans up after itself.

set -euo pipefail
bin=$(cd "$1" && pwd)
export PATH=$bin:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/open-iser-test.XXXXXX")
export OPENISER_RUN_DIR=$work/run
iqn=iqn.2026-11.org.example:test
target_pid=
declare -a cleanups=()

# cleanup_fn COMMAND...: run at the end, last first, whatever happens.
cleanup_fn() { cleanups+=("$*"); }
finish() {
    local status=$? i
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do eval "${cleanups[i]}" || true; done
    drop_attachments
    if [[ -n $target_pid ]] && kill -TERM "$target_pid" 2>/dev/null; then wait "$target_pid" || true; fi
    if [[ $status -ne 0 && $status -ne 77 && -s $work/target.log ]]; then
        echo "--- the target's log ends:"
        tail -n 30 "$work/target.log"
    fi
    [[ -n ${KEEP_WORK:-} ]] || rm -rf "$work"
}
trap finish EXIT

# What a failed script left attached. The serving processes are ended first: nothing waits for a target any more then.
drop_attachments() {
    local record pid device
    for record in "$OPENISER_RUN_DIR"/*.json; do
        [[ -f $record ]] || continue
        pid=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$record")
        device=$(sed -n 's/.*"device": "\(.*\)",*/\1/p' "$record")
        kill -KILL "$pid" 2>/dev/null || true
        umount -l "$work/mnt" 2>/dev/null || true
        [[ -z $device ]] || losetup -d "$device" 2>/dev/null || true
        umount -l "${record%.json}" 2>/dev/null || true
    done
}

fail() {
    echo "FAILED: $*"
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
# requires PROGRAM...
requires() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}
requires_root() { [[ $EUID -eq 0 ]] || skip "needs root"; }
requires_mounts() {
    requires_root
    [[ -e /dev/fuse && -e /dev/loop-control ]] || skip "needs /dev/fuse and /dev/loop-control"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local limit=$(($1 * 20)) tries
    shift
    for ((tries = 0; tries < limit; tries++)); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

# config_with_luns LUN...: writes $work/target.yaml with one portal and one target. Each LUN is the inside of { }.
config_with_luns() {
    {
        echo "portals: [\"127.0.0.1:${target_port:-0}\"]"
        echo "targets:"
        echo "  - name: $iqn"
        echo "    luns:"
        local lun
        for lun in "$@"; do echo "      - {$lun}"; done
    } >"$work/target.yaml"
}
target_says_address() {
    portal=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$work/target.log" | tail -n 1)
    kill -0 "$target_pid" 2>/dev/null || fail "the target ended while starting"
    [[ -n $portal ]]
}
# start_target: on $work/target.yaml; sets portal (HOST:PORT), target_port and url (without a LUN).
start_target() {
    : >"$work/target.log"
    iser-targetd --config "$work/target.yaml" 2>>"$work/target.log" &
    target_pid=$!
    wait_for 20 target_says_address || fail "the target does not listen"
    target_port=${portal##*:}
    # The next start takes the same port, so that initiators find it again.
    sed -i "s/127\.0\.0\.1:0/127.0.0.1:$target_port/" "$work/target.yaml"
    url=iser://$portal/$iqn
}
stop_target() {
    kill -TERM "$target_pid"
    wait "$target_pid" || fail "the target ended with status $?"
    target_pid=
}
sum_of() { sha256sum "$1" | cut -d' ' -f1; }
# tree_sum DIR: one checksum over every name and content in it.
tree_sum() { (cd "$1" && find . -path ./lost+found -prune -o -type f -print0 | sort -z | xargs -0 sha256sum) | sha256sum | cut -d' ' -f1; }
