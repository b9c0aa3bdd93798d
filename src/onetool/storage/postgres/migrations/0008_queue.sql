-- Jobs that wait for a worker, and what workers do in all workspaces.

create schema queue;  -- its tables come with the package procrastinate: see `queue_schema.py`

set local search_path = onetool, public;

alter table jobs
    alter owner drop not null,  -- a queued job has none
    add request bytea,  -- the sealed call of a queued job
    add idempotency_key text collate "C";
create unique index jobs_idempotency on jobs (workspace_id, principal, idempotency_key)
    where idempotency_key is not null;
create index jobs_unfinished on jobs (owner, workspace_id) where ended_at is null;

-- The workspaces with jobs whose process has ended before them.
create function workspaces_with_lost_jobs() returns setof uuid
language sql stable security definer set search_path = onetool as $$
    select distinct workspace_id from jobs join job_owners using (workspace_id, owner)
    where jobs.ended_at is null and lease_until <= clock_timestamp()
$$;
revoke execute on function workspaces_with_lost_jobs from public;
grant execute on function workspaces_with_lost_jobs to onetool_worker;
