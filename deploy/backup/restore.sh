#!/bin/bash
# restore.sh ARCHIVE DATA [TIME]: prepares a new data directory that recovers to TIME (default: the end of the
# archive), for example '2026-11-18 09:30:00+00'. Then start PostgreSQL with it: it recovers and accepts changes.
set -euo pipefail
archive=$(realpath "$1") data=$2 time=${3:-}
here=$(realpath "$(dirname "$0")")
if [ -e "$data" ] && [ -n "$(ls -A "$data")" ]; then
    echo "$data is not empty. Restore to a new directory." >&2
    exit 1
fi
until=$(date -u -d "${time:-now}" +%Y-%m-%dT%H:%M:%SZ)
base=
for copy in "$archive"/base/*Z; do
    [[ -e $copy && ! $(basename "$copy") > $until ]] && base=$copy
done
if [ -z "$base" ]; then
    echo "$archive has no base backup from before $until." >&2
    exit 1
fi
mkdir -p "$data"
cp -a "$base/." "$data"
chmod 700 "$data"
{
    echo "restore_command = '\"$here/fetch-wal.sh\" \"$archive\" %f %p'"
    echo "recovery_target_timeline = 'latest'"
    echo "recovery_target_action = 'promote'"
    echo "recovery_target_time = '$time'"
    # only the copy must not continue the archive of the original, until it has replaced it
    echo "archive_mode = off"
} >> "$data/postgresql.auto.conf"
touch "$data/recovery.signal"
chown --reference="$base/PG_VERSION" "$data" "$data/recovery.signal"
echo "Restored $base to $data."
