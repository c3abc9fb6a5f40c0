# Our initiator against targets that demand CHAP: LIO over TCP and over siw, and tgt.
. ./lib.sh
. ./initiator.sh
user=alice secret=what-alice-knows-1 target_user=storage target_secret=what-storage-knows finder_secret=what-finder-knows1
size=$((16 << 20)) tgt_port=3270 iser_port=3261

setup() {
    umask 077
    echo "$secret" >/run/alice.secret
    echo "$target_secret" >/run/storage.secret
    echo "$finder_secret" >/run/finder.secret
    echo not-what-they-know >/run/wrong.secret
    links
    load_siw stock
    lio_target "$size"
    lio_tcp_portal "$kernel_ip" "$port"
    lio_iser_portal "$kernel_ip" "$iser_port"
    lio_auth "$lio/iscsi/$iqn/tpgt_1/auth" "$user" "$secret"
    lio_auth "$lio/iscsi/discovery_auth" finder "$finder_secret"
    echo 1 >"$lio/iscsi/$iqn/tpgt_1/attrib/authentication"
    echo 1 >"$lio/iscsi/discovery_auth/enforce_discovery_auth"
    start_tgt
}
# lio_auth FOLDER USER SECRET. LIO takes a line end for a part of it.
lio_auth() {
    printf %s "$2" >"$1/userid"
    printf %s "$3" >"$1/password"
    printf %s "$target_user" >"$1/userid_mutual"
    printf %s "$target_secret" >"$1/password_mutual"
}
start_tgt() {
    mkdir -p /run/tgtd
    truncate -s "$size" /dev/shm/tgt.img
    tgtd -f --iscsi "portal=$kernel_ip:$tgt_port" >>/out/tgtd.log 2>&1 </dev/null &
    wait_for 30 tgt --mode system --op show >/dev/null
    tgt --mode target --op new --tid 1 --targetname "$iqn"
    tgt --mode logicalunit --op new --tid 1 --lun 1 --backing-store /dev/shm/tgt.img
    tgt --mode target --op bind --tid 1 --initiator-address ALL
    tgt --mode account --op new --user "$user" --password "$secret"
    tgt --mode account --op new --user "$target_user" --password "$target_secret"
    tgt --mode account --op bind --tid 1 --user "$user"
    tgt --mode account --op bind --tid 1 --user "$target_user" --outgoing
}
tgt() { tgtadm --lld iscsi "$@"; }

own=(--secret-file /run/alice.secret) proof=(--mutual-secret-file /run/storage.secret)
# served URL OPTION...: what is written comes back
served() {
    head -c 1M /dev/urandom >/run/written
    iser write "$1" --lba 0 -i /run/written "${@:2}"
    iser read "$1" --lba 0 --count 2048 -o /run/read "${@:2}"
    cmp /run/written /run/read
}
# denied WORDS COMMAND...: one clear line with them, and exit status 1
denied() {
    local status=0
    iser "${@:2}" >/run/out 2>/run/error || status=$?
    cat /run/error
    [[ $status -eq 1 && $(wc -l </run/error) -eq 1 ]] || fail "${*:2}: status $status"
    grep -q "$1" /run/error || fail "${*:2}: no word of $1"
    ! grep -E "${secret}|${target_secret}|not-what-they-know" /run/error || fail "a secret in a message"
}
# Of a refusal LIO mostly says nothing over iSER: it closes the connection.
normal() {
    local url=$1
    served "$url?user=$user" "${own[@]}"
    served "$url?user=$user" "${own[@]}" "${proof[@]}"
    served "$url?user=$user" "${own[@]}" "${proof[@]}" --mutual-user "$target_user"
    denied 'add user=NAME' info "$url"
    denied 'check the user' info "$url?user=bob" "${own[@]}"
    denied 'check the user' info "$url?user=$user" --secret-file /run/wrong.secret
    served "$url?user=$user" "${own[@]}"
    denied 'did not prove that it knows its secret' info "$url?user=$user" "${own[@]}" --mutual-secret-file /run/wrong.secret
    # Once left in the middle of a login, LIO's iSER portal does not hear the next.
    [[ $url != iser:* ]] || return 0
    denied "calls itself 'storage'" info "$url?user=$user" "${own[@]}" "${proof[@]}" --mutual-user another
    served "$url?user=$user" "${own[@]}"
}
discovery() {
    local portal=$1
    iser discover "$portal?user=finder" --secret-file /run/finder.secret "${proof[@]}" | tee /run/found
    grep -q "^$iqn " /run/found
    iser discover "$portal?user=finder" --secret-file /run/finder.secret | grep -q "^$iqn "
    denied 'add user=NAME' discover "$portal"
    denied 'check the user' discover "$portal?user=$user" "${own[@]}"
}

cells() {
    cell lio-tcp normal "iscsi://$kernel_ip:$port/$iqn/0"
    cell lio-discovery discovery "iscsi://$kernel_ip:$port"
    cell tgt normal "iscsi://$kernel_ip:$tgt_port/$iqn/1"
    cell lio-iser normal "iser://$kernel_ip:$iser_port/$iqn/0"
}
main
