-- People, their groups, the members of workspaces with their roles, and grants for single tools.
--
-- The id of a member is text: the id of a person in `home.people`, the id of a group in `home.groups`, or the
-- name of a service, which acts only through API keys. The names of services are never the ids of people.

create table home.people (
    id uuid primary key,
    email text not null default '',  -- as the issuer reports it; never used to recognize a person
    name text not null default '',
    created_at timestamptz not null default now(),
    disabled_at timestamptz
);

create table home.identities (  -- by which a person is recognized at a login
    issuer text collate "C",
    subject text collate "C",
    person_id uuid not null references home.people on delete cascade,
    primary key (issuer, subject)
);
create index on home.identities (person_id);

create table home.groups (  -- of people, as an issuer names them
    id uuid primary key,
    issuer text collate "C" not null,
    name text collate "C" not null,
    unique (issuer, name)
);

create table home.group_people (
    group_id uuid references home.groups on delete cascade,
    person_id uuid references home.people on delete cascade,
    primary key (group_id, person_id)
);
create index on home.group_people (person_id);

create table home.browser_sessions (
    hash bytea primary key,  -- SHA-256 of the cookie, which is not stored
    person_id uuid not null references home.people on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index on home.browser_sessions (person_id);
create index on home.browser_sessions (expires_at);

grant select, insert, update, delete
    on home.people, home.identities, home.groups, home.group_people, home.browser_sessions to onetool_app;

set local search_path = onetool, public;

create table members (
    workspace_id uuid,
    kind text collate "C" check (kind in ('person', 'group', 'service')),
    id text collate "C",
    role text collate "C" not null check (role in ('owner', 'maker', 'caller', 'auditor')),
    patterns text[] not null default '{}',  -- the tools that may be called; empty: all
    added_by text not null,
    added_at timestamptz not null default now(),
    primary key (workspace_id, kind, id)
);
call protect('members');

create table grants (  -- exceptions for single tools
    workspace_id uuid,
    id uuid,
    kind text collate "C" not null,
    member text collate "C" not null,
    effect text collate "C" not null check (effect in ('allow', 'ask', 'deny')),
    pattern text not null,
    added_by text not null,
    added_at timestamptz not null default now(),
    primary key (workspace_id, id),
    foreign key (workspace_id, kind, member) references members on delete cascade
);
create unique index on grants (workspace_id, kind, member, pattern);
call protect('grants');

create table invitations (  -- links with which a person becomes a member
    workspace_id uuid,
    hash bytea,  -- SHA-256 of the secret in the link, which is not stored
    id uuid not null,
    role text collate "C" not null check (role in ('owner', 'maker', 'caller', 'auditor')),
    patterns text[] not null default '{}',
    note text not null default '',  -- for whom it is
    created_by text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    accepted_by text,
    accepted_at timestamptz,
    primary key (workspace_id, hash),
    unique (workspace_id, id)
);
call protect('invitations');

-- Until now, every key could do everything in its workspace.
insert into members (workspace_id, kind, id, role, added_by)
select distinct workspace_id, 'service', owner, 'owner', 'migration' from api_keys
where owner ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$' and owner not in ('local', 'migration', 'operator', 'process')
    and owner !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

-- The workspaces of a person, with the roles there.
create function workspaces_of(person uuid) returns table (id uuid, slug text, name text, roles text[])
language sql stable security definer set search_path = onetool, home as $$
    select workspaces.id, workspaces.slug, workspaces.name, array_agg(distinct members.role)
    from members join workspaces on workspaces.id = members.workspace_id
    where deleted_at is null and (
        (members.kind = 'person' and members.id = person::text) or
        (members.kind = 'group' and members.id in (
            select group_id::text from group_people where person_id = person)))
    group by workspaces.id
$$;

-- Tell all processes that the groups of a person have changed.
create function announce_person(person uuid) returns void
language plpgsql volatile security definer set search_path = onetool as $$
declare
    workspace uuid;
    state workspace_state;
begin
    for workspace in select workspaces_of.id from workspaces_of(person) order by 1 loop  -- no deadlock
        update workspace_state set revision = revision + 1, keys_revision = revision + 1
            where workspace_id = workspace returning * into state;
        perform pg_notify('onetool',
            concat_ws(' ', workspace, state.revision, state.settings_revision, state.keys_revision));
    end loop;
end $$;
revoke execute on function workspaces_of, announce_person from public;
grant execute on function workspaces_of, announce_person to onetool_app;
