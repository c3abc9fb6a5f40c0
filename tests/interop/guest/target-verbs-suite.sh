# libiscsi's conformance suite by RDMA devices against LIO's target and ours, on one address of this guest: ours passes each test that
# LIO's passes. These are tests that send no data: over iSER libiscsi 1.19 announces immediate data and leaves it out, and so LIO and we
# end the connection.
# variants: siw rxe
variant=$1
. ./lib.sh
target_net=$kernel_net
our_port=3261
tests=(
    TestUnitReady.Simple Mandatory.MandatorySBC ModeSense6.{AllPages,Control} ReadCapacity10.Simple
    ReadCapacity16.{Simple,Alloclen,PI,Support} Inquiry.{Standard,AllocLength,EVPD,BlockLimits,MandatoryVPDSBC,SupportedVPD,VersionDescriptors}
    Read10.{Simple,BeyondEol} Read12.{Simple,BeyondEol} Read16.{Simple,BeyondEol} Prefetch10.{Simple,BeyondEol} Prefetch16.{Simple,BeyondEol}
    PrinReadKeys.Simple
)

setup() {
    links
    load_rdma "$variant"
    lio_target 64M
    lio_iser_portal "$kernel_ip" "$port"
    write_target_yaml <<Y
portals: [{address: "$kernel_ip:$our_port", transport: verbs}]
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 64MiB}
Y
    start_target
    cc -shared -fPIC -fno-builtin -o /run/steady_memory.so steady_memory.c
    for each in $port $our_port; do wait_for 30 iscsi-inq "$(url "$each")" >/dev/null; done
}
url() { echo "iser://$kernel_ip:$1/$iqn/0"; }
# outcome PORT TEST: passed, or what became of it
outcome() {
    local status=0
    LD_PRELOAD=/run/steady_memory.so timeout -k 5 30 iscsi-test-cu -d -n -t "ALL.$2" "$(url "$1")" >/run/test.log 2>&1 || status=$?
    if grep -qE '^ *tests +1 +1 +1 +0 ' /run/test.log; then
        echo passed
    else
        echo "status $status, $(grep -aE '^ *[0-9]+\. test_|FAILED|Suite init' /run/test.log | tail -n 1)"
    fi
}
# suite NAME: the tests of that suite
suite() {
    local test lio ours worse=() passed=0
    for test in "${tests[@]}"; do
        [[ $test == $1.* ]] || continue
        lio=$(outcome "$port" "$test")
        ours=$(outcome "$our_port" "$test")
        printf '%s\n  LIO: %s\n  ours: %s\n' "$test" "$lio" "$ours"
        [[ $ours != passed ]] || passed=$((passed + 1))
        [[ $ours == passed || $lio != passed ]] || worse+=("$test")
    done
    [[ ${#worse[@]} == 0 ]] || fail "LIO passes, and ours does not: ${worse[*]}"
    [[ $passed -gt 0 ]] || fail "no test passes"
}

# The tool as it comes. Its suites fail to initialise, with LIO too; what it asks of a disk before that has to be answered as LIO answers it.
as_it_comes() {
    local each
    for each in $port $our_port; do
        timeout -k 5 30 iscsi-test-cu -d -n -V -t ALL.TestUnitReady.Simple "$(url "$each")" >"/run/asked.$each" 2>&1 || true
        cat "/run/asked.$each"
        # Up to the first suite; LIO of Linux 6.1 has no REPORT SUPPORTED OPERATION CODES.
        sed -n '/CUnit - /q; /OPCODE/d; /Send\|returned/p' "/run/asked.$each" >"/run/answered.$each"
    done
    grep -q 'MODESENSE6 returned SUCCESS' "/run/answered.$our_port" || fail "not all is answered"
    diff "/run/answered.$port" "/run/answered.$our_port" || fail "not asked and answered alike"
}

cells() {
    local name
    for name in $(printf '%s\n' "${tests[@]%.*}" | uniq); do cell "$name" suite "$name"; done
    cell as-it-comes as_it_comes
}
main
