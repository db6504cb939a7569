//! The engines that read a lake, and where their SQL differs from that of the definitions.
//!
//! A definition is written in what SQLite and all of them read. What differs is here: how a text and a name
//! are quoted, the engine's own percentile, and what it must be told beside the statement. It knows no
//! question; a test translates each of them.

use super::written::pieces;

/// An engine that reads a lake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlEngine {
    /// DuckDB, from 1.0.
    DuckDb,
    /// Apache Spark, from 4.1: older ones have no `with recursive`.
    Spark,
    /// ClickHouse, also as `clickhouse local` and chdb, from 25.
    ClickHouse,
}

impl SqlEngine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DuckDb, Self::Spark, Self::ClickHouse];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::Spark => "spark",
            Self::ClickHouse => "clickhouse",
        }
    }

    /// Which it is, for help.
    pub fn says(self) -> &'static str {
        match self {
            Self::DuckDb => "DuckDB, from 1.0",
            Self::Spark => "Apache Spark, from 4.1: older ones have no `with recursive`",
            Self::ClickHouse => "ClickHouse, also as `clickhouse local` and chdb, from 25",
        }
    }

    /// A statement of a definition in the engine's dialect. Parameters stay as they are.
    pub fn translated(self, statement: &str) -> String {
        let statement = without_ranks(&self.with_percentiles(statement));
        if self != Self::Spark {
            return statement;
        }
        let quoted = |piece: &str| match piece.starts_with('"') {
            true => piece.replace('"', "`"),
            false => piece.to_owned(),
        };
        pieces(&statement).map(quoted).collect()
    }

    /// A text as it stands in a statement.
    pub fn text(self, text: &str) -> String {
        let escaped = match self {
            Self::DuckDb => text.replace('\'', "''"),
            Self::ClickHouse => text.replace('\\', r"\\").replace('\'', r"\'"),
            // Spark puts values in the place of `${name}`, in texts too.
            Self::Spark => text.replace('\\', r"\\").replace('\'', r"\'").replace('$', r"\u0024"),
        };
        format!("'{escaped}'")
    }

    /// What stands after a statement, so that it means what SQLite means by it.
    pub fn settings(self) -> &'static str {
        match self {
            Self::DuckDb | Self::Spark => "",
            // What an outer join does not find, what is made of no rows, and a null that is cast are null, not 0;
            // `union` is of distinct rows.
            Self::ClickHouse => {
                "\nsettings join_use_nulls = 1, aggregate_functions_null_for_empty = 1, cast_keep_nullable = 1, \
                 union_default_mode = 'DISTINCT', max_recursive_cte_evaluation_depth = 1000000"
            }
        }
    }

    /// The percentile by nearest rank of the known values.
    fn percentile(self, value: &str, percent: u8) -> String {
        let share = f64::from(percent) / 100.0;
        match self {
            Self::DuckDb => format!("quantile_disc({value}, {share})"),
            Self::Spark => format!("percentile_disc({share}) within group (order by {value})"),
            // `quantileExact` takes the value after it where the rank is a whole number.
            Self::ClickHouse => format!("quantileExactWeighted({share})({value}, 1)"),
        }
    }

    /// Percentiles of a definition by the engine's own function.
    fn with_percentiles(self, statement: &str) -> String {
        const BEGINS: &str = "min(";
        let mut written = String::with_capacity(statement.len());
        let mut rest = statement;
        while let Some(at) = rest.find(BEGINS) {
            let (before, from) = rest.split_at(at);
            written.push_str(before);
            match Percentile::read(&from[BEGINS.len()..]) {
                Some((percentile, after)) => {
                    written.push_str(&self.own(&percentile));
                    rest = after;
                }
                None => {
                    written.push_str(BEGINS);
                    rest = &from[BEGINS.len()..];
                }
            }
        }
        written.push_str(rest);
        written
    }

    fn own(self, percentile: &Percentile<'_>) -> String {
        const LARGEST: &str = "cast('inf' as double)";
        let filter = percentile.given.map(|given| format!(" filter (where {given})")).unwrap_or_default();
        let Percentile { value, percent, .. } = *percentile;
        if percentile.is_of_all {
            let own = self.percentile(&format!("coalesce({value}, {LARGEST})"), percent);
            return format!("nullif({own}{filter}, {LARGEST})");
        }
        format!("{}{filter}", self.percentile(value, percent))
    }
}

