-- Compressed journals that were read to their end, so that they are not unpacked again at each ingest.
create table archives (
    len_bytes integer not null,             -- of the compressed file
    head_hash integer not null,             -- of its first bytes, up to 4096
    tail_hash integer not null,             -- of its last bytes, up to 4096
    source_id integer not null references sources,
    primary key (len_bytes, head_hash, tail_hash)
) strict, without rowid;
