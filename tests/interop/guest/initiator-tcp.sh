# Our initiator over plain iSCSI against three targets: LIO, tgt and istgt.
# variants: lio tgt istgt
variant=$1
. ./lib.sh
. ./initiator.sh
base=iscsi://$kernel_ip:$port/$iqn query= wire=plain lun=0 store=/dev/shm/$variant.img size=$((256 << 20))

setup() {
    links
    start_"$variant"
    wait_for 30 iser info "$(disk)" >/dev/null
}

start_lio() {
    lio_target "$size"
    lio_tcp_portal "$kernel_ip" "$port"
}

# tgt's LUN 0 is a controller, not a disk.
[[ $variant != tgt ]] || lun=1
start_tgt() {
    mkdir -p /run/tgtd
    [[ -f $store ]] || truncate -s "$size" "$store"
    tgtd -f --iscsi "portal=$kernel_ip:$port" >>/out/tgtd.log 2>&1 </dev/null &
    echo $! >/run/peer.pid
    wait_for 30 tgtadm --lld iscsi --mode system --op show >/dev/null
    tgtadm --lld iscsi --mode target --op new --tid 1 --targetname "$iqn"
    tgtadm --lld iscsi --mode logicalunit --op new --tid 1 --lun 1 --backing-store "$store"
    tgtadm --lld iscsi --mode target --op bind --tid 1 --initiator-address ALL
}

# istgt sends no sense data for a block beyond the end.
[[ $variant != istgt ]] || refusal='CHECK CONDITION without sense data'
start_istgt() {
    [[ -f $store ]] || truncate -s "$size" "$store"
    mkdir -p /etc/istgt /var/istgt
    : >/etc/istgt/auth.conf
    cat >/etc/istgt/istgt.conf <<C
[Global]
  NodeBase "${iqn%:*}"
  PidFile /run/istgt.pid
  AuthFile /etc/istgt/auth.conf
  MediaDirectory /var/istgt
  LogFacility "local7"
  Timeout 30
  NopInInterval 20
  DiscoveryAuthMethod None
  MaxSessions 16
  MaxConnections 4
  MaxR2T 32
  MaxOutstandingR2T 16
  DefaultTime2Wait 2
  DefaultTime2Retain 60
  FirstBurstLength 262144
  MaxBurstLength 1048576
  MaxRecvDataSegmentLength 262144
  InitialR2T Yes
  ImmediateData Yes
  DataPDUInOrder Yes
  DataSequenceInOrder Yes
  ErrorRecoveryLevel 0
[UnitControl]
  AuthMethod None
  AuthGroup None
  Portal UC1 127.0.0.1:3261
  Netmask 127.0.0.1
[PortalGroup1]
  Portal DA1 $kernel_ip:$port
[InitiatorGroup1]
  InitiatorName "ALL"
  Netmask ALL
[LogicalUnit1]
  TargetName ${iqn##*:}
  Mapping PortalGroup1 InitiatorGroup1
  AuthMethod None
  AuthGroup None
  UseDigest Auto
  UnitType Disk
  LUN0 Storage $store $((size >> 20))MB
C
    istgt -D -c /etc/istgt/istgt.conf >>/out/istgt.log 2>&1 </dev/null &
    echo $! >/run/peer.pid
}

# LIO's sessions are closed; the others die, and start again.
peer_is_gone() { ! kill -0 "$(cat /run/peer.pid)" 2>/dev/null; }
target_down() {
    if [[ $variant == lio ]]; then
        echo 0 >"$lio/iscsi/$iqn/tpgt_1/enable"
    else
        kill -KILL "$(cat /run/peer.pid)"
        wait_for 30 peer_is_gone
    fi
}
target_up() {
    if [[ $variant == lio ]]; then
        echo 1 >"$lio/iscsi/$iqn/tpgt_1/enable"
    else
        start_"$variant"
    fi
}

# Each digest alone, and both.
peer_digest() { # NAME VALUE: tgt has to be told which it takes
    local value=${2/crc32c/CRC32C}
    [[ $variant != tgt ]] || tgtadm --lld iscsi --mode target --op update --tid 1 --name "$1" --value "${value/none/None}"
}
digests() {
    local digest header data
    head -c 2M /dev/urandom >/run/data
    for digest in crc32c:none none:crc32c crc32c:crc32c; do
        header=${digest%:*} data=${digest#*:}
        peer_digest HeaderDigest "$header"
        peer_digest DataDigest "$data"
        query="?header-digest=$header&data-digest=$data"
        iser info --json "$(disk)" >/run/info
        [[ $(of_json '[it["connection"]["keys"][k + "Digest"].lower() for k in ("Header", "Data")]' </run/info) == \
            "['$header', '$data']" ]] || fail "$digest was not agreed"
        iser cp --verify /run/data "$(disk)"
        store_has 0 /run/data || fail "$digest: the target has other data than was copied"
        iser ping "$(disk)" -c 2 -i 0
    done
}

cells() {
    cell discover discover_it "$kernel_ip"
    cell discover-plain discover_it "iscsi://$kernel_ip"
    initiator_cells
    cell digests digests
}
main
