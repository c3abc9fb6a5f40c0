# sg3-utils through the kernel's disk of a LUN of ours: what each tool says is compared with what it should say.
. ./lib.sh

setup() {
    links
    write_target_yaml <<Y
portals: [{address: "$peer_ip:$port"}, {address: "$peer_ip2:$port", tag: 2}]
state_directory: /run/state
targets:
  - name: $iqn
    luns:
      - {lun: 0, file: /dev/shm/lun0, size: 64MiB, vendor: example, product: first disk, serial: "0042"}
      - {lun: 3, memory: 64MiB, block_size: 4096}
      - {lun: 5, file: /dev/shm/lun5, size: 16MiB, serial: "0005"}
      - {lun: 7, file: /dev/shm/lun7, size: 1MiB, read_only: true}
Y
    truncate -s 1M /dev/shm/lun7
    start_target
    start_iscsid
    log_in tcp "$peer_ip"
    disk_of 0 && disk_of 3 && disk_of 5 && disk_of 7
}
# says LINE_PATTERN... -- COMMAND...: COMMAND succeeds, and each pattern is found in a line of what it prints
says() {
    local patterns=() pattern
    while [[ $1 != -- ]]; do
        patterns+=("$1")
        shift
    done
    shift
    "$@" >/run/said 2>&1 || { cat /run/said; fail "$*: status $?"; }
    cat /run/said
    for pattern in "${patterns[@]}"; do grep -qiE "$pattern" /run/said || fail "$*: does not say '$pattern'"; done
}
# refused SENSE COMMAND...: COMMAND fails, and names SENSE
refused() {
    local sense=$1
    shift
    ! "$@" >/run/said 2>&1 || { cat /run/said; fail "$* succeeds"; }
    cat /run/said
    grep -qiE "$sense" /run/said || fail "$*: refused, but not with '$sense'"
}
# read_back DISK LBA COUNT: blocks of 512 bytes, to /run/back
read_back() {
    rm -f /run/back
    sg_dd if="$1" of=/run/back bs=512 skip="$2" count="$3" iflag=sgio
}
# The tools open a disk for writing even to read of it, and the kernel refuses that for one that is read-only; not for its sg.
with_disks() {
    zero=$(disk_of 0) three=$(disk_of 3) five=$(disk_of 5) seven=$(sg_of 7)
    "$@"
}

