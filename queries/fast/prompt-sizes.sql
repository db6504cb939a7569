-- Faster: one pass over the requests; values are gathered by band of length, nothing is sorted, and percentiles are picked.
with
given as (
    select
        coalesce(:policy, 'journal') as policy,
        coalesce(:ttft, saved.ttft_s) as ttft,
        coalesce(:tpot, saved.tpot_s) as tpot
    from (select 1 as one) as always
    left join slos as saved on saved.name = coalesce(:slo, 'default')
),
gathered as materialized (
    select s.scope,
        counts_by_length(case when coalesce(t.input_sized, 1) = 1 then t.input_len end, 1) as prompts_offered,
        counts_by_length(
            case when coalesce(t.input_sized, 1) = 1 then t.input_len end,
            case
                when t.terminal = 'completed' or (select policy from given) = 'offers' then 1
                when (select policy from given) = 'router' then t.terminal not in ('cancelled', 'rejected', 'invalid')
                else t.terminal in ('invalid', 'rejected', 'expired', 'failed')
                    or t.output_len is null
                    or t.ttft_s is null
            end
        ) as prompts_scored,
        counts_by_length(
            case when coalesce(t.input_sized, 1) = 1 then t.input_len end,
            case
                when (select ttft is null or tpot is null from given) then null
                else t.terminal = 'completed' and coalesce(t.ttft_s <= (select ttft from given), 0)
                    and (t.tpot_s is null or t.tpot_s <= (select tpot from given))
                    and (t.output_len is not null or (select policy from given) = 'router')
            end
        ) as prompts_met,
        ranks_by_length(
            case when coalesce(t.input_sized, 1) = 1 then t.input_len end,
            case when t.terminal = 'completed' then t.ttft_s end
        ) as prompts_ttft
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
),
-- Bands without any TTFT are in the first of these only.
measured as (
    select g.scope, g.prompts_ttft as ranks, t.value as band, t.key as place
    from gathered as g
    cross join json_each(keys_of(g.prompts_ttft)) as t
),
banded as (
    select g.scope, b.value as band, cast(b.value as integer) as input_from,
        rank_at(g.prompts_offered, b.key, 0) as offered,
        rank_at(g.prompts_scored, b.key, 0) as scored,
        rank_at(g.prompts_met, b.key, 0) as met
    from gathered as g
    cross join json_each(keys_of(g.prompts_offered)) as b
)
select
    b.scope as scope,
    b.input_from as input_from,
    case when b.input_from > 0 then 2 * b.input_from else 1 end as input_to,
    b.offered as offered,
    b.scored as scored,
    b.met as met,
    case when b.scored > 0 then 1e0 * b.met / b.scored end as attainment,
    rank_at(m.ranks, m.place, 50) as ttft_p50,
    rank_at(m.ranks, m.place, 99) as ttft_p99
from banded as b
left join measured as m on m.scope = b.scope and m.band = b.band
order by b.scope nulls first, b.input_from nulls first
