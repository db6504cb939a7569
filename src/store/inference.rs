//! Which build wrote which run: the journal does not say it, the order of rows in a source does
//! (docs/semantics.md, "Which build wrote a run").

use rusqlite::{Connection, Result, params};

use super::current::CurrentSource;

/// Where it is written what is known of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// In `runs`, met as `run_sources` says.
    Runs,
    /// In `forgotten`, met as `forgotten_sources` says.
    Forgotten,
}

impl Home {
    /// A statement with the tables and the key of a run for `{runs}`, `{met}` and `{key}`.
    fn sql(self, template: &str) -> String {
        let (runs, met, key) = match self {
            Self::Runs => ("runs", "run_sources", "run_id"),
            Self::Forgotten => ("forgotten", "forgotten_sources", "forgotten_id"),
        };
        template.replace("{runs}", runs).replace("{met}", met).replace("{key}", key)
    }
}

/// What a source holds, as far as the inference goes.
enum Met {
    Build {
        build_id: i64,
        digest: String,
    },
    Run {
        home: Home,
        id: i64,
        /// Whether its build stands in another source.
        has_other_build: bool,
    },
}

impl CurrentSource {
    /// Infers the build of a run at its first row in the current source; how certain it is there.
    pub(super) fn take_build(
        &mut self,
        connection: &Connection,
        home: Home,
        id: i64,
    ) -> Result<&'static str> {
        let has_build = connection
            .prepare_cached(&home.sql("select build_id is not null from {runs} where {key} = ?1"))?
            .query_row([id], |row| row.get(0))?;
        if has_build {
            return Ok("exact");
        }
        let (certainty, build_id) = self.infer_build(connection)?;
        // A run met in several sources has the best it got in any.
        if certainty != "missing" {
            connection
                .prepare_cached(
                    &home.sql("update {runs} set build_id = ?2, build_certainty = ?3 where {key} = ?1"),
                )?
                .execute(params![id, build_id, certainty])?;
        }
        Ok(certainty)
    }

    /// The certainty, and the build when it is exact, of a run that is met first now.
    ///
    /// While kept build rows differ nothing is taken, but each ambiguous run has used up one of
    /// them: when as many were met as the set has members, the set is of no further use. A build row
    /// that comes meanwhile joins the set, and those runs still count.
    fn infer_build(&mut self, connection: &Connection) -> Result<(&'static str, Option<i64>)> {
        let Some((first, rest)) = self.kept.split_first() else {
            return Ok(("missing", None));
        };
        let mut set_state = connection.prepare_cached("update builds set state = ?2 where build_id = ?1")?;
        if rest.iter().all(|(_, digest)| *digest == first.1) {
            let (build_id, _) = self.kept.remove(0);
            set_state.execute(params![build_id, "taken"])?;
            if self.kept.is_empty() {
                self.ambiguous_runs = 0;
            }
            return Ok(("exact", Some(build_id)));
        }
        self.ambiguous_runs += 1;
        if self.ambiguous_runs >= self.kept.len() as u64 {
            for (build_id, _) in self.kept.drain(..) {
                set_state.execute(params![build_id, "dropped"])?;
            }
            self.ambiguous_runs = 0;
        }
        Ok(("ambiguous", None))
    }

    /// Infers anew the builds of the runs of the current source, in the order of its rows. A run that
    /// had its build from another source when it was met here takes none; one that got it there later
    /// keeps it, and uses up what it used up.
    pub(super) fn infer_again(&mut self, connection: &Connection) -> Result<()> {
        let met = self.met_in_order(connection)?;
        self.unlearn_builds(connection, &met)?;
        for met in met {
            let (home, id, certainty) = match met {
                Met::Build { build_id, digest } => {
                    self.kept.push((build_id, digest));
                    continue;
                }
                Met::Run { home, id, has_other_build: false } => {
                    (home, id, self.take_build(connection, home, id)?)
                }
                Met::Run { home, id, has_other_build: true } => (home, id, self.infer_build(connection)?.0),
            };
            let sql = home.sql("update {met} set build_certainty = ?3 where source_id = ?1 and {key} = ?2");
            connection.prepare_cached(&sql)?.execute(params![self.source_id, id, certainty])?;
        }
        Ok(())
    }

    /// Undoes what was inferred in the current source: to each run remains what others say.
    fn unlearn_builds(&mut self, connection: &Connection, met: &[Met]) -> Result<()> {
        let source_id = self.source_id;
        self.kept.clear();
        self.ambiguous_runs = 0;
        connection.execute("update builds set state = 'kept' where source_id = ?1", [source_id])?;
        for met in met {
            let Met::Run { home, id, has_other_build: false } = met else { continue };
            let sql = home.sql(
                "update {runs} set build_id = null, build_certainty = case when exists (
                     select 1 from {met} as m
                     where m.{key} = {runs}.{key} and m.source_id <> ?2 and m.build_certainty = 'ambiguous'
                 ) then 'ambiguous' else 'missing' end
                 where {key} = ?1",
            );
            connection.prepare_cached(&sql)?.execute([*id, source_id])?;
        }
        Ok(())
    }

    /// The build rows of the current source, and the first rows of the runs that had no build when they
    /// were met in it.
    fn met_in_order(&self, connection: &Connection) -> Result<Vec<Met>> {
        let mut met = Vec::new();
        let mut builds = connection
            .prepare_cached("select byte_offset, build_id, digest from builds where source_id = ?1")?;
        let builds = builds.query_map([self.source_id], |row| {
            Ok((row.get(0)?, Met::Build { build_id: row.get(1)?, digest: row.get(2)? }))
        })?;
        for place_and_build in builds {
            met.push(place_and_build?);
        }
        for home in [Home::Runs, Home::Forgotten] {
            let mut runs = connection.prepare_cached(&home.sql(
                "select m.first_offset, m.{key}, b.source_id is not null and b.source_id <> ?1
                 from {met} as m
                 join {runs} as r on r.{key} = m.{key}
                 left join builds as b on b.build_id = r.build_id
                 where m.source_id = ?1 and (m.build_certainty <> 'exact' or b.source_id = ?1)",
            ))?;
            let runs = runs.query_map([self.source_id], |row| {
                let place: Option<u64> = row.get(0)?;
                Ok((place, Met::Run { home, id: row.get(1)?, has_other_build: row.get(2)? }))
            })?;
            for place_and_run in runs {
                met.push(place_and_run?);
            }
        }
        met.sort_by_key(|(place, _)| *place);
        Ok(met.into_iter().map(|(_, met)| met).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{schema, sources};

    /// A source with build rows of these digests, and as many runs.
    fn world(digests: &[&str], runs: usize) -> (Connection, CurrentSource) {
        let mut connection = Connection::open_in_memory().expect("there is memory");
        schema::migrate(&mut connection).expect("the migrations hold");
        let source_id = sources::insert(&connection, "-", None).expect("it can be written");
        for (at, digest) in digests.iter().enumerate() {
            let sql = "insert into builds (source_id, byte_offset, schema, schema_version, digest, state)
                       values (?1, ?2, 's', 1, ?3, 'kept')";
            connection.execute(sql, params![source_id, at as i64, digest]).expect("it can be written");
        }
        for run in 0..runs {
            let sql = "insert into runs (run, build_certainty, source_id) values (?1, 'missing', ?2)";
            connection.execute(sql, params![format!("r{run}"), source_id]).expect("it can be written");
        }
        let source = CurrentSource::load(&connection, source_id).expect("it is there");
        (connection, source)
    }

    /// What each run gets, in the order in which they are met: the certainty, and which build.
    fn taken(digests: &[&str], runs: usize) -> Vec<(&'static str, Option<i64>)> {
        let (connection, mut source) = world(digests, runs);
        let take = |run| {
            let certainty = source.take_build(&connection, Home::Runs, run).expect("it can be written");
            let sql = "select build_id from runs where run_id = ?1";
            (certainty, connection.query_row(sql, [run], |row| row.get(0)).expect("it is there"))
        };
        (1..=runs as i64).map(take).collect()
    }

    #[test]
    fn a_run_takes_the_build_row_before_it_and_the_next_one_none() {
        assert_eq!(taken(&["a"], 2), [("exact", Some(1)), ("missing", None)]);
        assert_eq!(taken(&[], 1), [("missing", None)]);
    }

    #[test]
    fn equal_build_rows_are_taken_in_their_order() {
        assert_eq!(taken(&["a", "a"], 3), [("exact", Some(1)), ("exact", Some(2)), ("missing", None)]);
    }

    #[test]
    fn while_build_rows_differ_each_run_uses_one_up_and_has_none() {
        let ambiguous = ("ambiguous", None);
        assert_eq!(taken(&["a", "b"], 3), [ambiguous, ambiguous, ("missing", None)]);
        assert_eq!(taken(&["a", "b", "a"], 4), [ambiguous, ambiguous, ambiguous, ("missing", None)]);
    }

    #[test]
    fn a_run_that_has_a_build_takes_no_other() {
        let (connection, mut source) = world(&["a", "b"], 1);
        connection.execute("update runs set build_id = 2", []).expect("it can be written");
        let certainty = source.take_build(&connection, Home::Runs, 1).expect("it can be written");
        assert_eq!((certainty, source.kept.len()), ("exact", 2));
    }
}
