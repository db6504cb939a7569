//! What the journal's fields mean, from the tables of docs/journal.md, where it stands once.

use crate::store::columns::column_of;

const PAGE: &str = include_str!("../../../docs/journal.md");

/// The tables of the page, by the heading above each: the table that its fields are columns of, and the part that they
/// are fields of.
const TABLES: [(&str, &str, &[&str]); 4] = [
    ("## Build rows", "builds", &["meta"]),
    ("## Terminal rows", "terminals", &[]),
    ("### Entries of `attempt_failures`", "attempt_failures", &[]),
    ("### Fields of events", "events", &[]),
];

/// Each column that holds a field of which the page says more than its name does: its table, its name, its meaning.
pub(super) fn meanings() -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    let mut of = None;
    for line in PAGE.lines() {
        if line.starts_with('#') {
            of = TABLES.iter().find(|(heading, ..)| *heading == line);
        }
        let (Some((_, table, part)), Some(row)) = (of, line.strip_prefix("| `")) else { continue };
        let mut cells = row.trim_end_matches('|').splitn(3, " | ");
        let (Some(fields), Some(kind), Some(notes)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        let meaning = meaning(fields, kind, notes);
        if meaning.is_empty() {
            continue;
        }
        // Between the ticks, every second piece is a name.
        for path in fields.split('`').step_by(2) {
            let mut parts: Vec<&str> = part.iter().copied().chain(path.split('.')).collect();
            if let Some(name) = parts.pop() {
                found.push((*table, column_of(&parts, name), meaning.clone()));
            }
        }
    }
    found
}

/// The notes, after the unit if there is one, and the release that wrote it first.
fn meaning(fields: &str, kind: &str, notes: &str) -> String {
    let unit = kind.split_once(", ").map_or("", |(_, unit)| unit.trim_end_matches(" or null"));
    let notes = notes.trim().replace(['`', '*'], "");
    let since = fields.rsplit_once("` (").map(|(_, since)| format!("({since}"));
    let unit = if unit.is_empty() || notes.is_empty() { unit.to_owned() } else { format!("{unit};") };
    let texts = [unit.as_str(), &notes, since.as_deref().unwrap_or("")];
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_mean_what_the_page_says_of_their_fields() {
        let found = meanings();
        let of = |table: &str, column: &str| {
            let it = found.iter().find(|(known, name, _)| *known == table && name == column);
            it.map(|(.., meaning)| meaning.as_str())
        };
        assert_eq!(
            of("terminals", "ttft_s"),
            Some("s; arrival to prefill completion; null when prefill did not complete")
        );
        assert_eq!(of("terminals", "price_handoff_s"), Some("s (0.7+)"));
        assert_eq!(of("terminals", "queue_wait_admission_s"), Some("s (0.6+)"));
        assert_eq!(of("builds", "source"), Some("sha256: digest"));
        assert_eq!(of("builds", "admission_margin"), Some("share of the TTFT target (0.6+)"));
        assert_eq!(of("attempt_failures", "error_message"), Some("at most 240 characters"));
        assert_eq!(of("events", "iid"), Some("the one engine"));
        assert_eq!(of("terminals", "attempts"), Some("prefill and decode dispatches"));
    }
}
