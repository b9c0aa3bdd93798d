#!/bin/bash
# archive-wal.sh ARCHIVE PATH NAME: the archive_command of PostgreSQL. Stores one WAL file with its checksum.
# A file that is there already must have the same content: a primary and its standbys store the same ones, perhaps at
# the same time. The folder ARCHIVE/wal must exist: if the archive is not mounted, nothing may be stored in its place.
set -euo pipefail
folder=$1/wal path=$2 name=$3
if [ -e "$folder/$name" ] && ! cmp --silent "$path" "$folder/$name"; then
    # The last file of a timeline: what follows the promotion in it is not used, and may differ between servers. The
    # first file of the next timeline has all that precedes the promotion.
    if [[ $name =~ ^[0-9A-F]{24}$ ]]; then
        for file in "$folder"/????????"${name:8}"; do
            other=$(basename "$file")
            if [[ $other =~ ^[0-9A-F]{24}$ && ${other:0:8} > ${name:0:8} ]]; then exit 0; fi
        done
    fi
    echo "$folder/$name exists with another content. Only servers of one cluster can share an archive." >&2
    exit 1
fi
part=$(mktemp -d "$folder/$name.XXXXXX.part")
trap 'rm -rf "$part"' EXIT
sha256sum < "$path" > "$part/sum"
[ -e "$folder/$name" ] || cp "$path" "$part/file"
sync "$part"/*
if ! cmp --silent "$part/sum" "$folder/$name.sha256"; then mv "$part/sum" "$folder/$name.sha256"; fi
[ -e "$folder/$name" ] || mv "$part/file" "$folder/$name"
sync "$folder/$name" "$folder/$name.sha256" "$folder"
# If another server has stored other content at the same time, PostgreSQL tries again.
[ "$(sha256sum < "$folder/$name")" = "$(cat "$folder/$name.sha256")" ]
