-- The keys of the installation and of workspaces, API keys, and what they seal or admit.

create table home.installation (
    id int primary key default 1 check (id = 1),
    key_check bytea not null  -- shows whether a process has the right key ring
);
grant select on home.installation to onetool_app;

set local search_path = onetool, public;

-- The data keys of a workspace, sealed by the key ring. The newest one seals, all of them open.
create table data_keys (
    workspace_id uuid,
    id text collate "C",
    sealed bytea not null,
    ring_key text collate "C" not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (workspace_id, id)
);
call protect('data_keys');
revoke insert, update, delete on data_keys from onetool_app;

create table api_keys (
    workspace_id uuid,
    hash bytea,  -- SHA-256 of the key, which is not stored
    id uuid not null,
    owner text not null,  -- the principal on whose behalf calls are made
    name text not null,
    prefix text not null,  -- the start of the key, by which a person recognizes it
    patterns text[] not null,  -- the tools that may be called; empty: all
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    primary key (workspace_id, hash),
    unique (workspace_id, id)
);
call protect('api_keys');

create table credentials (  -- of logins to servers, and of stored HTTP tools
    workspace_id uuid,
    kind text collate "C",
    name text collate "C",
    sealed bytea not null,
    primary key (workspace_id, kind, name)
);
call protect('credentials');

create table secrets (
    workspace_id uuid,
    name text collate "C",
    sealed bytea not null,
    hosts text[],  -- null: any host
    changed_at timestamptz not null default now(),
    primary key (workspace_id, name)
);
call protect('secrets');

create table settings (  -- all versions; the last one counts
    workspace_id uuid,
    version bigint,
    document text not null,
    prompts text not null,
    changed_by text not null,
    changed_at timestamptz not null default now(),
    primary key (workspace_id, version)
);
call protect('settings');
revoke update, delete on settings from onetool_app;
