#!/bin/bash
# fetch-wal.sh ARCHIVE NAME PATH: the restore_command of PostgreSQL. Gets one WAL file and checks it.
# With exit code 1, recovery ends here. With 200, it fails: later changes exist, but cannot be recovered.
set -euo pipefail
folder=$1/wal name=$2 path=$3
fail() {
    echo "onetool-backup: $*" >&2
    exit 200
}
if [ ! -e "$folder/$name" ]; then
    if [[ $name =~ ^[0-9A-F]{24}$ ]]; then
        for later in "$folder/${name:0:8}"????????????????; do
            [[ -e $later && $(basename "$later") > $name ]] && fail "WAL file $name is missing in $folder."
        done
    fi
    exit 1
fi
cp "$folder/$name" "$path"
[ "$(sha256sum < "$path")" = "$(cat "$folder/$name.sha256")" ] || fail "WAL file $folder/$name is damaged."
