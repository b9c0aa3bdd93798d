#!/bin/bash
# base-backup.sh ARCHIVE URL [KEEP]: copies the whole cluster, checks the copy, and deletes older ones than
# the last KEEP (default: 7) with the WAL files that only they need.
# The role of the URL needs REPLICATION. Run it every day, as root or as the user of the server.
set -euo pipefail
export LC_ALL=C  # names of files are compared
PATH=$(pg_config --bindir):$PATH
archive=$(realpath "$1") url=$2 keep=${3:-7}
cd /  # a folder that every user may enter
if ! [[ $keep =~ ^[1-9][0-9]*$ ]]; then
    echo "KEEP must be a number from 1 on, not '$keep'." >&2
    exit 2
fi
as=()
if [ "$(id -u)" = 0 ]; then as=(runuser -u postgres --); fi
if ! "${as[@]}" test -w "$archive/wal"; then
    echo "$archive/wal is no folder that can be written to. Is the archive mounted?" >&2
    exit 1
fi
"${as[@]}" mkdir -p "$archive/base"
# what was left behind when a copy was interrupted
"${as[@]}" find "$archive/base" "$archive/wal" -mindepth 1 -maxdepth 1 -name '*.part' -mtime +7 -exec rm -r {} +
part=$("${as[@]}" mktemp -d "$archive/base/XXXXXXXX.part")
trap 'exit 1' HUP INT TERM
trap '"${as[@]}" rm -rf "$part"' EXIT
"${as[@]}" pg_basebackup --dbname "$url" --pgdata "$part" --checkpoint=fast --wal-method=stream
name=$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)  # the first moment to which it can be recovered
"${as[@]}" pg_verifybackup --quiet "$part"
copied=$archive/base/$name
"${as[@]}" mv "$part" "$copied"
"${as[@]}" sync "$archive/base"

mapfile -t copies < <("${as[@]}" find "$archive/base" -mindepth 1 -maxdepth 1 -name '*Z' | sort)
for copy in "${copies[@]:0:$((${#copies[@]} > keep ? ${#copies[@]} - keep : 0))}"; do
    "${as[@]}" rm -r "$copy"
done
oldest=$("${as[@]}" find "$archive/base" -mindepth 1 -maxdepth 1 -name '*Z' | sort | head -n 1)
needed=$("${as[@]}" sed -n 's/^START WAL LOCATION.*(file \([0-9A-F]*\))$/\1/p' "$oldest/backup_label")
"${as[@]}" pg_archivecleanup "$archive/wal" "$needed"
for sum in "$archive"/wal/*.sha256; do
    name=$(basename "$sum")
    if [[ $name =~ ^[0-9A-F]{24} && ${name:8:16} < ${needed:8} && ! -e ${sum%.sha256} ]]; then "${as[@]}" rm -f "$sum"; fi
done
echo "$copied"
