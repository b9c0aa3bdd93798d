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
create index tools_enabled on tools (workspace_id, pack) where listed and bundle_enabled and enabled and active;
-- Without pending lists, which every search would have to scan after an import.
create index tools_words on tools using gin (workspace_id, words) with (fastupdate = off);
create index tools_terms on tools using gin (workspace_id, terms) with (fastupdate = off);
create index tools_filters on tools using gin
    (workspace_id, tags, (pack_key || '.' || func_key) gin_trgm_ops) with (fastupdate = off);
call protect('tools');

create table vocabulary (
    workspace_id uuid,
    term text collate "C",
    tools int not null,
    is_word boolean not null,  -- not only two adjacent words as one
    primary key (workspace_id, term)
);
create index vocabulary_words on vocabulary (workspace_id, term) where is_word;
call protect('vocabulary');

-- The words of texts, to find those that start with a text: the index of words would be read for all
-- workspaces. Words that are no longer used may remain.
create table words (
    workspace_id uuid,
    word text collate "C",
    primary key (workspace_id, word)
);
call protect('words');

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

-- The condition on what a filter selects, of which values are parameters from `first` on. A filter that is
-- not set leaves no condition, so that the plan depends only on those that are.
create function filter_condition(
    first int, in_bundles text[], with_tags text[], with_disabled boolean, active_only boolean, name_part text
) returns text language sql immutable as $$
    select concat(
        'workspace_id = $1 and listed',
        case when in_bundles is not null then format(' and bundle_id = any($%s)', first) end,
        case when with_tags is not null then format(' and tags && $%s', first + 1) end,
        case when name_part <> '' then format(' and pack_key || ''.'' || func_key like $%s', first + 2) end,
        case when not with_disabled then ' and enabled and bundle_enabled' end,
        case when active_only then ' and active' end)
$$;

