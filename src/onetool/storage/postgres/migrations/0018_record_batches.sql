-- compatible from 0017
-- One statement writes a batch of records of a workspace, so that it is planned once per connection, and
-- batches of many workspaces can share a transaction.

create function onetool.add_calls(workspace uuid, batch json) returns void
language plpgsql volatile
set search_path = onetool, pg_temp
set plan_cache_mode = force_generic_plan as $$
declare
    size int := json_array_length(batch -> 'calls');
    before bigint;
begin
    perform begin_write(workspace, null);
    update workspace_state set calls = calls + size where workspace_id = workspace
        returning calls - size into before;
    insert into calls (workspace_id, seq, id, tool, started, ended, kind, parent, principal, interface, client,
        profile, session, source, tool_id, version, reason, decision, duration_ms, bytes_in, bytes_out)
    select workspace, before + number, id, tool, started, ended, kind, parent, principal, interface, client,
        profile, session, source, tool_id, version, reason, decision, duration_ms, bytes_in, bytes_out
    from json_array_elements(batch -> 'calls') with ordinality as item(value, number),
        json_to_record(value) as new(id text, tool text, started float8, ended float8, kind text, parent text,
            principal text, interface text, client text, profile text, session text, source text, tool_id text,
            version text, reason text, decision text, duration_ms float8, bytes_in bigint, bytes_out bigint);
    insert into call_bodies (workspace_id, seq, arguments, result)
    select workspace, before + number, arguments, result
    from json_to_recordset(batch -> 'bodies') as new(number bigint, arguments text, result text);
    insert into call_hours as old (workspace_id, hour, tool, calls, failed, total_ms, max_ms, last_at,
        saved_tokens, round_trips)
    select workspace, hour, tool, sum(calls), sum(failed), sum(total_ms), max(max_ms), max(last_at),
        sum(saved_tokens), sum(round_trips)
    from json_to_recordset(batch -> 'hours') as new(hour bigint, tool text, calls bigint, failed bigint,
        total_ms float8, max_ms float8, last_at float8, saved_tokens bigint, round_trips bigint)
    group by hour, tool
    on conflict (workspace_id, hour, tool) do update set
        calls = old.calls + excluded.calls, failed = old.failed + excluded.failed,
        total_ms = old.total_ms + excluded.total_ms, max_ms = greatest(old.max_ms, excluded.max_ms),
        last_at = greatest(old.last_at, excluded.last_at),
        saved_tokens = old.saved_tokens + excluded.saved_tokens,
        round_trips = old.round_trips + excluded.round_trips;
    insert into session_savings as old (workspace_id, session, tokens, at)
    select workspace, session, max(tokens), max(at)
    from json_to_recordset(batch -> 'sessions') as new(session text, tokens bigint, at float8)
    group by session
    on conflict (workspace_id, session) do update set
        tokens = greatest(old.tokens, excluded.tokens), at = greatest(old.at, excluded.at);
    insert into tool_counters as old (workspace_id, tool_id, calls, last_called_at)
    select workspace, tool_id, sum(calls), max(last_called_at)
    from json_to_recordset(batch -> 'counters') as new(tool_id text, calls bigint, last_called_at float8)
    group by tool_id
    on conflict (workspace_id, tool_id) do update set
        calls = old.calls + excluded.calls,
        last_called_at = greatest(old.last_called_at, excluded.last_called_at);
end $$;
revoke execute on function onetool.add_calls from public;
grant execute on function onetool.add_calls to onetool_app;
