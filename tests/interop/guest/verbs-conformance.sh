# The provider suite of tests/conformance over RDMA devices, both ends on one address of this guest.
# variants: siw rxe
variant=$1
. ./lib.sh

# rdma-core's siw does not tell which STag a Send invalidated. The kernel's (Linux 6.1) lets a peer read what is open for writing, and
# hands TCP the memory itself for a Read Response, not a copy.
declare -A lacks=([siw]="invalidated read-access read-end" [rxe]=)

setup() {
    links
    load_rdma "$variant"
}
# suite NAME [ADDRESS]: its cases over the device; it fails too if there are none
suite() {
    [[ -x $BIN/conformance ]] || skip "the program conformance is not built"
    OPENISER_VERBS_ADDRESS=${2:-$kernel_ip} OPENISER_VERBS_LACKS="${lacks[$variant]}" \
        "$BIN/conformance" --gtest_filter="$1*/Verbs" --gtest_color=no | tee /run/suite.log
    grep -q '^\[  PASSED  \] [1-9]' /run/suite.log
}
over_ipv6() {
    ip addr add fd00:9::1/64 dev kernel1 nodad
    suite Connection fd00:9::1
}
link_lost() { OPENISER_VERBS_CUT="ip link set kernel1 down" suite VerbsDevice.AConnectionWhoseLinkGoesEnds; }
cells() {
    local name
    for name in Connection Send Write Read Region; do cell "${name,,}" suite "$name"; done
    cell device suite VerbsDevice
    cell ipv6 over_ipv6
    cell link-lost link_lost
}
main
