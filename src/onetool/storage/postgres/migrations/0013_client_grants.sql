-- What people have allowed MCP clients to do in their name, and the codes and tokens of these clients.

set local search_path = onetool, public;

create table oauth_grants (
    workspace_id uuid,
    id uuid,
    person_id uuid not null,  -- as whom the client acts
    client_id text collate "C" not null,
    client_name text not null,  -- as the client called itself when it was allowed
    created_at timestamptz not null default now(),
    used_at timestamptz not null default now(),  -- when the client last got a token
    expires_at timestamptz not null,  -- when the last of its codes and tokens expires
    primary key (workspace_id, id)
);
create index on oauth_grants (workspace_id, person_id);
create index on oauth_grants (workspace_id, expires_at);
call protect('oauth_grants');

create table oauth_tokens (
    workspace_id uuid,
    hash bytea,  -- SHA-256 of the code or token, which is not stored
    grant_id uuid not null,
    kind text collate "C" not null check (kind in ('code', 'access', 'refresh')),
    challenge text not null default '',  -- of a code: what its client must prove to know
    redirect_uri text not null default '',  -- of a code: where it was sent
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    replaced_at timestamptz,  -- when a code or refresh token was used
    primary key (workspace_id, hash),
    foreign key (workspace_id, grant_id) references oauth_grants on delete cascade
);
create index on oauth_tokens (workspace_id, grant_id, kind, created_at);
create index on oauth_tokens (workspace_id, expires_at);
call protect('oauth_tokens');
