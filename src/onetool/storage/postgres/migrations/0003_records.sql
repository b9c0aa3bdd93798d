-- Enabled flags, server manifests, sessions of MCP clients, conversations and stored results.
--
-- JSON is stored as text: `jsonb` changes the order of keys and refuses \u0000. Times are seconds since the epoch.

create table onetool.toggles (
    workspace_id uuid,
    id text,
    is_enabled boolean not null,
    primary key (workspace_id, id)
);
call onetool.protect('onetool.toggles');

create table onetool.manifests (
    workspace_id uuid,
    server text,
    body text not null,
    primary key (workspace_id, server)
);
call onetool.protect('onetool.manifests');

create table onetool.client_sessions (
    workspace_id uuid,
    id text,
    written_at double precision not null,
    primary key (workspace_id, id)
);
create index on onetool.client_sessions (workspace_id, written_at);
call onetool.protect('onetool.client_sessions');

create table onetool.client_session_entries (
    workspace_id uuid,
    session_id text,
    name text,
    body bytea not null,  -- UTF-8; texts of clients may contain NUL
    primary key (workspace_id, session_id, name),
    foreign key (workspace_id, session_id) references onetool.client_sessions on delete cascade
);
call onetool.protect('onetool.client_session_entries');

create table onetool.sessions (
    workspace_id uuid,
    id text collate "C",
    changed_at double precision not null,
    length int not null,  -- the number of the last record
    summary text,  -- title and number of messages; null after a change until the session is listed
    primary key (workspace_id, id)
);
create index on onetool.sessions (workspace_id, changed_at, id);
call onetool.protect('onetool.sessions');

create table onetool.session_records (
    workspace_id uuid,
    session_id text collate "C",
    n int,  -- from 1
    body text not null,
    primary key (workspace_id, session_id, n),
    foreign key (workspace_id, session_id) references onetool.sessions on delete cascade
);
call onetool.protect('onetool.session_records');

create table onetool.results (
    workspace_id uuid,
    handle text,
    meta text not null,
    body bytea check (octet_length(body) <= 64 << 20),  -- null when it expired or made room for others
    is_media boolean not null,
    created_at double precision not null,
    expires_at double precision not null,
    size bigint not null,
    primary key (workspace_id, handle)
);
create index on onetool.results (workspace_id, expires_at);
create index on onetool.results (workspace_id, expires_at) where body is not null;
create index on onetool.results (workspace_id, expires_at) include (size) where is_media and body is not null;
call onetool.protect('onetool.results');
