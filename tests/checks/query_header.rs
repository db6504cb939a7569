//! A query file of the user's: whatever it is, it is a query or a fault with its place.

use std::cell::RefCell;

use narwhal_jq::query::header::{check as check_query, parse};
use narwhal_jq::query::params;
use narwhal_jq::store::schema;
use rusqlite::Connection;

thread_local! {
    static TABLES: RefCell<Connection> = RefCell::new({
        let mut tables = Connection::open_in_memory().expect("SQLite works");
        schema::migrate(&mut tables).expect("the migrations run");
        tables
    });
}

/// Checks the bytes as the file `q.sql`. What is no text is refused before.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let header: Vec<&str> = text.lines().take_while(|line| line.starts_with("--")).collect();
    let query = match parse("q", text) {
        Ok(query) => query,
        Err(error) => return assert_placed(&format!("{error:#}"), header.len()),
    };
    assert!(!query.purpose.is_empty() && !query.columns.is_empty());
    assert_eq!((&*query.name, &*query.sql), ("q", text));
    let parameters =
        query.parameters.iter().map(|parameter| (parameter.line, &parameter.name, &parameter.meaning));
    let columns = query.columns.iter().map(|column| (column.line, &column.name, &column.meaning));
    let mut last = 0;
    for (line, name, meaning) in parameters.chain(columns) {
        let text = header[line - 1];
        assert!(text.contains(name.as_str()) && text.contains(meaning.as_str()), "{name}: {text:?}");
        last = last.max(line);
    }
    assert!(last <= header.len());
    for parameter in &query.parameters {
        for value in [
            "",
            "last",
            "0",
            "1",
            "-1",
            "1.5",
            "1e999",
            "NaN",
            "inf",
            "9223372036854775808",
            &parameter.default,
        ] {
            let _ = params::parse(parameter, value);
        }
        assert!(!parameter.kind.value_name().is_empty());
    }
    if let Err(error) = TABLES.with_borrow_mut(|tables| check_query(&query, tables)) {
        let message = format!("{error:#}");
        assert!(!message.is_empty());
        if message.starts_with("line ") {
            assert_placed(&message, header.len());
        }
    }
}

/// The message says which line of the header is wrong; one thing that is missing stands in none.
fn assert_placed(message: &str, lines: usize) {
    if message == "the header has no `Columns`" {
        return;
    }
    let line = message.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let (line, reason) = line.unwrap_or_else(|| panic!("no line in {message:?}"));
    let line: usize = line.parse().unwrap_or_else(|_| panic!("no line in {message:?}"));
    assert!((1..=lines.max(1)).contains(&line) && !reason.is_empty(), "{message:?} of {lines} lines");
}
