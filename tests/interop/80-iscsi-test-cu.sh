# libiscsi's conformance suite, all of it: over plain iSCSI, on file and memory LUNs of 512 and 4096 bytes a block, two LUNs at once,
# each with a second path. What it leaves out has to be in iscsi-test-cu.skipped, with the reason in target/README.md.
. "$(dirname "$0")/lib.sh"
requires iscsi-test-cu
expected=$(cd "$(dirname "$0")" && pwd)/iscsi-test-cu.skipped

# A second path is another portal. The suite's arithmetic holds only where physical blocks are no larger than logical ones.
cat >"$work/target.yaml" <<Y
portals: [{address: "127.0.0.1:0", tag: 1}, {address: "127.0.0.1:0", tag: 2}]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: disk512, size: 256MiB, physical_block_size: 512}
      - {lun: 1, memory: 256MiB, physical_block_size: 512}
      - {lun: 2, file: disk4096, size: 256MiB, block_size: 4096}
      - {lun: 3, memory: 256MiB, block_size: 4096}
Y
start_target
second=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$work/target.log" | head -n 1)

# suite LUN: its output to a file
suite() { timeout 900 iscsi-test-cu -d -n -S -f -t ALL "iscsi://$portal/$iqn/$1" "iscsi://$second/$iqn/$1" >"$work/suite.$1" 2>&1; }
# judge LUN: nothing failed, and nothing was left out that is not expected to be
judge() {
    local out=$work/suite.$1 line
    echo "LUN $1: $(grep -cE '^ *Test: .*passed' "$out") tests, left out: $(grep -c 'SKIPPED' "$out")"
    for line in tests asserts; do
        grep -qE "^ *$line +[0-9]+ +[0-9]+ +[0-9]+ +0 " "$out" || { grep -A 6 -E 'FAILED|CU_' "$out" | head -n 60; fail "LUN $1: some $line failed"; }
    done
    sed -n 's/.*\[SKIPPED\] *//p' "$out" | sort -u | grep -vxFf <(grep -v '^#' "$expected") >"$work/unexpected" || true
    [[ ! -s $work/unexpected ]] || { cat "$work/unexpected"; fail "LUN $1: more was left out than is expected"; }
}
for pair in '0 3' '1 2'; do
    running=()
    for lun in $pair; do
        suite "$lun" &
        running+=($!)
    done
    for pid in "${running[@]}"; do wait "$pid" || true; done # judged by what they printed
    for lun in $pair; do judge "$lun"; done
done
stop_target
