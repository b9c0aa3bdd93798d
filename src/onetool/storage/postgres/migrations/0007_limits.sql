-- The number of bytes of the stored results of each workspace, which has a limit.

set local search_path = onetool, public;

create table result_totals (
    workspace_id uuid primary key,
    bytes bigint not null
);
call protect('result_totals');
revoke delete on result_totals from onetool_app;

insert into result_totals
select workspace_id, sum(size) from results where body is not null group by workspace_id;

create function count_result() returns trigger language plpgsql set search_path = onetool as $$
declare
    change bigint := 0;
begin
    if tg_op <> 'DELETE' and new.body is not null then
        change := change + new.size;
    end if;
    if tg_op <> 'INSERT' and old.body is not null then
        change := change - old.size;
    end if;
    insert into result_totals as totals values (coalesce(new.workspace_id, old.workspace_id), change)
    on conflict (workspace_id) do update set bytes = totals.bytes + change;
    return null;
end $$;

create trigger count_added after insert on results
    for each row when (new.body is not null) execute function count_result();
create trigger count_changed after update of body, size on results
    for each row when ((old.body is null) <> (new.body is null) or old.size <> new.size)
    execute function count_result();
create trigger count_deleted after delete on results
    for each row when (old.body is not null) execute function count_result();
