//! The canned queries as a metadata file of Datasette, which serves the database as web pages.
//!
//! Datasette binds every parameter of a query as text, one that was not filled in as the empty
//! text. So each parameter is given its type, and the empty text becomes null, in the SQL itself. Beside its own
//! parameters each page has those that choose a run and a part of it.

use serde_json::{Map, Value, json};

use super::header::{Query, Type};
use super::written::{each_parameter, statement_of, with_selection};

/// The parameters of every page that choose what it is about.
const CHOOSING: [&str; 3] = ["run", "from", "to"];

/// The selection that they choose: each run by itself, in seconds from its zero.
const SELECTION: &str = "    select run as scope, run_id,
        case when nullif(:from, '') is null then -1e308 else first_s + cast(:from as real) end,
        case when nullif(:to, '') is null then 1e308 else first_s + cast(:to as real) end
    from runs
    where nullif(:run, '') is null
        or run = :run
        or (:run = 'last' and run = (select run from runs order by started_at desc, run desc limit 1))";

/// The metadata of a database of that name (its file's, without the ending).
pub fn metadata(database: &str, catalog: &[Query]) -> Value {
    let queries: Map<String, Value> = catalog
        .iter()
        .map(|query| {
            let own = query.parameters.iter().map(|parameter| parameter.name.as_str());
            let entry = json!({
                "title": query.name,
                "description": format!("{}. {}", query.purpose, query.reading),
                "params": CHOOSING.into_iter().chain(own).collect::<Vec<_>>(),
                "sql": with_selection(&with_types(query), SELECTION),
            });
            (query.name.clone(), entry)
        })
        .collect();
    json!({ "databases": { database: { "queries": queries } } })
}

/// The statement without its header, each parameter cast from text.
fn with_types(query: &Query) -> String {
    each_parameter(statement_of(&query.sql), |name| {
        let parameter =
            query.parameters.iter().find(|parameter| name.strip_prefix(':') == Some(&parameter.name))?;
        Some(match sql_type(&parameter.kind) {
            "text" => format!("nullif({name}, '')"),
            kind => format!("cast(nullif({name}, '') as {kind})"),
        })
    })
}

fn sql_type(kind: &Type) -> &'static str {
    match kind {
        Type::Text | Type::OneOf(_) => "text",
        Type::Seconds | Type::Target | Type::PositiveSeconds | Type::PositiveNumber | Type::Share => "real",
        Type::Count | Type::Flag => "integer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::header::parse;

    #[test]
    fn each_parameter_gets_its_type_and_other_colons_stay() {
        let header = "-- q: a\n-- Parameters\n--   who | text | nobody | r\n--   least | seconds | 0 | f\n\
                      -- Columns\n--   n | count | n\n";
        let sql = format!("{header}select ':x' as n where :who is null and :least > 1 and :least_s = ':'\n");
        let query = parse("q", &sql).expect("the header can be read");
        assert_eq!(
            with_types(&query),
            "select ':x' as n where nullif(:who, '') is null and cast(nullif(:least, '') as real) > 1 and :least_s = ':'"
        );
    }
}
