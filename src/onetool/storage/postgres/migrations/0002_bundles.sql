-- Stored bundles and tools.
--
-- A tool has a copy of what its bundle decides about it, so that pages and searches read one table. Bodies
-- are JSON as text: jsonb would lose the order of keys and refuse some characters.

set local search_path = onetool, public;

create table bundles (
    workspace_id uuid,
    id text collate "C",
    base text collate "C" not null,  -- the slug as a Python name
    pack text collate "C" not null,  -- the name in code: the base, or longer if another bundle has it
    enabled boolean not null,
    deleted boolean not null,
    body text not null,
    primary key (workspace_id, id)
);
create index bundles_base on bundles (workspace_id, base);
create index bundles_pack on bundles (workspace_id, pack);
call protect('bundles');

create table tools (
    workspace_id uuid,
    id text collate "C",
    bundle_id text collate "C" not null,
    slug text collate "C" not null,
    version text collate "C" not null,
    pack text collate "C" not null,
    func text collate "C" not null,
    pack_key text collate "C" not null,  -- the names in code without case
    func_key text collate "C" not null,
    listed boolean not null,  -- the bundle is not deleted
    bundle_enabled boolean not null,
    enabled boolean not null,
    active boolean not null,  -- the version that a name without a version means
    created_at text collate "C" not null,
    modified_at text collate "C" not null,
    slug_key text collate "C" not null,
    name_key text collate "C" not null,
    tags text[] not null,
    body text not null,
    term_list text not null,
    words tsvector not null,
    terms tsvector not null,
    primary key (workspace_id, id),
    unique (workspace_id, bundle_id, slug, version),
    foreign key (workspace_id, bundle_id) references bundles
);
create index tools_func on tools (workspace_id, bundle_id, func);
create index tools_name on tools (workspace_id, pack, func);
create index tools_newest on tools (workspace_id, modified_at desc, id desc);
create index tools_slug_key on tools (workspace_id, slug_key);
create index tools_name_key on tools (workspace_id, name_key);
-- Without pending lists, which every search would have to scan after an import.
create index tools_words on tools using gin (workspace_id, words) with (fastupdate = off);
create index tools_terms on tools using gin (workspace_id, terms) with (fastupdate = off);
call protect('tools');

create table vocabulary (
    workspace_id uuid,
    term text collate "C",
    tools int not null,
    is_word boolean not null,  -- not only two adjacent words as one
    primary key (workspace_id, term)
);
call protect('vocabulary');

create table term_totals (
    workspace_id uuid primary key,
    tools bigint not null,
    lengths bigint[] not null
);
call protect('term_totals');

-- The operators of text search are not leakproof: under row-level security, PostgreSQL would not use their
-- indexes. These functions run as a role that sees all tools, and name the workspace themselves.

create policy search on tools for select to onetool_search using (true);
grant select on tools to onetool_search;

-- Tools of one tier after a position, newest first. The plan depends on the values, so it is made each time.
create function search_tools(
    tier int, prefix text, prefix_end text, all_words tsquery, word_starts tsquery, similar_slugs text[],
    similar_keys text[], in_bundles text[], with_tags text[], with_disabled boolean, active_only boolean,
    name_part text, after_modified text, after_id text, max_rows int
) returns setof text language plpgsql stable security definer set search_path = onetool, public as $$
declare
    starts constant text := '((slug_key >= $2 and slug_key < $3) or (name_key >= $2 and name_key < $3))';
    matches constant text := case tier
        when 0 then starts
        when 1 then '(words @@ $4 and not ' || starts || ')'
        else '((words @@ $5 or (slug_key = any($7) and slug = any($6))) and not words @@ $4 and not '
            || starts || ')'
    end;
begin
    return query execute 'select id from tools where workspace_id = $1 and listed and ' || matches || '
        and ($8 is null or bundle_id = any($8)) and ($9 is null or tags && $9)
        and ($10 or (enabled and bundle_enabled)) and (not $11 or active)
        and ($12 = '''' or strpos(pack_key || ''.'' || func_key, $12) > 0)
        and ($13 is null or (modified_at, id) < ($13, $14))
        order by modified_at desc, id desc limit $15'
    using current_setting('onetool.workspace')::uuid, prefix, prefix_end, all_words, word_starts,
        similar_slugs, similar_keys, in_bundles, with_tags, with_disabled, active_only, name_part,
        after_modified, after_id, max_rows;
end $$;

-- Enabled tools that contain any of the terms, those with most of them first. Of very many, any are ranked.
create function candidate_tools(any_term tsquery, in_packs text[], max_rows int)
returns table (name text, term_list text)
language plpgsql stable security definer set search_path = onetool, public as $$
begin
    return query execute 'select pack || ''.'' || func, found.term_list from (
            select * from tools where workspace_id = $1 and listed and bundle_enabled and enabled and active
            and terms @@ $2 and ($3 is null or pack = any($3)) limit 5000
        ) found order by ts_rank(terms, $2) desc, id limit $4'
    using current_setting('onetool.workspace')::uuid, any_term, in_packs, max_rows;
end $$;

grant create on schema onetool to onetool_search;  -- to own functions
alter function search_tools owner to onetool_search;
alter function candidate_tools owner to onetool_search;
revoke create on schema onetool from onetool_search;
revoke execute on function search_tools, candidate_tools from public;
grant execute on function search_tools, candidate_tools to onetool_app;
