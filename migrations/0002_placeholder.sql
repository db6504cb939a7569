-- Holds the number of the migration that is on its way.
select 1;
