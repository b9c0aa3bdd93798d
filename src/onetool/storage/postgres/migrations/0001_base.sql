-- Workspaces, their revisions, and the functions that begin a transaction in one of them.
--
-- Every table of the schema `onetool` belongs to workspaces: its primary key begins with `workspace_id`, and
-- `protect` hides the rows of other workspaces from the application's role. No table uses a sequence.

create extension if not exists btree_gin with schema public;
create extension if not exists fuzzystrmatch with schema public;
create extension if not exists pg_trgm with schema public;

create schema home;
create schema onetool;
grant usage on schema home, onetool to onetool_app;
grant usage on schema onetool to onetool_search;

create table home.workspaces (
    id uuid primary key,
    slug text not null unique,
    name text not null default '',
    limits text not null default '{}',
    created_at timestamptz not null default now(),
    deleted_at timestamptz
);
grant select on home.workspaces to onetool_app;

create procedure onetool.protect(target regclass) language plpgsql as $$
begin
    execute format('alter table %s enable row level security, force row level security', target);
    execute format('create policy maintenance on %s to onetool_owner using (true)', target);
    execute format(
        'create policy own on %s to onetool_app'
        ' using (workspace_id = (select current_setting(''onetool.workspace''))::uuid)', target);
    execute format('grant select, insert, update, delete on %s to onetool_app', target);
end $$;
revoke execute on procedure onetool.protect from public;

create table onetool.workspace_state (
    workspace_id uuid primary key,
    revision bigint not null default 0,  -- of the last change
    settings_revision bigint not null default 0,  -- of the last change to settings or secrets
    keys_revision bigint not null default 0,  -- of the last change after which an API key may be invalid
    calls bigint not null default 0,  -- the number of the last recorded call
    fenced boolean not null default false  -- read-only
);
call onetool.protect('onetool.workspace_state');
revoke insert, delete on onetool.workspace_state from onetool_app;

create function onetool.begin_read(workspace uuid) returns void language sql as $$
    select set_config('onetool.workspace', workspace::text, true)
$$;

-- Begin a transaction that writes. With a subject ('contents', 'settings' or 'keys'), writers of a workspace
-- wait for each other, and its revision rises and is announced at the commit. Returns the revision.
create function onetool.begin_write(workspace uuid, subject text) returns bigint
language plpgsql volatile set search_path = onetool as $$
declare
    state workspace_state;
begin
    perform set_config('onetool.workspace', workspace::text, true);
    perform pg_advisory_xact_lock_shared(hashtextextended(workspace::text, 0));  -- a move takes the exclusive one
    if subject is null then
        select * into state from workspace_state where workspace_id = workspace;
    else
        update workspace_state set revision = revision + 1,
            settings_revision = case subject when 'settings' then revision + 1 else settings_revision end,
            keys_revision = case subject when 'keys' then revision + 1 else keys_revision end
            where workspace_id = workspace returning * into state;
    end if;
    if state is null or state.fenced then
        raise exception 'workspace % is read-only', workspace using errcode = 'OT001';
    end if;
    if subject is not null then
        perform pg_notify('onetool',
            concat_ws(' ', workspace, state.revision, state.settings_revision, state.keys_revision));
    end if;
    return state.revision;
end $$;

-- The revisions of workspaces, for a process that has missed announcements.
create function onetool.revisions(workspaces uuid[])
returns table (id uuid, contents bigint, settings bigint, keys bigint)
language sql stable security definer set search_path = onetool as $$
    select workspace_id, revision, settings_revision, keys_revision
    from workspace_state where workspace_id = any(workspaces)
$$;
revoke execute on function onetool.begin_read, onetool.begin_write, onetool.revisions from public;
grant execute on function onetool.begin_read, onetool.begin_write, onetool.revisions to onetool_app;
