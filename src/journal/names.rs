//! Which files of a folder are journals, by their names, and which of them is older.
//!
//! Rotation leaves a number (`j.jsonl.1`) or a date, before the ending or after it, in as many forms as there
//! are programs that rotate: Python's `j.jsonl.2026-11-29`, logrotate's `j.jsonl-20261129`.

use std::cmp::Reverse;

/// Sorts the journals of a folder: by journal, then by how old the rotation's name says they are.
pub(super) type Age = (String, u8, Reverse<u64>, Date);

/// Year, month, day, hour and so on, as far as a name tells.
type Date = Vec<u64>;

/// What journals are called, for whoever looks for one.
pub(super) const PATTERNS: &str =
    "*.jsonl, *.jsonl.N, *.jsonl.DATE, *.jsonl-DATE and *-DATE.jsonl, each also with .gz or .zst";

/// What packing adds to a name.
const ENDINGS: [&str; 2] = [".gz", ".zst"];

/// A name without what packing adds to it; none where it adds nothing.
fn unpacked_name(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))
}

/// Whether a file of this name is packed, by its name.
pub fn is_packed(name: &str) -> bool {
    unpacked_name(name).is_some()
}

/// The journal that a file of this name is a part of, and what sorts its parts, oldest first. A file that is no
/// journal by its name is one of its own.
pub fn part_of(name: &str) -> (String, impl Ord + Clone + use<>) {
    let age = age_by_name(name);
    (age.as_ref().map_or(name, |age| &age.0).to_owned(), age)
}

/// The journal that a file's name is of, without what rotation and packing add to it.
pub fn journal_of(name: &str) -> Option<String> {
    age_by_name(name).map(|(journal, ..)| journal)
}

/// What the name of a file says of its age, if it is that of a journal.
pub(super) fn age_by_name(name: &str) -> Option<Age> {
    let name = unpacked_name(name).unwrap_or(name);
    let (stem, suffix) = name.rsplit_once(".jsonl")?;
    if stem.is_empty() {
        return None;
    }
    let numbered = |number| Some((stem.to_owned(), 0, Reverse(number), Date::new()));
    let dated = |journal: &str, date| Some((journal.to_owned(), 1, Reverse(0), date));
    if suffix.is_empty() {
        // `journal-2026-11-29.jsonl`: the date begins at the first sign after which only a date stands.
        let signs = stem.match_indices(['-', '.', '_']).filter(|(at, _)| *at > 0);
        let parts = signs.map(|(at, _)| (&stem[..at], &stem[at + 1..]));
        let mut splits = parts.filter_map(|(journal, rest)| Some((journal, rest, date_of(rest)?)));
        let first = splits.next();
        // `router-1.2.3-2026-11-29.jsonl`: a date with its year first is the more likely one.
        let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
        let has_year_first = |rest: &str| {
            rest.bytes().take_while(u8::is_ascii_digit).count() >= 4 && digits(rest) >= "202611".len()
        };
        let split = match first {
            Some((_, rest, _)) if !has_year_first(rest) => {
                splits.find(|(_, rest, _)| has_year_first(rest)).or(first)
            }
            first => first,
        };
        return match split.map(|(journal, _, date)| (journal, date)) {
            Some((journal, date)) => dated(journal, date),
            None => Some((stem.to_owned(), 2, Reverse(0), Date::new())),
        };
    }
    let (sign, rest) = suffix.split_at_checked(1)?;
    if !["-", ".", "_"].contains(&sign) {
        return None;
    }
    match date_of(rest) {
        Some(date) if rest.len() >= 6 => dated(stem, date),
        _ if sign == "." && rest.bytes().all(|byte| byte.is_ascii_digit()) => numbered(rest.parse().ok()?),
        Some(date) => dated(stem, date),
        None => None,
    }
}

