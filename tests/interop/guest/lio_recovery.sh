# target_down and target_up of LIO's iSER target, for the cell `recovery` of initiator.sh, after which this is sourced.
#
# Nothing is under way when LIO ends the session: of a command whose response can no more be posted its ib_isert (Linux 6.1) loses
# track, and then waits for it for ever. So the file system is frozen, its journal with it, and a read has just been answered, so that
# no ping is due. The writer goes on once the session is gone.

writer_stopped() { [[ $(cut -d' ' -f3 "/proc/$(cat /run/writer)/stat") == T ]]; }
nothing_under_way() { [[ $(<"/sys/block/$(basename "$(findmnt -no SOURCE /mnt)")/inflight") =~ ^\ *0\ +0$ ]]; }
target_down() {
    kill -STOP "$(cat /run/writer)"
    wait_for 30 writer_stopped
    sync -f /mnt
    fsfreeze -f /mnt
    wait_for 30 nothing_under_way
    dd if="$(findmnt -no SOURCE /mnt)" of=/dev/null bs=4096 count=1 iflag=direct status=none
    echo 0 >"$lio/iscsi/$iqn/tpgt_1/enable"
    fsfreeze -u /mnt & # which is done when the target is back
    kill -CONT "$(cat /run/writer)"
}
target_up() { echo 1 >"$lio/iscsi/$iqn/tpgt_1/enable"; }
