//! The canned queries as a metadata file of Datasette, which serves the database as web pages.
//!
//! Datasette binds every parameter of a query as text, one that was not filled in as the empty
//! text. So each parameter is given its type, and the empty text becomes null, in the SQL itself.

use serde_json::{Map, Value, json};

use super::catalog::{Query, Type};

/// The metadata of a database of that name (its file's, without the ending).
pub fn metadata(database: &str, catalog: &[Query]) -> Value {
    let queries: Map<String, Value> = catalog
        .iter()
        .map(|query| {
            let entry = json!({
                "title": query.name,
                "description": format!("{}. {}", query.purpose, query.reading),
                "params": query.parameters.iter().map(|parameter| &parameter.name).collect::<Vec<_>>(),
                "sql": with_types(query),
            });
            (query.name.clone(), entry)
        })
        .collect();
    json!({ "databases": { database: { "queries": queries } } })
}

/// The statement without its header, each parameter cast from text.
fn with_types(query: &Query) -> String {
    let statement: Vec<&str> = query.sql.lines().skip_while(|line| line.starts_with("--")).collect();
    let statement = statement.join("\n");
    let mut typed = String::with_capacity(statement.len() * 2);
    let mut rest = statement.as_str();
    while let Some(at) = rest.find(':') {
        let (before, behind) = rest.split_at(at);
        typed.push_str(before);
        let end = behind[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let end = end.map_or(behind.len(), |end| end + 1);
        let (name, after) = behind.split_at(end);
        match query.parameters.iter().find(|parameter| parameter.name == name[1..]) {
            Some(parameter) => match sql_type(&parameter.kind) {
                "text" => typed.push_str(&format!("nullif({name}, '')")),
                kind => typed.push_str(&format!("cast(nullif({name}, '') as {kind})")),
            },
            None => typed.push_str(name),
        }
        rest = after;
    }
    typed.push_str(rest);
    typed
}

fn sql_type(kind: &Type) -> &'static str {
    match kind {
        Type::Run | Type::Text | Type::OneOf(_) => "text",
        Type::Seconds | Type::Target | Type::PositiveSeconds | Type::PositiveNumber => "real",
        Type::Count => "integer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::catalog::parse;

    #[test]
    fn each_parameter_gets_its_type_and_other_colons_stay() {
        let header = "-- q: a\n-- Parameters\n--   run | run | every run | r\n--   from | seconds | 0 | f\n\
                      -- Columns\n--   n | count | n\n";
        let sql = format!("{header}select ':x' as n where :run is null and :from > 1 and :from_s = ':'\n");
        let query = parse("q", &sql).expect("the header can be read");
        assert_eq!(
            with_types(&query),
            "select ':x' as n where nullif(:run, '') is null and cast(nullif(:from, '') as real) > 1 and :from_s = ':'"
        );
    }
}
