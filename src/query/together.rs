//! Several questions of one selection from one reading of its requests. Faster statements that begin with what they
//! gather of each scope, all in one form, differ only in what they add up: it is added up at once, and each statement goes
//! on from there.

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::run::Bound;
use super::{catalog, faster, params};
use crate::selection::Selection;

/// What such a statement begins with, before and after what it gathers.
const BEFORE: &str = "gathered as materialized (\n    select s.scope,\n";
const AFTER: &str = "
    from selection as s
    cross join terminals as t
    where t.run_id = s.run_id
        and t.arrived >= s.from_s
        and t.arrived < s.to_s
    group by s.scope
)";

/// A statement in its parts: what it is given, what it gathers, what it makes of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts<'s> {
    given: &'s str,
    gathers: &'s str,
    rest: &'s str,
}

impl<'s> Parts<'s> {
    fn of(sql: &'s str) -> Option<Self> {
        let code = &sql[sql.find("with\n")? + "with\n".len()..];
        let (given, code) = code.split_once(BEFORE)?;
        let (gathers, rest) = code.split_once(AFTER)?;
        Some(Self { given, gathers, rest })
    }
}

/// A question that is ready to be asked.
#[derive(Debug)]
pub struct Ready {
    /// The statement.
    pub sql: String,
    /// Its parameters.
    pub bound: Vec<Bound>,
}

/// Reads the requests of a selection, which is the connection's one afterwards, for all of these questions; `given` has
/// their parameters as on the command line. What is left to ask of each comes back in their order.
///
/// # Errors
/// When a question cannot be read with others, a parameter is wrong, or the database cannot be read.
pub fn read(
    connection: &mut Connection,
    names: &[&str],
    selection: &Selection,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Ready>> {
    selection.install(connection)?;
    let shipped = catalog::shipped()?;
    let mut ready = Vec::with_capacity(names.len());
    let (mut before, mut gathers) = (Vec::new(), Vec::new());
    for name in names {
        let query = shipped.iter().find(|query| query.name == *name);
        let query = query.with_context(|| format!("no query {name} ships"))?;
        let parts = Parts::of(faster::statement(query, selection))
            .with_context(|| format!("{name} cannot be read together with others"))?;
        before.push(parts.given.to_owned());
        gathers.push(parts.gathers.to_owned());
        let sql = format!(
            "with\n{}gathered as (\n    select *\n    from temp.gathered\n){}",
            parts.given, parts.rest
        );
        ready.push(Ready { sql, bound: params::bind(connection, query, &given)? });
    }
    before.sort_unstable();
    before.dedup();
    let sql = format!(
        "create temporary table gathered as with\n{}{BEFORE}{}{AFTER}\nselect * from gathered",
        before.concat(),
        gathers.join(",\n")
    );
    connection.execute_batch("drop table if exists temp.gathered")?;
    let mut statement = connection.prepare(&sql)?;
    for (name, value) in ready.iter().flat_map(|ready| &ready.bound) {
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    statement.raw_execute()?;
    drop(statement);
    Ok(ready)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::query::faster::FASTER;

    #[test]
    fn what_is_gathered_together_has_names_of_its_own() {
        let mut seen = BTreeSet::new();
        let mut statements = 0;
        for faster in FASTER {
            let Some(parts) = Parts::of(faster.sql) else { continue };
            statements += 1;
            for word in parts.gathers.split(" as ").skip(1) {
                let name: String = word.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                assert!(seen.insert(name.clone()), "{}: {name} is gathered twice", faster.name);
            }
        }
        assert!(statements >= 7, "{statements}");
    }
}
