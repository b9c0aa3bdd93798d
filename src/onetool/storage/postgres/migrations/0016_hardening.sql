-- Temporary tables come last where functions with the rights of their owner look for names. If they are not
-- named, they come first, and anyone may create some.
alter function onetool.revisions set search_path = onetool, pg_temp;
alter function onetool.workspaces_of set search_path = onetool, home, pg_temp;
alter function onetool.announce_person set search_path = onetool, pg_temp;
alter function onetool.workspaces_with_lost_jobs set search_path = onetool, pg_temp;
alter function onetool.list_tools set search_path = onetool, public, pg_temp;
alter function onetool.search_tools set search_path = onetool, public, pg_temp;
alter function onetool.candidate_tools set search_path = onetool, public, pg_temp;

-- When the issuer has last said that a person is in a group. `-infinity`: at the last login, it said nothing.
alter table home.group_people add column seen_at timestamptz not null default now();

-- The workspaces of a person are looked up without a workspace.
create index on onetool.members (kind, id);
