//! Redacted rows in the order of what is shown: that of the originals tells how the real names sort.
//!
//! Which columns an answer is sorted by is read off its statement's last `order by`.

use rusqlite::types::Value;

/// A column that an answer is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    /// Which column.
    pub column: usize,
    pub is_descending: bool,
}

/// The columns that a statement sorts its answer by, as far as they can be told. `started_at`, which need
/// not be shown, says the same as the run behind it.
pub(super) fn terms(sql: &str, names: &[String]) -> Vec<Term> {
    let words: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap_or(line)).collect();
    let sql = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let Some((statement, order)) = sql.rsplit_once("order by ") else { return Vec::new() };
    // That of a window, or of a part in brackets, ends with its bracket.
    if order.matches(')').count() > order.matches('(').count() {
        return Vec::new();
    }
    let order = order.split(" limit ").next().unwrap_or(order).trim_end_matches(';');
    let mut terms = Vec::new();
    for term in order.split(',') {
        let term = term.trim().trim_end_matches(" nulls first").trim_end_matches(" nulls last");
        let is_descending = term.ends_with(" desc");
        let term = term.trim_end_matches(" desc").trim_end_matches(" asc");
        let last = term.rsplit('.').next().unwrap_or(term);
        let is_shown = |name: &str| {
            let name = name.to_ascii_lowercase();
            [",", " "].iter().any(|after| statement.contains(&format!(" {term} as {name}{after}")))
        };
        let column = names
            .iter()
            .position(|name| is_shown(name))
            .or_else(|| names.iter().position(|name| name == last));
        match column {
            Some(column) => terms.push(Term { column, is_descending }),
            None if last == "started_at" => {}
            None => break,
        }
    }
    terms
}

/// A row as it is shown.
pub(super) type Row = Vec<Value>;

/// Sorts rows that stand in the order of `terms` by what they show in the columns that `is_redacted`, byte by
/// byte: so does SQLite over a journal that was redacted before.
pub(super) fn sort(rows: &mut [Row], terms: &[Term], is_redacted: &[bool]) {
    let Some((term, rest)) = terms.split_first() else { return };
    let (column, is_text) = (term.column, |cell: &Value| matches!(cell, Value::Text(_)));
    if is_redacted[column] {
        // What is no name, null above all, stays before or after the names.
        let others_first = rows.first().is_some_and(|row| !is_text(&row[column]));
        let place = |row: &Row| is_text(&row[column]) == others_first;
        rows.sort_by(|one, other| {
            let by_text = match (&one[column], &other[column]) {
                (Value::Text(one), Value::Text(other)) if term.is_descending => other.cmp(one),
                (Value::Text(one), Value::Text(other)) => one.cmp(other),
                _ => std::cmp::Ordering::Equal,
            };
            place(one).cmp(&place(other)).then(by_text)
        });
    }
    let mut from = 0;
    while from < rows.len() {
        let same = rows[from..].iter().take_while(|row| is_same(&row[column], &rows[from][column])).count();
        let to = from + same.max(1);
        sort(&mut rows[from..to], rest, is_redacted);
        from = to;
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Real(one), Value::Real(other)) => one.total_cmp(other).is_eq(),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_read_off_the_last_order_by() {
        let names: Vec<String> = ["run", "engine", "kind", "n"].map(str::to_owned).to_vec();
        let columns =
            |sql: &str| -> Vec<usize> { terms(sql, &names).iter().map(|term| term.column).collect() };
        let select = "select s.run as run, o.iid as engine, o.kind as kind, n -- order by x\nfrom o ";
        assert_eq!(columns(&format!("{select}order by s.started_at, s.run,\n  o.iid desc, kind")), [0, 1, 2]);
        assert_eq!(columns(&format!("{select}order by hidden, o.iid")), [0; 0]);
        assert_eq!(columns(&format!("{select}order by n desc, engine limit coalesce(:limit, 20)")), [3, 1]);
        assert_eq!(columns("select run, row_number() over (order by engine) from o"), [0; 0]);
        assert_eq!(columns("select run from o"), [0; 0]);
    }

    #[test]
    fn rows_go_by_what_is_shown_within_what_is_not_redacted() {
        let row = |run: i64, engine: Option<&str>, n: i64| {
            let engine = engine.map_or(Value::Null, |engine| Value::Text(engine.to_owned()));
            vec![Value::Integer(run), engine, Value::Integer(n)]
        };
        let mut rows = vec![
            row(1, None, 1),
            row(1, Some("engine-3"), 2),
            row(1, Some("engine-2"), 3),
            row(1, Some("engine-2"), 4),
            row(0, Some("engine-3"), 5),
            row(0, Some("engine-1"), 6),
        ];
        let terms = [0, 1, 2].map(|column| Term { column, is_descending: false });
        sort(&mut rows, &terms, &[false, true, false]);
        let order: Vec<&Value> = rows.iter().map(|row| &row[2]).collect();
        assert_eq!(order, [1, 3, 4, 2, 6, 5].map(Value::Integer).iter().collect::<Vec<_>>());
    }
}
