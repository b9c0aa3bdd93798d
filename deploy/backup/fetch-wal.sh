#!/bin/bash
# fetch-wal.sh ARCHIVE NAME PATH: the restore_command of PostgreSQL. Gets one WAL file and checks it.
# With exit code 1, recovery ends here. With 200, it fails: later changes exist, but cannot be recovered.
set -euo pipefail
export LC_ALL=C  # names of files are compared
folder=$1/wal name=$2 path=$3
fail() {
    echo "onetool-backup: $*" >&2
    exit 200
}
[ -d "$folder" ] && [ -r "$folder" ] && [ -x "$folder" ] || fail "The archive $folder cannot be read."
if [ ! -e "$folder/$name" ]; then
    if [[ $name =~ ^[0-9A-F]{24}$ ]]; then
        for file in "$folder"/????????????????????????; do  # also those of later timelines
            other=$(basename "$file")
            if [[ $other =~ ^[0-9A-F]{24}$ && ! ${other:0:8} < ${name:0:8} && ${other:8} > ${name:8} ]]; then
                fail "WAL file $name is missing in $folder."
            fi
        done
    fi
    exit 1
fi
cp "$folder/$name" "$path" || fail "WAL file $folder/$name cannot be copied to $path."
[ "$(sha256sum < "$path")" = "$(cat "$folder/$name.sha256")" ] || fail "WAL file $folder/$name is damaged."
