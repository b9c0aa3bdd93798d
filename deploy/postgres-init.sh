#!/bin/bash
# The logins of servers and workers. They can become only roles that see the rows of one workspace at a time.
set -euo pipefail
psql --username postgres --dbname postgres --set ON_ERROR_STOP=1 \
    --set server="$ONETOOL_SERVER_PASSWORD" --set worker="$ONETOOL_WORKER_PASSWORD" <<'SQL'
create role onetool_app nologin;
create role onetool_worker nologin in role onetool_app;
create role onetool_server login password :'server' in role onetool_app;
create role onetool_jobs login password :'worker' in role onetool_worker;
SQL
