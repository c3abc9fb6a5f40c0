# The provider suite of tests/conformance over RDMA devices, both ends on one address of this guest.
# variants: siw rxe
variant=$1
. ./lib.sh

# rdma-core's siw does not tell which STag a Send invalidated. The kernel's (Linux 6.1) lets a peer read what is open for writing, and
# hands TCP the memory itself for a Read Response, not a copy.
declare -A lacks=([siw]="invalidated read-access read-end" [rxe]=)

setup() {
    links
    case $variant in
        siw) load_siw stock ;;
        rxe)
            modprobe -a ib_uverbs rdma_ucm rdma_rxe
            rdma link add rxe1 type rxe netdev kernel1
            ;;
    esac
}
# suite NAME: its cases over the device; it fails too if there are none
suite() {
    [[ -x $BIN/conformance ]] || skip "the program conformance is not built"
    ulimit -l unlimited # siw counts root's memory too
    OPENISER_VERBS_ADDRESS=$kernel_ip OPENISER_VERBS_LACKS="${lacks[$variant]}" \
        "$BIN/conformance" --gtest_filter="*$1.*/Verbs" --gtest_color=no | tee "/run/$1.log"
    grep -q '^\[  PASSED  \] [1-9]' "/run/$1.log"
}
cells() {
    local name
    for name in Connection Send Write Read Region; do cell "${name,,}" suite "$name"; done
}
main
