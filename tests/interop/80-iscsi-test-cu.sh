# libiscsi's conformance suite, all of it: over plain iSCSI, on file and memory LUNs of 512 and 4096 bytes a block, all at
# once, each with a second path. What it leaves out, and what is wrong in it, has to be in iscsi-test-cu.expected.
. "$(dirname "$0")/lib.sh"
requires iscsi-test-cu
expected() { sed -n "s/^$1 //p" "$(dirname "$0")/iscsi-test-cu.expected" | paste -sd '|'; }

# Each LUN has a target, as the suite resets targets; a second path is another portal. One test's arithmetic
# (GetLBAStatus.UnmapSingle) holds only where physical blocks are no larger than logical ones.
disks=("file: disk512, size: 64MiB, physical_block_size: 512" "memory: 64MiB, physical_block_size: 512"
    "file: disk4096, size: 64MiB, block_size: 4096" "memory: 64MiB, block_size: 4096")
# start SANITIZE_RATE
start() {
    local i
    {
        echo 'portals: [{address: "127.0.0.1:0", tag: 1}, {address: "127.0.0.1:0", tag: 2}]'
        echo 'targets:'
        for i in "${!disks[@]}"; do
            echo "  - name: $iqn$i"
            echo "    luns: [{lun: 0, sanitize_rate: $1, ${disks[i]}}]"
        done
        echo "  - name: ${iqn}9"
        echo "    luns: [{lun: 0, memory: 64MiB, read_only: true}]"
        # The suite sleeps for a minute at a time without listening.
        echo "limits: {nop_interval: 0}"
    } >"$work/target.yaml"
    start_target
    second=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$work/target.log" | head -n 1)
}

# suite DISK TESTS [SECOND_PATH]: its output to a file
suite() {
    local urls=("iscsi://$portal/$iqn$1/0")
    [[ $# -lt 3 ]] || urls+=("iscsi://$3/$iqn$1/0")
    timeout 900 iscsi-test-cu -d -n -S -t "$2" "${urls[@]}" >"$work/suite.$1" 2>&1
}
# suites TESTS [SECOND_PATH]: on all disks; they are judged by what they print
suites() {
    local i pid running=()
    for i in "${!disks[@]}"; do
        suite "$i" "$@" &
        running+=($!)
    done
    for pid in "${running[@]}"; do wait "$pid" || true; done
    for i in "${!disks[@]}"; do
        echo "${disks[i]}:"
        grep -A 4 'Run Summary' "$work/suite.$i" || { tail -n 20 "$work/suite.$i"; fail "the suite did not come to its end"; }
    done
}
# nothing_more DISK WHAT: what is read is expected, of that kind
nothing_more() {
    local unexpected
    unexpected=$(sort | uniq -c | tee "$work/$2" | grep -vE "$(expected "$2")") || true
    sed "s/^/$2: /" "$work/$2"
    [[ -z $unexpected ]] || { grep -E 'FAILED|CU_' "$work/suite.$1" | head -n 60; fail "${disks[$1]}: more is $2 than expected: $unexpected"; }
}
start 0
suites ALL "$second"
for i in "${!disks[@]}"; do
    sed -n 's/.*\[SKIPPED\] *//p' "$work/suite.$i" | nothing_more "$i" skipped
    sed -n 's/^ *[0-9]*\. \(test_[a-z0-9_]*\)\.c:.*/\1/p' "$work/suite.$i" | nothing_more "$i" wrong
done
# One test wants a disk that is write-protected.
timeout 300 iscsi-test-cu -d -n -t ALL.ReadOnly "iscsi://$portal/${iqn}9/0" >"$work/suite.9" 2>&1 || fail "ReadOnly: status $?"
grep -qE '^ *asserts +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +0 ' "$work/suite.9" || { tail -n 20 "$work/suite.9"; fail "ReadOnly fails"; }
! grep SKIPPED "$work/suite.9" || fail "ReadOnly is skipped"
stop_target
# Sanitize.Reset is wrong only with a second path, by which the test before it still has the disk reserved. It wants a SANITIZE that
# lasts for more than four seconds.
start 6MiB
suites ALL.Sanitize.Reset
for i in "${!disks[@]}"; do
    grep -qE '^ *asserts +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +0 ' "$work/suite.$i" || fail "${disks[i]}: Sanitize.Reset fails"
done
stop_target