inquiry() {
    says 'Vendor identification: example' 'Product identification: first disk' 'Unit serial number: 0042' \
        'PDT=0 ' 'HiSUP=1' 'CmdQue=1' 'version=0x06' -- sg_inq "$zero"
    says 'Supported VPD pages' '0x80' '0x83' '0x86' '0xb0' '0xb1' '0xb2' -- sg_inq -p 0 "$zero"
    says 'Unit serial number: 0042' -- sg_inq -p sn "$zero"
    says "$iqn,t,0x0001" 'NAA' -- sg_inq -p di "$zero"
    says 'SIMPSUP=1' 'V_SUP=1' -- sg_inq -p ei "$zero"
    says 'Maximum transfer length: 32768 blocks' 'Maximum unmap LBA count: 1048576' \
        'Maximum compare and write length: 255 blocks' -- sg_inq -p bl "$zero"
    says 'Maximum transfer length: 4096 blocks' -- sg_inq -p bl "$three"
    says 'Non-rotating medium' -- sg_vpd -p bdc "$zero"
    says 'LBPU\): 1' 'LBPWS\): 1' 'LBPRZ\): 1' 'Provisioning type: 2' -- sg_vpd -p lbpv "$zero"
    says 'LBPU\): 0' -- sg_vpd -p lbpv "$seven"
    says 'Third party copy VPD page' -- sg_vpd -p tpc "$zero"
    refused 'invalid field in cdb' sg_raw -r 255 "$zero" 12 01 c0 00 ff 00
}
capacity() {
    says 'Last LBA=131071 ' 'Logical block length=512 bytes' 'lbpme=1, lbprz=1' 'physical block exponent=3 ' \
        -- sg_readcap -16 "$zero"
    says 'Last LBA=16383 ' 'Logical block length=4096 bytes' 'lbpme=1, lbprz=1' -- sg_readcap -16 "$three"
    says 'Last LBA=2047 ' 'lbpme=0, lbprz=0' -- sg_readcap -16 "$seven"
    says 'Last LBA=131071 ' -- sg_readcap "$zero"
}
luns() {
    says 'Lun list length = 32' '0000000000000000' '0003000000000000' '0005000000000000' '0007000000000000' -- sg_luns "$zero"
    says 'Lun list length = 32' -- sg_luns -s 2 "$three"
}
modes() {
    says 'Caching' 'Mode data length' -- sg_modes -p 8 "$zero"
    says 'Control' -- sg_modes -p 0xa "$zero"
    says 'Caching' 'Control' 'Informational exceptions' -- sg_modes -a "$zero"
    # DPOFUA is bit 4 of the device specific parameter, WP bit 7.
    says 'WP=0' 'DpoFua=1' -- sg_modes "$zero"
    says 'WP=1' -- sg_modes "$seven"
}
sense_and_ready() {
    says 'No Sense' -- sg_requests -vv "$zero"
    says . -- sg_turs -n 3 -vv "$zero"
    says 'descriptor format' -- sg_requests -d -vv "$zero"
}
# The last four blocks of 4096 are written, and read back by their checksum.
verify() {
    head -c 4096 /dev/urandom >/run/block
    sg_dd if=/run/block of="$three" bs=4096 seek=16383 count=1 oflag=sgio
    says 'Verified 16384 ' 'without error' -- sg_verify -v --16 --bpc=4096 --lba=0 --count=16384 "$three"
    says . -- sg_verify -vv --16 --lba=16383 --ndo=4096 --in=/run/block "$three"
    head -c 4096 /dev/zero >/run/other
    refused 'miscompare' sg_verify --16 --lba=16383 --ndo=4096 --in=/run/other "$three"
    refused 'LBA out of range' sg_verify --16 --lba=16384 --count=1 "$three"
}
unmap() {
    head -c 8192 /dev/urandom >/run/blocks
    sg_dd if=/run/blocks of="$zero" bs=512 seek=64 count=16 oflag=sgio
    read_back "$zero" 64 16
    cmp /run/blocks /run/back
    says 'LBA: 0x0*40 +blocks: +16 +mapped' -- sg_get_lba_status --lba=64 "$zero"
    says . -- sg_unmap -vv --lba=64 --num=8 --force "$zero"
    says 'LBA: 0x0*40 +blocks: +8 +deallocated' -- sg_get_lba_status --lba=64 "$zero"
    read_back "$zero" 64 16
    cmp -n 4096 /run/back /dev/zero || fail "what was unmapped is not zeros"
    cmp -i 4096 /run/blocks /run/back || fail "its neighbour was unmapped, too"
}
write_same() {
    head -c 512 /dev/urandom >/run/block
    says . -- sg_write_same -vv --16 --lba=1000 --num=100 --in=/run/block "$zero"
    for _ in {1..100}; do cat /run/block; done >/run/blocks
    read_back "$zero" 1000 100
    cmp /run/blocks /run/back || fail "not the block over and over"
    says . -- sg_write_same -vv --16 --unmap --lba=1000 --num=50 --in=/dev/zero --xferlen=512 "$zero"
    read_back "$zero" 1000 100
    cmp -n 25600 /run/back /dev/zero || fail "not zeros"
    cmp -i 25600 /run/blocks /run/back || fail "more than that are zeros"
    refused 'data protect|write protected' sg_write_same --16 --lba=0 --num=1 --in=/run/block "$seven"
}
cache_and_start() {
    says . -- sg_sync -vv "$zero"
    says '91 00 00 00 00 00 00 00 00 00 00 00 00 08' -- sg_sync -vv --16 --lba=0 --count=8 "$zero"
    says . -- sg_start -vv --stop "$zero"
    says . -- sg_turs -vv "$zero"
    says . -- sg_start -vv --start "$zero"
    refused 'illegal request' sg_start --pc=2 "$zero"
}
opcodes() {
    says 'Inquiry' 'Read\(16\)' 'Write same\(16\)' 'Compare and write' 'Unmap' 'Get LBA status' \
        'Report supported operation codes' -- sg_opcodes "$zero"
    says 'Command is NOT supported' -- sg_opcodes --opcode=0x36 "$zero"
}
compare_and_write() {
    head -c 512 /dev/urandom >/run/old
    head -c 512 /dev/urandom >/run/new
    sg_dd if=/run/old of="$zero" bs=512 seek=2000 count=1 oflag=sgio
    cat /run/old /run/new >/run/pair
    says . -- sg_compare_and_write -vv --lba=2000 --num=1 --in=/run/pair "$zero"
    refused 'miscompare' sg_compare_and_write --lba=2000 --num=1 --in=/run/pair "$zero"
    read_back "$zero" 2000 1
    cmp /run/new /run/back
}
# ---- commands that manage

