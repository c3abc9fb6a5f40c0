# tests/bench by verbs, over the kernel's soft RDMA devices: not for figures, which emulation has none of, but that each contender and
# each part of the report is there.
# variants: siw rxe
variant=$1
. ./lib.sh
bench=../../bench/run

setup() {
    links
    load_rdma "$variant"
}
# What --smoke itself finds missing makes it fail.
smoke() {
    [[ -x $BIN/ping_pong ]] || skip "the programs of the target benchmarks are not built"
    in_net "$kernel_net" $bench --smoke --wire verbs --address "$kernel_ip" --bin "$BIN" --out /out/bench || fail "something is missing"
    grep -q "^RDMA at $kernel_ip: .*netdev kernel1" /out/bench/report.md || fail "the report does not name the device"
    grep -E '^\| iser-verbs \| [0-9.]+ ' /out/bench/report.md || fail "no figures of iser-verbs in the report"
    [[ $(wire_of_samples) == verbs ]] || fail "iser-verbs did not go by verbs"
}
wire_of_samples() {
    python3 - <<'P'
import json
samples = [s for s in json.load(open("/out/bench/results.json"))["samples"] if s["contender"].startswith("iser-verbs")]
print(*{s["wire"] for s in samples if s["ios"] and not s["errors"]})
P
}
# An address of this side that no device has is refused in one line, before anything is made.
refused() {
    local status=0 plain=10.9.3.1
    ip addr add "$plain/32" dev lo
    in_net "$kernel_net" $bench --wire verbs --address "$plain" --bin "$BIN" --out /run/nowhere 2>/run/error || status=$?
    cat /run/error
    [[ $status == 2 && $(wc -l </run/error) == 1 && ! -e /run/nowhere ]] || fail "not refused in one line"
    grep -q 'no RDMA device' /run/error || fail "does not say that there is no device"
}

cells() {
    cell refused refused
    cell smoke smoke
}
main
