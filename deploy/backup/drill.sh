#!/bin/bash
# drill.sh ARCHIVE [TIME]: restores the last backup to a server of its own and checks it: tables, keys, sealed
# values and rows. Without TIME, it also checks the age of the last recovered change and of the last archived file,
# which ONETOOL_DRILL_AGE_S limits. Exits with 1 if anything is wrong.
# Needs ONETOOL_KEYS. With ONETOOL_OWNER_DATABASE_URL, the rows are compared with those of that database. Of several
# clusters, ONETOOL_DRILL_CLUSTER names that of the backup: only `home` has the keys, so they are not checked for others.
# Run it every week, on another machine than the primary, as root or as the user of the server.
set -euo pipefail
PATH=$(pg_config --bindir):$PATH
archive=$(realpath "$1") time=${2:-} live=${ONETOOL_OWNER_DATABASE_URL:-}
database=${ONETOOL_DRILL_DATABASE:-onetool} onetool=${ONETOOL:-onetool} limit=${ONETOOL_DRILL_S:-3600}
cluster=${ONETOOL_DRILL_CLUSTER:-home} max_age=${ONETOOL_DRILL_AGE_S:-3600}
here=$(realpath "$(dirname "$0")")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/onetool-drill-XXXXXX")
as=()
if [ "$(id -u)" = 0 ]; then
    as=(runuser -u postgres --)
    chown postgres "$scratch"
fi
server=
stop() {
    if [ -n "$server" ]; then "${as[@]}" pg_ctl stop --silent --mode=immediate --pgdata="$scratch/data" || true; fi
    rm -rf "$scratch"
}
trap 'exit 1' HUP INT TERM
trap stop EXIT
cd /  # a folder that every user may enter
fail() {
    echo "$*" >&2
    exit 1
}

started=$SECONDS
restored=$("$here/restore.sh" "$archive" "$scratch/data" "$time")
echo "$restored"
[[ $restored =~ /base/([^/]+)Z\ to\  ]] && copied=${BASH_REMATCH[1]}
echo "local all all trust" > "$scratch/hba.conf"
: > "$scratch/server.conf"
log=$scratch/data/drill.log
server=started
"${as[@]}" pg_ctl start --silent --pgdata="$scratch/data" --log="$log" --timeout="$limit" \
    --options="-c config_file='$scratch/server.conf' -c hba_file='$scratch/hba.conf' -c hot_standby=off \
        -c listen_addresses= -c unix_socket_directories='$scratch'" > /dev/null 2>&1 || true
until pg_isready --quiet --host="$scratch"; do
    if ! "${as[@]}" pg_ctl status --pgdata="$scratch/data" > /dev/null; then
        server=
        fail "The backup cannot be recovered: $(grep -E 'onetool-backup:|FATAL|PANIC' "$log" | tail -n 3)"
    fi
    [ $((SECONDS - started)) -lt "$limit" ] || fail "The backup was not recovered in $limit s."
    sleep 0.2
done
url="postgresql:///$database?host=$scratch&user=postgres"
echo "Recovered in $((SECONDS - started)) s."

if [ "$cluster" = home ]; then
    ONETOOL_OWNER_DATABASE_URL=$url ONETOOL_DATABASE_URL=$url "$onetool" admin check || fail "The backup cannot be used."
else
    echo "The keys are not checked: this is a backup of cluster $cluster."
    live=  # its URL is that of the home cluster
fi
found=$(psql --no-psqlrc --set ON_ERROR_STOP=1 --set copied="${copied}Z" --quiet --tuples-only --no-align \
    --field-separator=' ' "$url" <<'SQL'
select extract(epoch from now() - last)::int, last
from coalesce(pg_last_xact_replay_timestamp(), :'copied'::timestamptz) last;
SQL
)
read -r age last <<< "$found"
echo "Last recovered change: $last, $age s ago"
if [ -z "$time" ]; then
    [ "$age" -le "$max_age" ] || fail "It is older than $max_age s. Does the primary archive, and does a worker run?"
    newest=$("${as[@]}" find "$archive/wal" -mindepth 1 -maxdepth 1 -newermt "@$(($(date +%s) - max_age))" \
        -name '????????????????????????' -print -quit)
    [ -n "$newest" ] || fail "No WAL file was archived in the last $max_age s. Does the primary archive?"
fi

counts() {
    psql --no-psqlrc --set ON_ERROR_STOP=1 --quiet --tuples-only --no-align --field-separator=' ' "$1" <<'SQL'
select format('select %L, count(*) from %I.%I', schemaname || '.' || tablename, schemaname, tablename)
from pg_tables where schemaname in ('home', 'onetool', 'queue') order by schemaname, tablename
\gexec
SQL
}
counts "$url" > "$scratch/restored"
if [ -n "$live" ]; then
    counts "$live" > "$scratch/live" || fail "The rows of the running database cannot be counted."
    LC_ALL=C join -a 1 -a 2 -e - -o 0,1.2,2.2 "$scratch/restored" "$scratch/live" | while read -r table restored now; do
        echo "$table: $restored rows restored, $now now"
        [ "$restored" != - ] || fail "$table was not restored."
        [ "$restored" != 0 ] || [ "$now" = 0 ] || echo "Look at $table: no row was restored."
    done
else
    sed 's/ /: /; s/$/ rows restored/' "$scratch/restored"
fi
echo "The backup is good."