/// A percentile as definitions write it, by the rank `k` of `n` values:
///
/// ```sql
/// min(VALUE) filter (where GIVEN and 100 * k >= PERCENT * n)
/// ```
///
/// GIVEN can be missing. Where the values are counted in `of_all`, those that are null count as the largest;
/// in `n` and `of_n` they do not count.
#[derive(Debug, PartialEq)]
struct Percentile<'s> {
    value: &'s str,
    given: Option<&'s str>,
    percent: u8,
    is_of_all: bool,
}

impl<'s> Percentile<'s> {
    /// Reads one after its `min(`, with what comes after it; none where it is another minimum.
    fn read(from: &'s str) -> Option<(Self, &'s str)> {
        let (value, rest) = from.split_once(") filter (where ")?;
        let (condition, after) = rest.split_once(')')?;
        let (given, rank) = match condition.rsplit_once(" and ") {
            Some((given, rank)) => (Some(given), rank),
            None => (None, condition),
        };
        let (percent, counted) = rank.strip_prefix("100 * ")?.split_once(" >= ")?.1.split_once(" * ")?;
        let is_of_all = counted == "of_all" || counted.ends_with(".of_all");
        let is_one = !value.contains(['(', ')']);
        let percent = percent.parse().ok()?;
        is_one.then_some((Self { value, given, percent, is_of_all }, after))
    }
}

/// A statement without the columns that number and count values for percentiles.
fn without_ranks(statement: &str) -> String {
    const BEGIN: &str = ",\n        row_number() over (";
    const ENDS: [&str; 3] = [") as n\n", ") as of_n\n", ") as of_all\n"];
    let mut written = statement.to_owned();
    while let Some(from) = written.find(BEGIN) {
        let ends = ENDS.iter().filter_map(|end| Some(from + written[from..].find(end)? + end.len() - 1));
        let Some(end) = ends.min() else { break };
        written.replace_range(from..end, "");
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::catalog::shipped;

    const EVERY: [SqlEngine; 3] = [SqlEngine::DuckDb, SqlEngine::Spark, SqlEngine::ClickHouse];

    #[test]
    fn every_percentile_of_the_definitions_becomes_the_engines_own() {
        let mut percentiles = 0;
        for query in shipped().expect("the query files can be read") {
            let written = query.sql.matches("100 * ").count();
            percentiles += written;
            for engine in EVERY {
                let translated = engine.translated(&query.sql);
                let name = engine.percentile("", 50);
                let own = translated.matches(name.split('(').next().unwrap_or_default()).count();
                assert_eq!(own, written, "{} for {engine:?}", query.name);
                for left in ["100 * ", "row_number", " as k,", "of_n", "of_all"] {
                    assert!(!translated.contains(left), "{} for {engine:?} has {left:?}", query.name);
                }
            }
        }
        assert!(percentiles > 20, "{percentiles}");
    }

    #[test]
    fn percentiles_keep_their_condition_and_what_is_unknown_can_be_the_largest() {
        let sql = "select min(r.v) filter (where r.m = 'a' and 100 * r.k >= 95 * r.of_n), min(w) filter (where w > 1),
            min(v) filter (where 100 * k >= 50 * of_all), min(x)";
        assert_eq!(
            SqlEngine::Spark.translated(sql),
            "select percentile_disc(0.95) within group (order by r.v) filter (where r.m = 'a'), \
             min(w) filter (where w > 1),
            nullif(percentile_disc(0.5) within group (order by coalesce(v, cast('inf' as double))), \
             cast('inf' as double)), min(x)"
        );
        assert!(
            SqlEngine::DuckDb.translated(sql).contains("quantile_disc(r.v, 0.95) filter (where r.m = 'a')")
        );
        assert!(SqlEngine::ClickHouse.translated(sql).contains("quantileExactWeighted(0.95)(r.v, 1) filter"));
    }

    #[test]
    fn texts_and_names_are_quoted_as_the_engine_has_it() {
        let text = r"o'neil \ ${env:HOME}";
        for (engine, expected) in [
            (SqlEngine::DuckDb, r"'o''neil \ ${env:HOME}'"),
            (SqlEngine::Spark, r"'o\'neil \\ \u0024{env:HOME}'"),
            (SqlEngine::ClickHouse, r"'o\'neil \\ ${env:HOME}'"),
        ] {
            assert_eq!(engine.text(text), expected);
        }
        let sql = "select e.\"by\" as \"by\", '\"' -- \"why\"";
        assert_eq!(SqlEngine::Spark.translated(sql), "select e.`by` as `by`, '\"' -- \"why\"");
        assert_eq!(SqlEngine::DuckDb.translated(sql), sql);
    }
}
