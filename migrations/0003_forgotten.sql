-- Runs whose rows were deleted to keep the database small, and what keeps them from coming back.
--
-- Why: rows know their identity only while they are stored. Without its tombstone a forgotten run would
-- come back with the next copy of its journal, and its build row would be free for the run after it.

-- Forgotten runs. Their build rows stay, and a forgotten run that is met in another source still takes one.
create table forgotten (
    forgotten_id integer primary key,
    run text not null unique,
    forgotten_at text not null,             -- UTC
    undone_at text,                         -- UTC; set: its rows are taken again where they are read again
    started_at text,                        -- as it was in `runs`, and so on
    build_id integer references builds,
    build_certainty text not null check (build_certainty in ('exact', 'ambiguous', 'missing')),
    first_s real,
    last_s real,
    terminals integer not null,             -- how many rows were deleted, by table
    attempt_failures integer not null,
    events integer not null
) strict;

-- In which sources a forgotten run was met, before or since: as `run_sources`.
create table forgotten_sources (
    source_id integer not null references sources,
    forgotten_id integer not null references forgotten,
    build_certainty text not null check (build_certainty in ('exact', 'ambiguous', 'missing')),
    first_offset integer,
    primary key (source_id, forgotten_id)
) strict, without rowid;

-- Sources that are read again from their start, because a run that stood in them is wanted back. The
-- row goes when the reading has come to the offset of the source.
create table rereads (
    source_id integer primary key references sources,
    offset_bytes integer not null,          -- the byte after the last line read again
    lines integer not null                  -- lines read again
) strict;

-- Where the first row of the run stood in the source: a row that is read late (`rejects retry`) may come
-- before it, and which build wrote the run is inferred in the order of the file.
alter table run_sources add column first_offset integer;
update run_sources set first_offset = (
    select min(byte_offset) from (
        select byte_offset from terminals as t
        where t.run_id = run_sources.run_id and t.source_id = run_sources.source_id
        union all
        select byte_offset from events as e
        where e.run_id = run_sources.run_id and e.source_id = run_sources.source_id
    )
);