-- A pattern of names that contain a text.
create function containing(part text) returns text language sql immutable as $$
    select '%' || replace(replace(replace(part, '\', '\\'), '%', '\%'), '_', '\_') || '%'
$$;

-- Tools after an id, ordered by id. Here and below, the plan depends on the values, so it is made each time.
-- A tag or a part of a name that is common is found among the next tools; for a rare one, the index is read.
create function list_tools(
    in_bundles text[], with_tags text[], with_disabled boolean, active_only boolean, name_part text,
    after_id text, max_rows int
) returns setof text language plpgsql stable security definer set search_path = onetool, public as $$
declare
    condition constant text := filter_condition(2, in_bundles, with_tags, with_disabled, active_only, name_part)
        || ' and id > $5 order by id limit $6';
    workspace constant uuid := current_setting('onetool.workspace')::uuid;
    ids text[] := '{}';
begin
    if with_tags is not null or name_part <> '' then
        execute 'select array(select id from (select * from tools where workspace_id = $1 and id > $5'
            ' order by id limit 4000) tools where ' || condition || ')'
        into ids
        using workspace, in_bundles, with_tags, containing(name_part), after_id, max_rows;
    end if;
    if cardinality(ids) = max_rows then
        return query select unnest(ids);
    else
        return query execute 'select id from tools where ' || condition
        using workspace, in_bundles, with_tags, containing(name_part), after_id, max_rows;
    end if;
end $$;

-- Tools of one tier after a position, newest first. What is common is found among the newest tools; what is
-- rare, by index. The planner could not decide it: it estimates badly how common combined conditions are.
-- is_rare: whether it is known to be rare
-- The similar ones are given in up to three ways:
-- word_starts: all words that the words of the query may be the start of
-- common_starts: starts of so many words that no index is read if there are others; null if there are none
-- similar_slugs and their keys, and similar_terms
create function search_tools(
    tier int, prefix text, prefix_end text, all_words tsquery, word_starts tsquery, common_starts tsquery,
    similar_slugs text[], similar_keys text[], similar_terms tsquery, in_bundles text[], with_tags text[],
    with_disabled boolean, active_only boolean, name_part text, after_modified text, after_id text,
    max_rows int, is_rare boolean
) returns setof text language plpgsql stable security definer set search_path = onetool, public as $$
declare
    starts constant text := '((slug_key >= $2 and slug_key < $3) or (name_key >= $2 and name_key < $3))';
    resembles constant text := concat_ws(' or ',
        '(' || nullif(concat_ws(' and ',
            case when word_starts is not null then 'words @@ $5' end,
            case when common_starts is not null and word_starts is null then 'words @@ $6'
                when common_starts is not null then '(words @@ $6) is true' end), '') || ')',
        case when similar_slugs <> '{}' then '(slug_key = any($8) and slug = any($7))' end,
        case when similar_terms is not null then 'terms @@ $9' end);
    matches constant text := case
        when tier = 0 then starts
        when tier = 1 then 'words @@ $4 and not ' || starts
        when resembles = '' then 'false'
        else '(' || resembles || ') and not words @@ $4 and not ' || starts
    end;
    after_position constant text := 'workspace_id = $1'
        || case when after_id is null then '' else ' and (modified_at, id) < ($13, $14)' end;
    condition constant text := matches || ' and '
        || filter_condition(10, in_bundles, with_tags, with_disabled, active_only, name_part);
    newest_first constant text := ' order by modified_at desc, id desc limit ';
    newest constant text := 'select array(select id from (select * from tools where ' || after_position
        || newest_first || '1000) newest where ' || condition || newest_first || '$15)';
    indexed constant text := 'select id from (select id, modified_at from tools where '
        || condition || ' and ' || after_position || ' offset 0) matching' || newest_first || '$15';
    ids text[] := '{}';
begin
    if not is_rare then
        execute newest into ids
        using current_setting('onetool.workspace')::uuid, prefix, prefix_end, all_words, word_starts,
            common_starts, similar_slugs, similar_keys, similar_terms, in_bundles, with_tags,
            containing(name_part), after_modified, after_id, max_rows;
    end if;
    if cardinality(ids) = max_rows then
        return query select unnest(ids);
    else
        return query execute indexed
        using current_setting('onetool.workspace')::uuid, prefix, prefix_end, all_words, word_starts,
            common_starts, similar_slugs, similar_keys, similar_terms, in_bundles, with_tags,
            containing(name_part), after_modified, after_id, max_rows;
    end if;
end $$;

-- Enabled tools that contain any of the terms, those with most of them first. Of a term that very many tools
-- contain, the newest are ranked: all of them would take long, and displace those of rare terms.
create function candidate_tools(any_terms tsquery[], in_packs text[], max_rows int)
returns table (name text, term_list text)
language plpgsql stable security definer set search_path = onetool, public as $$
declare
    one_term constant text := '(select id, pack, func, tools.term_list, terms from tools'
        ' where workspace_id = $1 and listed and bundle_enabled and enabled and active and terms @@ %L::tsquery'
        || case when in_packs is null then '' else ' and pack = any($3)' end
        || ' order by modified_at desc, id desc limit $4)';
    parts constant text := (select string_agg(format(one_term, term), ' union all ') from unnest(any_terms) term);
    any_term constant tsquery := (select string_agg(term::text, ' | ')::tsquery from unnest(any_terms) term);
begin
    return query execute 'select pack || ''.'' || func, found.term_list from (
            select distinct on (id) * from (' || parts || ') of_terms
        ) found order by ts_rank(terms, $2) desc, id limit $4'
    using current_setting('onetool.workspace')::uuid, any_term, in_packs, max_rows;
end $$;

grant create on schema onetool to onetool_search;  -- to own functions
alter function list_tools owner to onetool_search;
alter function search_tools owner to onetool_search;
alter function candidate_tools owner to onetool_search;
revoke create on schema onetool from onetool_search;
revoke execute on function list_tools, search_tools, candidate_tools from public;
grant execute on function list_tools, search_tools, candidate_tools to onetool_app;
