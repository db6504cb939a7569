//! A page as a browser gets it, taken apart: pieces, tables, what holds of every page, and what a cell tells.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A tag of a page, or the text between two.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Open(String, Vec<(String, String)>),
    Close(String),
    Text(String),
}

/// The pieces of a page. What is not well formed panics: attributes are quoted, text has no bare `<`.
pub fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('<') {
            let end = after.find('>').expect("a tag ends");
            let (inside, behind) = (&after[..end], &after[end + 1..]);
            rest = behind;
            if inside.starts_with('!') {
                continue;
            }
            if let Some(name) = inside.strip_prefix('/') {
                pieces.push(Piece::Close(name.to_owned()));
                continue;
            }
            let inside = inside.strip_suffix('/').unwrap_or(inside);
            let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{inside:?} is no tag");
            pieces.push(Piece::Open(name.to_owned(), attributes_of(attributes)));
            if name == "style" {
                let end = rest.find("</style>").unwrap();
                pieces.push(Piece::Text(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            pieces.push(Piece::Text(unescaped(&rest[..end])));
            rest = &rest[end..];
        }
    }
    pieces
}

fn attributes_of(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').unwrap_or((rest, "\"\""));
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a value ends"),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        attributes.push((name.trim().to_owned(), unescaped(value)));
        rest = behind.trim_start();
    }
    attributes
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// A table: the heading before it, its rows of cells, the questions under it.
#[derive(Debug, Default, Clone)]
pub struct Table {
    pub heading: String,
    pub summary: String,
    pub rows: Vec<Vec<String>>,
}

/// The tables of a page, in order.
pub fn tables(page: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut heading, mut summary, mut taken) = (String::new(), String::new(), String::new());
    let mut open: Option<Table> = None;
    let close_cell = |open: &mut Option<Table>, taken: &mut String| {
        if let Some(row) = open.as_mut().and_then(|table| table.rows.last_mut())
            && let Some(cell) = row.last_mut()
            && cell.is_empty()
        {
            *cell = taken.trim().replace('\u{a0}', " ");
        }
        taken.clear();
    };
    for piece in pieces(page) {
        match piece {
            Piece::Open(name, _) => match name.as_str() {
                "h2" | "h3" | "summary" => taken.clear(),
                "table" => {
                    open = Some(Table { heading: heading.clone(), summary: summary.clone(), rows: vec![] })
                }
                "tr" => {
                    close_cell(&mut open, &mut taken);
                    open.as_mut().expect("a row is in a table").rows.push(Vec::new());
                }
                "td" | "th" => {
                    close_cell(&mut open, &mut taken);
                    open.as_mut().unwrap().rows.last_mut().expect("a cell is in a row").push(String::new());
                }
                _ => {}
            },
            Piece::Close(name) => match name.as_str() {
                "h2" | "h3" => (heading, summary) = (taken.trim().replace('\u{a0}', " "), String::new()),
                "summary" => summary = taken.trim().replace('\u{a0}', " "),
                "td" | "th" => close_cell(&mut open, &mut taken),
                "table" => {
                    close_cell(&mut open, &mut taken);
                    tables.extend(open.take());
                }
                _ => {}
            },
            Piece::Text(text) => taken.push_str(&text),
        }
    }
    tables
}

pub fn table<'t>(tables: &'t [Table], heading: &str, summary: &str) -> &'t Table {
    let found = tables.iter().find(|table| table.heading == heading && table.summary.starts_with(summary));
    found.unwrap_or_else(|| {
        let there: Vec<_> = tables.iter().map(|table| (&table.heading, &table.summary)).collect();
        panic!("no table {heading:?} {summary:?} among {there:?}")
    })
}

/// What holds of every page.
pub fn check_form(page: &str, what: &str) {
    let mut ids = BTreeSet::new();
    let mut references = Vec::new();
    for piece in pieces(page) {
        let Piece::Open(name, attributes) = piece else { continue };
        assert!(
            !matches!(name.as_str(), "script" | "link" | "img" | "iframe" | "object" | "base" | "form"),
            "{what}: {name}"
        );
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{what}: {attribute} of {name}");
            let is_policy = name == "meta";
            assert!(is_policy || !value.contains("://"), "{what}: {attribute}={value:?} of {name}");
            match attribute.as_str() {
                "id" => assert!(ids.insert(value.clone()), "{what}: the id {value} stands twice"),
                "href" => {
                    references.push(value.strip_prefix('#').expect("links stay in the page").to_owned())
                }
                "aria-labelledby" | "aria-describedby" => {
                    references.extend(value.split(' ').map(str::to_owned));
                }
                _ if value.starts_with("url(#") => {
                    references.push(value.trim_start_matches("url(#").trim_end_matches(')').to_owned());
                }
                _ => {}
            }
        }
    }
    for reference in references {
        assert!(ids.contains(&reference), "{what}: nothing has the id {reference}");
    }
    assert_eq!(page.matches("<h1>").count(), 1, "{what}");
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{what}: control characters");
}

/// A count with its thousands apart.
pub fn count(value: &Value) -> String {
    let digits = value.as_i64().unwrap_or_else(|| panic!("{value} is no count")).to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Whether a cell tells a share: in percent, as many decimals as it shows.
pub fn is_share(cell: &str, value: &Value) -> bool {
    let Some(value) = value.as_f64() else { return cell == "–" };
    let shown = cell.strip_suffix(" %").unwrap_or(cell);
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    shown == format!("{:.decimals$}", value * 100.0) && (decimals > 0 || value == 0.0 || value == 1.0)
}

/// Whether a cell tells a length of time in seconds, to three digits.
pub fn is_duration(cell: &str, value: &Value) -> bool {
    let Some(value) = value.as_f64() else { return cell == "–" };
    let cell = cell.trim_end_matches('*');
    let units = BTreeMap::from([
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ]);
    let words: Vec<&str> = cell.split(' ').collect();
    let told: f64 = words.chunks(2).map(|two| two[0].parse::<f64>().unwrap() * units[two[1]]).sum();
    let digits = words[0].chars().filter(char::is_ascii_digit).count();
    let allowed = if words.len() > 2 || told >= 100.0 {
        60.0_f64.min(0.6 * units[words[words.len() - 1]])
    } else {
        0.0051 * value
    };
    (told - value).abs() <= allowed.max(1e-9)
        && (digits >= 3 || words.len() > 2 || value == 0.0 || told >= 100.0)
}

pub fn is_share_or_none(cell: &str, value: &Value) -> bool {
    if value.is_null() { cell == "–" } else { is_share(cell, value) }
}
