-- Stored results belong to principals. Servers of earlier versions return them to every member who knows a
-- handle, so none may run from now on.

set local search_path = onetool, public;

-- Empty for what earlier versions have stored. It belongs to no one, except for the results of jobs, whose
-- bodies are texts because PostgreSQL refuses some characters that JSON may contain.
alter table results add column owner text not null default '';
alter table results alter column owner drop default;
update results set owner = jobs.principal from jobs
    where results.workspace_id = jobs.workspace_id and not is_media and jobs.ended_at is not null
        and handle = substring(jobs.body from '"result": "([0-9a-f]*)"');
alter table results drop constraint results_pkey;
alter table results add primary key (workspace_id, handle, owner);
