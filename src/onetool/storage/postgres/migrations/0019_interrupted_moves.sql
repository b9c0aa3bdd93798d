-- compatible from 0017
-- Moves that were interrupted are ended by a worker, and people log in during a move to the home cluster.

-- The workspaces whose rows here are read-only: they are being moved, or a move has left them.
create function onetool.read_only_workspaces() returns setof uuid
language sql stable security definer set search_path = onetool, pg_temp as $$
    select workspace_id from workspace_state where fenced
$$;

-- Make a workspace writable and extend leases that could not be renewed. Returns false if it was writable.
create function onetool.end_move(workspace uuid, more bigint, job_s float8, chat_s float8, token_s float8)
returns boolean language plpgsql volatile security definer set search_path = onetool, pg_temp as $$
declare
    state workspace_state;
begin
    update workspace_state set fenced = false, revision = revision + more, settings_revision = revision + more,
        keys_revision = revision + more where workspace_id = workspace and fenced returning * into state;
    if state is null then
        return false;
    end if;
    update job_owners set lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => job_s))
        where workspace_id = workspace and ended_at is null;
    update chat_leases set lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => chat_s))
        where workspace_id = workspace;
    update token_leases set expires_at = greatest(expires_at, clock_timestamp() + make_interval(secs => token_s))
        where workspace_id = workspace;
    perform pg_notify('onetool', concat_ws(' ', workspace, state.revision, state.revision, state.revision));
    return true;
end $$;
revoke execute on function onetool.read_only_workspaces, onetool.end_move from public;
grant execute on function onetool.read_only_workspaces, onetool.end_move to onetool_worker;

-- Rows that a move has left here are not told: they may be locked by a move back.
create or replace function onetool.announce_person(person uuid) returns void
language plpgsql volatile security definer set search_path = onetool, pg_temp as $$
declare
    workspace uuid;
    state workspace_state;
begin
    for workspace in
        select found.id from workspaces_of(person) found join home.workspaces using (id)
        where cluster = 'home' order by 1  -- no deadlock
    loop
        update workspace_state set revision = revision + 1, keys_revision = revision + 1
            where workspace_id = workspace returning * into state;
        perform pg_notify('onetool',
            concat_ws(' ', workspace, state.revision, state.settings_revision, state.keys_revision));
    end loop;
end $$;
