-- Sessions belong to a principal. One process at a time runs a question in a session.

set local search_path = onetool, public;

alter table session_records drop constraint session_records_workspace_id_session_id_fkey;
alter table session_records drop constraint session_records_pkey;
alter table sessions drop constraint sessions_pkey;
drop index sessions_workspace_id_changed_at_id_idx;
alter table sessions add column owner text collate "C" not null default 'local';
alter table session_records add column owner text collate "C" not null default 'local';
alter table sessions alter column owner drop default, add primary key (workspace_id, owner, id);
alter table session_records alter column owner drop default,
    add primary key (workspace_id, owner, session_id, n),
    add foreign key (workspace_id, owner, session_id) references sessions on delete cascade;
create index on sessions (workspace_id, owner, changed_at, id);
create index on sessions (workspace_id, changed_at);

create table chat_leases (
    workspace_id uuid,
    owner text collate "C",
    session_id text collate "C",
    replica text collate "C" not null,  -- the process that runs the question
    lease_until timestamptz not null,
    primary key (workspace_id, owner, session_id)
);
call protect('chat_leases');

create table chat_approvals (  -- tools whose calls are always approved in a session
    workspace_id uuid,
    owner text collate "C",
    session_id text collate "C",
    tool text collate "C",
    primary key (workspace_id, owner, session_id, tool),
    foreign key (workspace_id, owner, session_id) references sessions on delete cascade
);
call protect('chat_approvals');
