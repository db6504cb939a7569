-- How many requests arrived in a part of a run, and when the first and the last of the whole run did.
select
    (
        select count(*)
        from terminals as t
        where t.run_id = :run_id
            and t.arrived >= :from_s
            and t.arrived < :to_s
    ) as offered,
    (select min(t.arrived) from terminals as t where t.run_id = :run_id) as first_s,
    (select max(t.arrived) from terminals as t where t.run_id = :run_id) as last_s
