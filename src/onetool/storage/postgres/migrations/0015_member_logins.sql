-- Logins of single members to servers, and logins that have begun.

set local search_path = onetool, public;

delete from credentials;  -- they are sealed for places without an owner: everyone logs in again
alter table credentials
    add column owner text collate "C" not null default '',  -- the id of the principal; empty: the workspace
    drop constraint credentials_pkey,
    add primary key (workspace_id, kind, owner, name);

create table begun_logins (
    workspace_id uuid,
    id text collate "C",  -- SHA-256 of the secret that the browser brings back
    principal text collate "C" not null,  -- who has begun it
    owner text collate "C" not null,  -- whose login it will be
    server text collate "C" not null,
    sealed bytea not null,
    expires_at timestamptz not null,
    primary key (workspace_id, id)
);
create index on begun_logins (workspace_id, principal, expires_at);
call protect('begun_logins');

create table token_leases (  -- held by the process that refreshes tokens
    workspace_id uuid,
    kind text collate "C",
    owner text collate "C",
    name text collate "C",
    holder uuid not null,
    expires_at timestamptz not null,
    primary key (workspace_id, kind, owner, name)
);
call protect('token_leases');
