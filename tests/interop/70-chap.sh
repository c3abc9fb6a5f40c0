# CHAP as users type it: our initiator over every wire and libiscsi's tools, against a target that demands it.
. "$(dirname "$0")/lib.sh"
requires iscsi-inq iscsi-ls
user=alice secret=what-alice-knows-1 target_secret=what-storage-knows finder_secret=what-finder-knows1
umask 077
echo "$secret" >"$work/alice.secret"
echo "$target_secret" >"$work/storage.secret"
echo "$finder_secret" >"$work/finder.secret"
echo not-what-they-know >"$work/wrong.secret"
config_with_luns "lun: 0, memory: 16MiB"
cat >>"$work/target.yaml" <<Y
    auth: {users: [{name: $user, secret_file: alice.secret}], mutual: {name: storage, secret_file: storage.secret}}
discovery_auth: {users: [{name: finder, secret_file: finder.secret}]}
Y

# A secret that others can read is none.
chmod 640 "$work/alice.secret"
! iser-targetd --config "$work/target.yaml" --check 2>"$work/error" || fail "a secret readable by the group is taken"
grep -q "target.yaml:[0-9]*:[0-9]*: .*alice.secret .*chmod 600" "$work/error" || fail "no clear message: $(cat "$work/error")"
chmod 600 "$work/alice.secret"
start_target

own=(--secret-file "$work/alice.secret") proof=(--mutual-secret-file "$work/storage.secret")
# denied COMMAND...: one clear line, exit status 1, no secret in it
denied() {
    local status=0
    "$@" >"$work/out" 2>"$work/error" || status=$?
    [[ $status -eq 1 && $(wc -l <"$work/error") -eq 1 ]] || fail "$*: status $status, $(cat "$work/error")"
    grep -q 'authentication' "$work/error" || fail "$*: $(cat "$work/error")"
    ! grep -E 'what-.*know' "$work/error" || fail "$*: a secret in the message"
}
head -c 1M /dev/urandom >"$work/written"
for wire in "iscsi://$portal/$iqn/0?" "iser://$portal/$iqn/0?wire=rdma-first&" "iser://$portal/$iqn/0?wire=stream-first&" \
    "iser://$portal/$iqn/0?wire=stream-first&rfc=5046&"; do
    for proved in no yes; do
        options=("${own[@]}")
        [[ $proved == no ]] || options+=("${proof[@]}" --mutual-user storage)
        iser write "${wire}user=$user" --lba 0 -i "$work/written" "${options[@]}"
        iser read "${wire}user=$user" --lba 0 --count 2048 -o "$work/read" "${options[@]}"
        cmp "$work/written" "$work/read" || fail "$wire: what comes back differs"
    done
    denied iser info "${wire%[?&]}"
    denied iser info "${wire}user=bob" "${own[@]}"
    denied iser info "${wire}user=$user" --secret-file "$work/wrong.secret"
    denied iser info "${wire}user=$user" "${own[@]}" --mutual-secret-file "$work/wrong.secret"
done
for wire in "iscsi://$portal?" "iser://$portal?wire=rdma-first&"; do
    iser discover "${wire}user=finder" --secret-file "$work/finder.secret" | grep -q "$iqn" || fail "$wire: nothing found"
    denied iser discover "${wire%[?&]}"
    denied iser discover "${wire}user=$user" "${own[@]}"
done

# libiscsi, which takes the secret of the target's from the URL as well
foreign() { LIBISCSI_CHAP_USERNAME=$1 LIBISCSI_CHAP_PASSWORD=$2 "${@:3}"; }
foreign "$user" "$secret" iscsi-inq "iscsi://$portal/$iqn/0" | grep -q 'Vendor:openiser' || fail "iscsi-inq"
foreign "$user" "$secret" iscsi-inq "iscsi://$portal/$iqn/0?target_user=storage&target_password=$target_secret" |
    grep -q 'Vendor:openiser' || fail "iscsi-inq, mutual"
foreign finder "$finder_secret" iscsi-ls "iscsi://$portal" | grep -q "$iqn" || fail "iscsi-ls"
! foreign "$user" not-what-she-knows iscsi-inq "iscsi://$portal/$iqn/0" >"$work/out" 2>&1 || fail "iscsi-inq with a wrong secret"
! foreign bob "$secret" iscsi-inq "iscsi://$portal/$iqn/0" >"$work/out" 2>&1 || fail "iscsi-inq as another"
! iscsi-inq "iscsi://$portal/$iqn/0" >"$work/out" 2>&1 || fail "iscsi-inq without CHAP"
! foreign "$user" "$secret" iscsi-inq "iscsi://$portal/$iqn/0?target_user=storage&target_password=not-what-it-knows" \
    >"$work/out" 2>&1 || fail "iscsi-inq believes a wrong proof"
! grep -E 'what-.*know' "$work/target.log" || fail "a secret in the target's log"
stop_target
