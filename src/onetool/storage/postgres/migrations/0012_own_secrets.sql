-- Secrets of single members, for their own calls.

set local search_path = onetool, public;

create table own_secrets (
    workspace_id uuid,
    owner text collate "C",  -- the id of the principal
    name text collate "C",
    sealed bytea not null,
    hosts text[] not null,  -- where it may be sent
    changed_at timestamptz not null default now(),
    primary key (workspace_id, owner, name)
);
call protect('own_secrets');
