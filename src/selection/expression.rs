//! A selection in one word, where a command takes two of them: `release:0.7`, `source:GLOB`, `2h..1h`,
//! a run, or several of these joined by commas.

use chrono::{DateTime, Utc};

use super::notes::SETTLED;
use super::{By, Choice, time};

/// The forms of [`parse`], for messages and help.
pub const FORMS: &str = "a run (its id, the beginning of it, `last` or `current`), release:0.7, source:GLOB, \
     FROM..TO in wall time (2h..1h, 2026-11-29T14:00Z..2026-11-29T15:00Z), or several joined by commas: one kind \
     unites, kinds intersect";

/// A note on a selection that was written in one word: it has no flags.
pub fn without_flags(note: &str) -> String {
    note.replace(SETTLED, "a stretch of time that ends earlier, as FROM..1m does, leaves that end out")
}

/// Reads a selection of one scope.
///
/// # Errors
/// In words.
pub fn parse(text: &str, now: DateTime<Utc>) -> Result<Choice, String> {
    let mut asked = Choice { by: By::All, ..Choice::default() };
    for part in text.split(',') {
        let part = part.trim();
        if part.is_empty() {
            return Err(format!("{text:?} is no selection: write {FORMS}"));
        }
        if let Some(release) = part.strip_prefix("release:") {
            asked.releases.push(release.to_owned());
        } else if let Some(glob) = part.strip_prefix("source:") {
            asked.sources.push(glob.to_owned());
        } else if let Some((since, until)) = part.split_once("..") {
            if asked.since.is_some() || asked.until.is_some() {
                return Err(format!("{text:?}: a selection has one stretch of time"));
            }
            if since.is_empty() && until.is_empty() {
                return Err(format!("{text:?}: give a time before or after the two dots"));
            }
            let moment =
                |text: &str| if text.is_empty() { Ok(None) } else { time::moment(text, now).map(Some) };
            asked.since = moment(since)?;
            asked.until = moment(until)?;
        } else {
            asked.runs.push(part.to_owned());
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let now = "2026-11-30T12:00:00Z".parse().expect("a time");
        let asked = parse("release:0.7,release:0.6,source:a/*.jsonl,2h..1h,last", now).expect("a selection");
        assert_eq!(asked.releases, ["0.7", "0.6"]);
        assert_eq!(asked.sources, ["a/*.jsonl"]);
        assert_eq!(asked.runs, ["last"]);
        assert_eq!(asked.since.expect("a time").unix_s, 1796040000.0 - 7200.0);
        assert_eq!(asked.until.expect("a time").unix_s, 1796040000.0 - 3600.0);
        assert_eq!(asked.by, By::All);
        let open = parse("2026-11-29..", now).expect("a selection");
        assert!(open.since.is_some() && open.until.is_none());
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        let now = "2026-11-30T12:00:00Z".parse().expect("a time");
        for (text, message) in [
            ("", "is no selection"),
            ("last,", "is no selection"),
            ("..", "before or after the two dots"),
            ("2h..1h,4h..3h", "one stretch of time"),
            ("02/03/2026..", "is no time"),
        ] {
            let error = parse(text, now).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
