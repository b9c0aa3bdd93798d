-- Who has changed what in a workspace. Rows are only added: the application can neither change nor delete them.

set local search_path = onetool, public;

create table audit (
    workspace_id uuid,
    id uuid,  -- version 7: in the order of time
    at timestamptz not null,  -- the time in the id
    actor text collate "C" not null,
    interface text collate "C" not null,
    action text collate "C" not null,
    target text collate "C" not null,
    detail text not null default '{}',  -- JSON, without the values of secrets
    primary key (workspace_id, id)
);
create index on audit (workspace_id, actor, id);
create index on audit (workspace_id, action, id);
create index on audit (workspace_id, target, id);
call protect('audit');
revoke update, delete, truncate on audit from onetool_app;
