#!/bin/bash
# archive-wal.sh ARCHIVE PATH NAME: the archive_command of PostgreSQL. Stores one WAL file with its checksum.
# A file that is there already must have the same content.
set -euo pipefail
folder=$1/wal path=$2 name=$3
mkdir -p "$folder"
if [ -e "$folder/$name" ]; then
    cmp --silent "$path" "$folder/$name" && exit 0
    echo "$folder/$name exists with another content. Each server needs an archive of its own." >&2
    exit 1
fi
cp "$path" "$folder/$name.part"
sha256sum < "$folder/$name.part" > "$folder/$name.sha256"
sync "$folder/$name.part" "$folder/$name.sha256"
mv "$folder/$name.part" "$folder/$name"
sync "$folder"