/// The date that a text is, with a time perhaps: `2026-11-29`, `20261129`, `29-11-2026`, `2026-11-29_12-30`,
/// `20261129T123000Z`, or seconds since 1970.
fn date_of(text: &str) -> Option<Date> {
    let is_of_a_date = |byte: u8| byte.is_ascii_digit() || b"-_.T:Z".contains(&byte);
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.bytes().all(is_of_a_date) {
        return None;
    }
    let groups: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty()).collect();
    let (first, rest) = groups.split_first()?;
    let pairs = |text: &str| -> Date { (0..text.len() / 2).map(|at| number(&text[2 * at..][..2])).collect() };
    let mut date = match (first.len(), rest) {
        // Day first, as in much of the world, or month first, when the second number is no month.
        (1 | 2, [second, year, ..]) if year.len() == 4 => match number(second) {
            13.. => vec![number(year), number(first), number(second)],
            _ => vec![number(year), number(second), number(first)],
        },
        (2, [_, _, ..]) => vec![2000 + number(first), number(rest[0]), number(rest[1])],
        (4, _) => vec![number(first)],
        (6, _) if !first.starts_with("20") => {
            vec![2000 + number(&first[..2]), number(&first[2..4]), number(&first[4..])]
        }
        (10 | 13, []) if first.starts_with('1') => {
            let seconds = first[..10].parse().ok()?;
            let date = chrono::DateTime::from_timestamp(seconds, 0)?.format("%Y%m%d%H%M%S").to_string();
            return date_of(&date);
        }
        (6 | 8 | 10 | 12 | 14, _) => [vec![number(&first[..4])], pairs(&first[4..])].concat(),
        _ => return None,
    };
    let read = if first.len() <= 2 { 2 } else { 0 };
    for group in &rest[read..] {
        match group.len() {
            // `1230`, `123000`
            4 | 6 => date.extend(pairs(group)),
            _ => date.push(number(group)),
        }
    }
    let is_within = |at: usize, range: std::ops::RangeInclusive<u64>| {
        date.get(at).is_none_or(|number| range.contains(number))
    };
    (is_within(0, 1970..=2999) && is_within(1, 1..=12) && is_within(2, 1..=31)).then_some(date)
}

/// The number that digits are; one too large for any date is larger than all.
fn number(digits: &str) -> u64 {
    digits.parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_journals_come_before_the_one_still_written() {
        let mut names = vec![
            "j.jsonl",
            "j.jsonl.1",
            "j.jsonl.10",
            "j.jsonl.2",
            "j.jsonl.3.gz",
            "k.jsonl",
            "k-2026-11-28.jsonl.zst",
            "k.jsonl-20261127",
        ];
        names.sort_by_key(|name| age_by_name(name).expect("a journal's name"));
        let expected = [
            "j.jsonl.10",
            "j.jsonl.3.gz",
            "j.jsonl.2",
            "j.jsonl.1",
            "j.jsonl",
            "k.jsonl-20261127",
            "k-2026-11-28.jsonl.zst",
            "k.jsonl",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn dates_are_ordered_as_dates_in_whatever_form_they_are_written() {
        let ordered = [
            "j.jsonl.1764288000", // 2025-11-28
            "j.jsonl.2026-2-9",
            "j.jsonl.2026-10-01",
            "j.jsonl-20261127",
            "j-28-11-2026.jsonl",
            "j.2026-11-28_09-05.jsonl.gz",
            "j.jsonl.2026-11-28_09-15-00",
            "j.jsonl-2026112810.zst",
            "j-20261128T123000Z.jsonl",
            "j_261129.jsonl",
            "j.jsonl.2026-11-30",
            "j.jsonl_20261201-0100",
            "j.jsonl.20261202",
            "j.jsonl",
        ];
        let mut names = ordered;
        names.sort_unstable();
        names.sort_by_key(|name| age_by_name(name).expect("a journal's name"));
        assert_eq!(names, ordered);
    }

    #[test]
    fn what_only_looks_like_a_date_is_part_of_the_name() {
        let journal = |name| age_by_name(name).map(|(journal, rank, ..)| (journal, rank));
        for (name, stem, rank) in [
            ("router-8000.jsonl", "router-8000", 2),
            ("router-1.2.3.jsonl", "router-1.2.3", 2),
            ("router-1.2.3-2026-11-29.jsonl", "router-1.2.3", 1),
            ("gpu-node-12.jsonl.100000", "gpu-node-12", 0),
            ("router-2026-13-01.jsonl", "router-2026-13-01", 2),
        ] {
            assert_eq!(journal(name), Some((stem.to_owned(), rank)), "{name}");
        }
    }

    #[test]
    fn other_files_are_no_journals() {
        for name in
            ["j.json", "j.jsonl.bak", "j.jsonl~", ".jsonl", "j.jsonl.bz2", "j.gz", "notes.txt", "j.jsonl-"]
        {
            assert_eq!(age_by_name(name), None, "{name}");
        }
    }
}