port_groups() {
    says 'Report target port groups:' 'target port group id : 0x1 ' 'target port group id : 0x2 ' 'asymmetric access state : 0x00' \
        'T_SUP : 1, O_SUP : 0, LBD_SUP : 0, U_SUP : 1, S_SUP : 1, AN_SUP : 1, AO_SUP : 1' -- sg_rtpg -d "$three"
    says 'tpgs=3' -- sg_inq -vv "$three"
    says -- sg_stpg --tp=1,2 --state=an,s "$three"
    says 'access state : 0x01' 'access state : 0x02' 'changed by SET' -- sg_rtpg -d "$three"
    says -- sg_turs "$three" # non-optimized is active, too
    says -- sg_stpg --tp=1 --state=s "$three"
    refused 'not ready' sg_dd if="$three" of=/dev/null bs=4096 count=1 iflag=sgio
    says 'access state : 0x02' -- sg_rtpg -d "$three"
    says -- sg_stpg --tp=1,2 --state=ao,ao "$three"
    sg_dd if="$three" of=/dev/null bs=4096 count=1 iflag=sgio
    # This tool's status is 0 whatever comes of it.
    says 'illegal request' -- sg_stpg --tp=9 --state=ao "$three"
    says 'illegal request' -- sg_stpg --tp=1 --state=o "$three"
}
identify() {
    says 'Abort task' 'Logical unit reset' -- sg_opcodes --tmf "$zero"
    echo "rack 4, shelf 2" >/run/ident
    sg_ident --set <<<"rack 4, shelf 2" "$zero"
    says 'rack 4, shelf 2' -- sg_ident --ascii "$zero"
    sg_ident --clear "$zero"
    ! sg_ident --ascii "$zero" | grep rack || fail "not cleared"
    says -- sg_timestamp --milliseconds=1600000000000 "$zero"
    says '16000000[0-9]{5}' -- sg_timestamp "$zero"
}
# Copies that the target makes by itself, between LUNs and within one (EXTENDED COPY, LID1)
xcopy() {
    local from to
    from=$(sg_of 0) to=$(sg_of 5)
    head -c 1M /dev/urandom >/run/blocks
    sg_dd if=/run/blocks of="$zero" bs=512 seek=4096 count=2048 oflag=sgio
    says -- sg_xcopy if="$from" of="$to" bs=512 skip=4096 seek=8192 count=2048
    read_back "$five" 8192 2048
    cmp /run/blocks /run/back || fail "LUN 5 has not what LUN 0 has"
    says -- sg_xcopy if="$to" of="$to" bs=512 skip=8192 seek=0 count=1024
    read_back "$five" 0 1024
    cmp -n 524288 /run/blocks /run/back || fail "not copied within LUN 5"
    says 'Maximum target descriptor count' -- sg_copy_results --params "$zero"
    refused . sg_xcopy if="$from" of="$to" bs=512 skip=131071 seek=0 count=2
    says '3PC=1' -- sg_inq "$zero"
}
logs() {
    says 'Write error' 'Read error' 'Logical block provisioning' 'Self test results' 'Informational exceptions' \
        -- sg_logs --list "$zero"
    says 'Total uncorrected errors = 0' -- sg_logs --page=2 "$zero"
    says 'Total uncorrected errors = 0' -- sg_logs --page=3 "$zero"
    says 'Available LBA mapping threshold resource count: [1-9]' 'Used LBA mapping threshold resource count: [0-9]' \
        -- sg_logs --page=0xc "$zero"
    says -- sg_senddiag --test "$zero"
    says 'Self-test results' -- sg_logs --page=0x10 "$zero"
    says 'Supported diagnostic pages' -- sg_senddiag --list "$zero"
}
# The write cache is turned off and on, and sense data asked for in the other format.
mode_select() {
    local rest=,00,00,00,00,00,00,00,00,00 # of the control page, which the mask leaves as it is
    says -- sg_wr_mode --page=8 --contents="08,12,00" --mask="00,00,04" "$zero"
    says 'WCE: 0|WCE=0|08 12 00' -- sg_modes -p 8 "$zero"
    says -- sg_wr_mode --page=8 --contents="08,12,04" --mask="00,00,04" "$zero"
    says -- sg_wr_mode --page=0xa --contents="0a,0a,04$rest" --mask="00,00,04$rest" "$zero"
    refused 'Descriptor format' sg_raw -r 512 "$zero" 28 00 00 02 00 00 00 00 01 00
    says -- sg_wr_mode --page=0xa --contents="0a,0a,00$rest" --mask="00,00,04$rest" "$zero"
    refused 'Fixed format' sg_raw -r 512 "$zero" 28 00 00 02 00 00 00 00 01 00
}
write_verify() {
    head -c 4096 /dev/urandom >/run/blocks
    says -- sg_write_verify --16 --lba=3000 --num=8 --in=/run/blocks --ilen=4096 "$zero"
    read_back "$zero" 3000 8
    cmp /run/blocks /run/back
    says -- sg_write_x --atomic=0 --lba=3100 --num=8 --bs=512 --in=/run/blocks "$zero"
    read_back "$zero" 3100 8
    cmp /run/blocks /run/back || fail "not written by WRITE ATOMIC"
    says -- sg_write_x --or --lba=3100 --num=8 --bs=512 --in=/run/blocks "$zero"
    read_back "$zero" 3100 8
    cmp /run/blocks /run/back || fail "ORWRITE of the same changes it"
}
sanitize() {
    says -- sg_sanitize --overwrite --pattern=/run/block --wait --quick --count=1 "$five"
    says -- sg_sanitize --block --wait --quick "$five"
    read_back "$five" 0 2048
    cmp -n 1048576 /run/back /dev/zero || fail "not zeros after a block erase"
    refused 'invalid|illegal' sg_sanitize --crypto --wait --quick "$five"
}

cells() {
    local name
    for name in inquiry capacity luns modes sense-and-ready verify unmap write-same cache-and-start opcodes compare-and-write port-groups identify xcopy logs \
        mode-select write-verify sanitize; do
        cell "$name" with_disks "${name//-/_}"
    done
    cell logout log_out
}
main
