-- The clusters of an installation, and which of them has a workspace.
--
-- All clusters have the same tables. Those of the schema `home` are used only in the home cluster.

create table home.clusters (  -- by names; their addresses are in the environment of processes
    name text collate "C" primary key,
    accepts_new boolean not null default true  -- whether new workspaces are created there
);
insert into home.clusters values ('home');
grant select on home.clusters to onetool_app;

alter table home.workspaces
    add column cluster text collate "C" not null default 'home' references home.clusters,
    add column epoch bigint not null default 1,  -- rises with every move, and when the workspace is deleted
    add column moved_at timestamptz;

-- Rises when someone may have lost or gained rights without a change of a workspace. Workspaces of other
-- clusters than `home` cannot be told in the same transaction.
create table home.people_revision (
    id int primary key default 1 check (id = 1),
    revision bigint not null default 0
);
insert into home.people_revision default values;
grant select on home.people_revision to onetool_app;
grant update (revision) on home.people_revision to onetool_app;

set local search_path = onetool, public;

-- Limits are next to what they limit, and move with it. Only the operator can change them.
alter table workspace_state add column limits text not null default '{}';
update workspace_state set limits = workspaces.limits
from home.workspaces where workspaces.id = workspace_id and workspaces.limits <> '{}';
revoke update on workspace_state from onetool_app;
grant update (revision, settings_revision, keys_revision, calls) on workspace_state to onetool_app;

-- The roles of a person in the workspaces of this cluster, of which some may be elsewhere now.
create function memberships_of(person uuid, group_ids text[]) returns table (id uuid, roles text[])
language sql stable security definer set search_path = onetool, pg_temp as $$
    select workspace_id, array_agg(distinct role) from members
    where (kind = 'person' and members.id = person::text) or (kind = 'group' and members.id = any(group_ids))
    group by workspace_id
$$;
revoke execute on function memberships_of from public;
grant execute on function memberships_of to onetool_app;

-- A move copies and deletes both tables: nothing is counted again.
create or replace function count_result() returns trigger language plpgsql set search_path = onetool as $$
declare
    change bigint := 0;
begin
    if current_setting('onetool.moving', true) = 'on' then
        return null;
    end if;
    if tg_op <> 'DELETE' and new.body is not null then
        change := change + new.size;
    end if;
    if tg_op <> 'INSERT' and old.body is not null then
        change := change - old.size;
    end if;
    insert into result_totals as totals values (coalesce(new.workspace_id, old.workspace_id), change)
    on conflict (workspace_id) do update set bytes = totals.bytes + change;
    return null;
end $$;
