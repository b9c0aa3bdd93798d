#!/bin/bash
# base-backup.sh ARCHIVE URL [KEEP]: copies the whole cluster, checks the copy, and deletes older ones than
# the last KEEP (default: 7) with the WAL files that only they need.
# The role of the URL needs REPLICATION. Run it every day, as root or as the user of the server.
set -euo pipefail
PATH=$(pg_config --bindir):$PATH
archive=$1 url=$2 keep=${3:-7}
as=()
if [ "$(id -u)" = 0 ]; then as=(runuser -u postgres --); fi
name=$(date -u +%Y-%m-%dT%H:%M:%SZ)
"${as[@]}" mkdir -p "$archive/base" "$archive/wal"
"${as[@]}" pg_basebackup --dbname "$url" --pgdata "$archive/base/$name.part" --checkpoint=fast --wal-method=stream
"${as[@]}" pg_verifybackup --quiet "$archive/base/$name.part"
"${as[@]}" mv "$archive/base/$name.part" "$archive/base/$name"

mapfile -t copies < <(find "$archive/base" -mindepth 1 -maxdepth 1 -name '*Z' | sort)
for copy in "${copies[@]:0:$((${#copies[@]} > keep ? ${#copies[@]} - keep : 0))}"; do
    rm -r "$copy"
done
oldest=$(find "$archive/base" -mindepth 1 -maxdepth 1 -name '*Z' | sort | head -n 1)
needed=$(sed -n 's/^START WAL LOCATION.*(file \([0-9A-F]*\))$/\1/p' "$oldest/backup_label")
pg_archivecleanup "$archive/wal" "$needed"
for sum in "$archive"/wal/*.sha256; do
    [ ! -e "$sum" ] || [ -e "${sum%.sha256}" ] || rm "$sum"
done
echo "$archive/base/$name"
