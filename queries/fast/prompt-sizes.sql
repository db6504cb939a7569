-- Faster: the band is worked out from the length, not looked for, and percentiles are picked, not sorted for.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
-- The leading hexadecimal digit of the length stands `shift` bits up.
shifted as (
    select s.scope, t.input_len,
        case
            when t.input_len < 16 then 0
            when t.input_len < 256 then 4
            when t.input_len < 4096 then 8
            when t.input_len < 65536 then 12
            when t.input_len < 1048576 then 16
            when t.input_len < 16777216 then 20
            else 4 * length(printf('%x', t.input_len)) - 4
        end as shift,
        case when t.terminal = 'completed' then t.ttft_s end as served_ttft_s,
        case
            when t.terminal = 'completed' or g.policy = 'offers' then 1
            when g.policy = 'router' then t.terminal not in ('cancelled', 'rejected', 'invalid')
            else t.terminal in ('invalid', 'rejected', 'expired', 'failed')
                or t.output_len is null
                or t.ttft_s is null
        end as is_scored,
        case
            when g.ttft is null or g.tpot is null then null
            else t.terminal = 'completed' and coalesce(t.ttft_s <= g.ttft, 0)
                and (t.tpot_s is null or t.tpot_s <= g.tpot)
                and (g.policy = 'router' or t.output_len is not null)
        end as is_met
    from selection as s
    cross join given as g
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
        and t.input_len is not null
        and coalesce(t.input_sized, 1) = 1
),
-- The limit takes nothing away: it keeps SQLite from working these out after the sort, from wider rows.
banded as (
    select scope, served_ttft_s, is_scored, is_met,
        case
            when input_len >> shift >= 8 then 8 << shift
            when input_len >> shift >= 4 then 4 << shift
            when input_len >> shift >= 2 then 2 << shift
            when input_len >= 1 then 1 << shift
            else 0
        end as input_from
    from shifted
    limit -1
)
select
    b.scope as scope,
    b.input_from as input_from,
    case when b.input_from > 0 then 2 * b.input_from else 1 end as input_to,
    count(*) as offered,
    sum(b.is_scored) as scored,
    sum(b.is_met) as met,
    case when sum(b.is_scored) > 0 then 1e0 * sum(b.is_met) / sum(b.is_scored) end as attainment,
    nearest_rank(b.served_ttft_s, 50) as ttft_p50,
    nearest_rank(b.served_ttft_s, 99) as ttft_p99
from banded as b
group by b.scope, b.input_from
order by b.scope nulls first, b.input_from nulls first
