#!/bin/bash
# restore.sh ARCHIVE DATA [TIME]: prepares a new data directory that recovers to TIME (default: the end of the
# archive), for example '2026-11-18 09:30:00+00'. Then start PostgreSQL with it: it recovers and accepts changes.
set -euo pipefail
export LC_ALL=C  # names of backups are compared
archive=$(realpath "$1") data=$(realpath -m "$2") time=${3:-}
here=$(realpath "$(dirname "$0")")
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then
    echo "$data is not empty. Restore to a new directory." >&2
    exit 1
fi
as=()
if [ "$(id -u)" = 0 ]; then as=(runuser -u postgres --); fi  # root may not read a network file system
until=$(date -u -d "${time:-now}" +%Y-%m-%dT%H:%M:%S.%6NZ)
if [ -n "$time" ]; then time=$(date -u -d "$time" '+%Y-%m-%d %H:%M:%S.%6N+00'); fi
base=
for copy in "$archive"/base/*Z; do
    [[ -e $copy && ! $(basename "$copy") > $until ]] && base=$copy
done
if [ -z "$base" ]; then
    echo "$archive has no base backup from before $until." >&2
    exit 1
fi
mkdir -p "$data"
if [ "$(id -u)" = 0 ]; then chown postgres "$data"; fi
cd /  # a folder that every user may enter
"${as[@]}" cp -a "$base/." "$data"
"${as[@]}" chmod 700 "$data"
{
    echo "restore_command = '\"$here/fetch-wal.sh\" \"$archive\" %f %p'"
    echo "recovery_target_timeline = 'latest'"
    echo "recovery_target_action = 'promote'"
    echo "recovery_target_time = '$time'"
    # only the copy must not continue the archive of the original, until it has replaced it
    echo "archive_mode = off"
    # otherwise it refuses to recover with a lower max_connections than that of the original
    echo "hot_standby = off"
    # of a backup of a standby: the copy must not follow the primary
    echo "primary_conninfo = ''"
    echo "primary_slot_name = ''"
} | "${as[@]}" tee -a "$data/postgresql.auto.conf" > /dev/null
"${as[@]}" rm -f "$data/standby.signal"
"${as[@]}" touch "$data/recovery.signal"
echo "Restored $base to $data."
