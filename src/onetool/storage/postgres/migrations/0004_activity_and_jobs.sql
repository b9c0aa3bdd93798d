-- Records of calls and the figures that are derived from them; jobs, their answers and their owners.

create table onetool.calls (
    workspace_id uuid,
    seq bigint,  -- see `calls` in `workspace_state`
    id text collate "C" not null,
    tool text not null,
    started double precision not null,  -- times are in seconds since the epoch
    ended double precision not null,
    kind text not null,
    parent text collate "C" not null,
    principal text not null,
    interface text not null,
    client text not null,
    profile text not null,
    session text not null,
    source text not null,
    tool_id text not null,
    version text not null,
    reason text,
    decision text not null,
    duration_ms double precision not null,
    bytes_in bigint not null,
    bytes_out bigint not null,
    primary key (workspace_id, seq)
);
create index on onetool.calls (workspace_id, id);
create index on onetool.calls (workspace_id, parent) where parent <> '';
create index on onetool.calls (workspace_id, ended);
call onetool.protect('onetool.calls');

create table onetool.call_bodies (
    workspace_id uuid,
    seq bigint,
    arguments text not null,
    result text not null,
    primary key (workspace_id, seq)
);
call onetool.protect('onetool.call_bodies');

create table onetool.call_hours (
    workspace_id uuid,
    hour bigint,  -- since the epoch
    tool text collate "C",
    calls bigint not null,
    failed bigint not null,
    total_ms double precision not null,
    max_ms double precision not null,
    last_at double precision not null,
    saved_tokens bigint not null,
    round_trips bigint not null,
    primary key (workspace_id, hour, tool)
) with (fillfactor = 70);
call onetool.protect('onetool.call_hours');

create table onetool.session_savings (
    workspace_id uuid,
    session text collate "C",
    tokens bigint not null,
    at double precision not null,
    primary key (workspace_id, session)
);
call onetool.protect('onetool.session_savings');

create table onetool.tool_counters (
    workspace_id uuid,
    tool_id text collate "C",
    calls bigint not null,
    last_called_at double precision not null,
    primary key (workspace_id, tool_id)
) with (fillfactor = 70);
call onetool.protect('onetool.tool_counters');

create table onetool.job_owners (
    workspace_id uuid,
    owner text collate "C",
    lease_until timestamptz not null,
    ended_at double precision,  -- when it closed, or when its end was noticed
    primary key (workspace_id, owner)
);
call onetool.protect('onetool.job_owners');

create table onetool.jobs (
    workspace_id uuid,
    id text collate "C",
    principal text collate "C" not null,
    status text not null,
    owner text collate "C" not null,
    created_at double precision not null,
    ended_at double precision,
    body text not null,  -- JSON, in which the owner may be an earlier one
    is_cancelled boolean not null default false,
    primary key (workspace_id, id),
    foreign key (workspace_id, owner) references onetool.job_owners
);
create index on onetool.jobs (workspace_id, principal);
create index on onetool.jobs (workspace_id, owner);
call onetool.protect('onetool.jobs');

create table onetool.job_answers (
    workspace_id uuid,
    job_id text collate "C",
    question text collate "C",
    body text not null,  -- JSON
    primary key (workspace_id, job_id, question),
    foreign key (workspace_id, job_id) references onetool.jobs on delete cascade
);
call onetool.protect('onetool.job_answers');
