# Linux's initiators, over TCP and over siw, against our target where it demands CHAP (RFC 7143 section 12.1.3).
. ./lib.sh
user=alice secret=what-alice-knows-1 target_user=storage target_secret=what-storage-knows finder_secret=what-finder-knows1
oneway_iqn=$iqn-oneway
# iscsiadm's exit status where the target says no, and where the initiator itself finds the target's proof wanting
denied=24 disbelieved=19

setup() {
    links
    load_siw stock
    umask 077
    echo "$secret" >/run/alice.secret
    echo "$target_secret" >/run/storage.secret
    echo "$finder_secret" >/run/finder.secret
    write_target_yaml <<Y
portals: ["$peer_ip:$port"]
discovery_auth: {users: [{name: finder, secret_file: finder.secret}], mutual: {name: $target_user, secret_file: storage.secret}}
targets:
  - name: $iqn
    auth: {users: [{name: $user, secret_file: alice.secret}], mutual: {name: $target_user, secret_file: storage.secret}}
    luns: [{lun: 0, memory: 16MiB}]
  - name: $oneway_iqn
    auth: {users: [{name: $user, secret_file: alice.secret}]}
    luns: [{lun: 0, memory: 16MiB}]
Y
    start_target
    start_iscsid
}

# chap USER DIGEST SECRET [TARGET_SECRET]: makes settings, of open-iscsi's
chap() {
    settings=(authmethod=CHAP "chap_algs=$2" "username=$1" "password=$3")
    [[ $# -eq 3 ]] || settings+=("username_in=$target_user" "password_in=$4")
}
# log_in_by TRANSPORT TARGET SETTING...
log_in_by() {
    local iqn=$2 auth=("${@:3}")
    log_in "$1" "$peer_ip" node.session.initial_login_retry_max=1 "${auth[@]/#/node.session.auth.}"
}
# logs_in TRANSPORT TARGET SETTING...: data flows, and the target knows who it is
logs_in() {
    local before
    before=$(grep -c "as user $user" /out/target.log || true)
    log_in_by "$@"
    head -c 1M /dev/urandom >/run/written
    dd if=/run/written of="$(disk_of 0)" bs=256k oflag=direct status=none
    dd if="$(disk_of 0)" bs=256k count=4 iflag=direct status=none | cmp - /run/written
    log_out
    [[ $(grep -c "as user $user" /out/target.log) -eq $((before + 1)) ]] || fail "the target does not say who logged in"
}
# digests TRANSPORT TARGET [TARGET_SECRET]: each alone, then all for the target to choose
digests() {
    local digest settings
    for digest in MD5 SHA1 SHA256 SHA3-256 SHA3-256,SHA256,SHA1,MD5; do
        chap "$user" "$digest" "$secret" "${@:3}"
        logs_in "$1" "$2" "${settings[@]}"
    done
}

# ends_with STATUS TRANSPORT TARGET SETTING...: no session comes of it
ends_with() {
    local status=0
    (log_in_by "${@:2}") || status=$?
    no_session || fail "a session came of it: ${*:4}"
    iscsiadm -m node -o delete
    [[ $status -eq $1 ]] || fail "iscsiadm ended with $status, not $1: ${*:4}"
}
refusals() {
    local settings
    ends_with "$denied" "$1" "$iqn" authmethod=None
    chap "$user" SHA256 not-what-alice-knows
    ends_with "$denied" "$1" "$iqn" "${settings[@]}"
    chap bob SHA256 "$secret"
    ends_with "$denied" "$1" "$iqn" "${settings[@]}"
    chap "$user" SHA256 "$secret" not-what-storage-knows
    ends_with "$disbelieved" "$1" "$iqn" "${settings[@]}"
    # A proof is asked of a target that has none to give.
    chap "$user" SHA256 "$secret" "$target_secret"
    ends_with "$denied" "$1" "$oneway_iqn" "${settings[@]}"
    ! grep -E "${secret}|${target_secret}|${finder_secret}" /out/target.log || fail "a secret in the target's log"
    chap "$user" SHA256 "$secret"
    logs_in "$1" "$oneway_iqn" "${settings[@]}"
}

# discover IFACE SETTING...: prints what was found; deleting the record deletes the nodes found
discover() {
    local setting record=(iscsiadm -m discoverydb -t sendtargets -p "$peer_ip:$port")
    "${record[@]}" -o new >/dev/null
    for setting in "${@:2}"; do
        [[ $setting != chap_algs=* ]] || continue
        "${record[@]}" -o update -n "discovery.sendtargets.auth.${setting%%=*}" -v "${setting#*=}"
    done
    "${record[@]}" -I "$1" --discover || { "${record[@]}" -o delete; return 1; }
    "${record[@]}" -o delete
}
# iscsiadm has no setting for the digests of discovery.
discovery() {
    local settings found proof
    for proof in '' "$target_secret"; do
        # shellcheck disable=SC2086  # nothing, or one word
        chap finder any "$finder_secret" $proof
        found=$(discover "$1" "${settings[@]}")
        [[ $(grep -c "^$peer_ip:$port,1 $iqn" <<<"$found") -eq 2 ]] || fail "found $found"
    done
    ! discover "$1" authmethod=None || fail "discovery without CHAP succeeds"
    chap "$user" any "$secret" # a user of the targets
    ! discover "$1" "${settings[@]}" || fail "discovery as a user of a target succeeds"
    chap finder any "$finder_secret" not-what-storage-knows
    ! discover "$1" "${settings[@]}" || fail "a target is believed that has not proved itself"
}

cells() {
    local transport
    for transport in tcp iser; do
        cell "$transport-one-way" digests "$transport" "$oneway_iqn"
        cell "$transport-mutual" digests "$transport" "$iqn" "$target_secret"
        cell "$transport-refusals" refusals "$transport"
    done
    cell discovery-tcp discovery default
    cell discovery-iser discovery iser
}
main
