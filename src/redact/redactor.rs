//! Names and texts as they may be published.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::detect::{detected_at, next_place, port};
use super::key::Key;
use super::names::{Names, PSEUDONYM};
use super::tokens::{is_word, word_end};

/// How a pseudonym of a client id begins.
pub const CLIENT_PSEUDONYM: &str = "client-";

/// Stands for a host that was seen in a URL, or told by the words around it.
const HOST: &str = "<host>";

/// Stands for a user who was seen in a path or before a host.
const USER: &str = "<user>";

/// Stands for the beginning of a name at the end of a text that was cut off there.
const CUT: &str = "<cut>";

/// The writer cuts an `error_message` to so many characters.
const CUT_AT: usize = 240;

/// Replaces names by pseudonyms. The same name always gets the same one.
#[derive(Debug)]
pub struct Redactor {
    key: Key,
    engines: HashMap<String, String>,
    /// Engines and hosts by their first word (or first other character) in lower case, longest
    /// first.
    names: HashMap<String, Vec<Name>>,
    /// The length in bytes of the longest one.
    longest: usize,
}

#[derive(Debug)]
struct Name {
    name: String,
    becomes: String,
    /// A host or a user, whose case does not matter.
    is_host: bool,
}

impl Redactor {
    /// A redactor of everything that `names` was learned from.
    pub fn new(names: &Names, key: Key) -> Self {
        let engines = pseudonyms(names, &key);
        let of_engines = names.engines().iter().map(|id| (id.as_str(), engines[id].as_str(), false));
        let of_hosts = names.hosts().map(|host| (host, HOST, true));
        let mut by_word: HashMap<String, Vec<Name>> = HashMap::new();
        let mut longest = 0;
        let of_users = names.users().map(|user| (user, USER, true));
        for (name, becomes, is_host) in of_engines.chain(of_hosts).chain(of_users) {
            let entry = Name { name: name.to_owned(), becomes: becomes.to_owned(), is_host };
            by_word.entry(first_word(name, 0).to_lowercase()).or_default().push(entry);
            longest = longest.max(name.len());
        }
        for names in by_word.values_mut() {
            // A stable sort: an engine goes before a host of its name.
            names.sort_by_key(|entry| std::cmp::Reverse(entry.name.len()));
        }
        Self { key, engines, names: by_word, longest }
    }

    /// Tells which key is behind the pseudonyms.
    pub fn key_fingerprint(&self) -> String {
        self.key.fingerprint()
    }

    /// Tells whether another redactor replaces the same names by the same.
    pub fn fingerprint(&self) -> String {
        let entries = self.names.values().flatten();
        let mut told: Vec<_> = entries.map(|entry| format!("{:?} {:?}", entry.name, entry.becomes)).collect();
        told.sort_unstable();
        self.key.hash("names", &told.join("\n"))[..32].to_owned()
    }

    /// An engine's pseudonym; `<engine>` for one that was never learned.
    pub fn engine(&self, id: &str) -> &str {
        if id.is_empty() {
            return "";
        }
        self.engines.get(id).map_or("<engine>", String::as_str)
    }

    /// A client id's pseudonym: equal ids give equal ones. An empty id names nobody and stays.
    pub fn client(&self, id: &str) -> String {
        if id.is_empty() {
            return String::new();
        }
        format!("{CLIENT_PSEUDONYM}{}", &self.key.hash("client", id)[..16])
    }

    /// A path's pseudonym: equal paths give equal ones.
    pub fn path(&self, path: &str) -> String {
        format!("path-{}", &self.key.hash("path", path)[..16])
    }

    /// A text with every engine, host, user, URL and address in it replaced.
    ///
    /// Where several begin at one place, the longest goes.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text_of_client(text, None)
    }

    /// A text of a request that its client named, where the client's id is replaced, too.
    pub fn text_of_client<'t>(&self, text: &'t str, client: Option<&str>) -> Cow<'t, str> {
        let is_cut = text.len() >= CUT_AT && text.chars().count() >= CUT_AT;
        let client = client.filter(|id| !id.is_empty());
        let mut redacted = replace(text, |at, is_inside| {
            let name = if is_inside { None } else { self.name_at(text, at, client) };
            let cut = || (text.len(), Cow::Borrowed(CUT));
            let is_cut = || is_cut && self.is_cut_name(&text[at..], client);
            match longest([place_at(text, at), name]) {
                // The beginning of a name looks like a host, too.
                Some((end, becomes)) if becomes == HOST && end == text.len() && is_cut() => Some(cut()),
                Some(found) => Some(with_port(text, found)),
                None => is_cut().then(cut),
            }
        });
        // What was left can look like a place beside what stands there now: `c10::` before a host.
        while let Cow::Owned(text) = &redacted {
            match replace(text, |at, _| place_at(text, at)) {
                Cow::Owned(again) => redacted = Cow::Owned(again),
                Cow::Borrowed(_) => break,
            }
        }
        redacted
    }

    /// The longest name that is a whole token at a place.
    fn name_at(&self, text: &str, at: usize, client: Option<&str>) -> Option<Found<'_>> {
        let word = first_word(text, at);
        let names = match word.chars().any(char::is_uppercase) {
            true => self.names.get(&word.to_lowercase()),
            false => self.names.get(word),
        };
        let ends_here = |end: usize| !text[end..].starts_with(is_word);
        let known = names.into_iter().flatten().find(|entry| {
            let end = at + entry.name.len();
            let is_same = text.get(at..end).is_some_and(|found| {
                found == entry.name || (entry.is_host && found.to_lowercase() == entry.name)
            });
            is_same && ends_here(end)
        });
        let client = client.filter(|id| text[at..].starts_with(id) && ends_here(at + id.len()));
        longest([
            client.map(|id| (at + id.len(), Cow::Owned(self.client(id)))),
            known.map(|entry| (at + entry.name.len(), Cow::Borrowed(&*entry.becomes))),
        ])
    }

    /// Whether the rest of a text that was cut off can be the beginning of a name or an address.
    fn is_cut_name(&self, rest: &str, client: Option<&str>) -> bool {
        let begins = |name: &str| name.len() > rest.len() && name.starts_with(rest);
        let is_name = || {
            let lower = rest.to_lowercase();
            let names = self.names.values().flatten();
            names
                .into_iter()
                .any(|entry| begins(&entry.name) || (entry.is_host && entry.name.starts_with(&lower)))
        };
        let is_address = |belongs: fn(char) -> bool, separator: char, least: usize| {
            rest.len() < 40
                && rest.starts_with(|c: char| c.is_ascii_hexdigit())
                && rest.chars().all(belongs)
                && rest.matches(separator).count() >= least
        };
        client.is_some_and(begins)
            || (rest.len() < self.longest && is_name())
            || is_address(|c| c.is_ascii_digit() || c == '.', '.', 1)
            || is_address(|c| c.is_ascii_hexdigit() || c == ':', ':', 2)
    }
}

/// The end of something, and what it becomes.
type Found<'r> = (usize, Cow<'r, str>);

/// Replaces what `find` finds. It is given a place and whether a word that stays stands right
/// before the place; inside words it is asked only as [`next_place`] says.
fn replace<'t, 'r>(text: &'t str, find: impl Fn(usize, bool) -> Option<Found<'r>>) -> Cow<'t, str> {
    let mut out = String::new();
    let (mut at, mut kept_from) = (0, 0);
    while at < text.len() {
        // What was replaced is next to nothing any more.
        match find(at, at > kept_from && is_behind_word(text, at)) {
            Some((end, becomes)) => {
                out.push_str(&text[kept_from..at]);
                out.push_str(&becomes);
                (at, kept_from) = (end, end);
            }
            None => at = next_place(text, at),
        }
    }
    if kept_from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept_from..]);
    Cow::Owned(out)
}

/// The one that ends last; the later one of equals.
fn longest<'r>(found: [Option<Found<'r>>; 2]) -> Option<Found<'r>> {
    found.into_iter().flatten().max_by_key(|(end, _)| *end)
}

fn place_at(text: &str, at: usize) -> Option<Found<'static>> {
    detected_at(text, at).map(|(detected, end)| (end, Cow::Borrowed(detected.placeholder())))
}

/// A name with a port after it is a host with a port, whoever has the name.
fn with_port<'r>(text: &str, (end, becomes): Found<'r>) -> Found<'r> {
    port(text, end).map_or((end, becomes), |end| (end, Cow::Borrowed(HOST)))
}

/// Whether something that is no word stands next to a word before it. Words themselves do not,
/// see [`next_place`].
fn is_behind_word(text: &str, at: usize) -> bool {
    !text[at..].starts_with(is_word) && text[..at].ends_with(is_word)
}

/// The word at a place, or the one other character.
fn first_word(text: &str, at: usize) -> &str {
    match word_end(text, at) {
        end if end > at => &text[at..end],
        _ => &text[at..at + text[at..].chars().next().map_or(0, char::len_utf8)],
    }
}

/// A pseudonym for each engine that is no word of the input and no other engine's.
fn pseudonyms(names: &Names, key: &Key) -> HashMap<String, String> {
    let mut given = HashSet::new();
    let mut number = 0_u64;
    let mut next = |id: &str| match key {
        Key::Random(_) => loop {
            number += 1;
            let pseudonym = format!("{PSEUDONYM}{number}");
            if !names.is_taken(&pseudonym) {
                break pseudonym;
            }
        },
        Key::Kept(_) => {
            let hash = key.hash("engine", id);
            let candidates = (8..=hash.len()).map(|len| format!("{PSEUDONYM}{}", &hash[..len]));
            let mut free = candidates.filter(|name| !names.is_taken(name) && !given.contains(name));
            let pseudonym = free.next().unwrap_or_else(|| format!("{PSEUDONYM}{hash}"));
            given.insert(pseudonym.clone());
            pseudonym
        }
    };
    names.engines().iter().map(|id| (id.clone(), next(id))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::check::each_detected;
    use super::*;

    proptest! {
        #[test]
        fn nothing_is_left_that_looks_like_a_place_or_is_a_name(
            parts in proptest::collection::vec(0..FRAGMENTS.len(), 1..12),
        ) {
            let redactor = redactor(&ENGINES, &["http://gpu7.x/"]);
            let text: String = parts.iter().map(|part| FRAGMENTS[*part]).collect();
            let becomes = redactor.text_of_client(&text, Some("me too"));
            each_detected(&becomes, |_, finding| panic!("{text:?} becomes {becomes:?}: {finding:?}"));
            let stands_in = |name: &str, text: &str| {
                let is_end = |at: usize| !text[at..].starts_with(is_word);
                let mut places = text.match_indices(name);
                places.any(|(at, _)| !text[..at].ends_with(is_word) && is_end(at + name.len()))
            };
            // Addresses go from inside of words, whose rest is no token.
            let becomes = becomes.replace("<address>", "x");
            for name in ENGINES.into_iter().chain(["gpu7.x", "me too"]).filter(|name| stands_in(name, &text)) {
                prop_assert!(!stands_in(name, &becomes), "{text:?} becomes {becomes:?}: {name:?}");
            }
        }
    }

    const ENGINES: [&str; 6] = ["d0", "d0.x", "7", "a b", "/e", "ü"];

    const FRAGMENTS: [&str; 34] = [
        "d0",
        "d0.x",
        "7",
        "a b",
        "/e",
        "ü",
        "gpu7.x",
        "GPU7.X",
        "me too",
        "http://",
        "://",
        ":",
        "::",
        ".",
        "/",
        "80",
        "10.0.0.5",
        "2001:db8",
        "fe",
        "[",
        "]",
        "@",
        " ",
        "\\n",
        "%2F",
        "%3A%2f%2F",
        "-",
        "_",
        "é",
        "\"",
        "'",
        "x",
        "1",
        "0.",
    ];

    fn redactor(engines: &[&str], texts: &[&str]) -> Redactor {
        let mut names = Names::default();
        engines.iter().for_each(|id| names.learn_engine(id));
        texts.iter().for_each(|text| names.learn_text(text));
        Redactor::new(&names, Key::Random([7; 32]))
    }

    #[test]
    fn names_go_as_whole_tokens_and_the_longest_goes() {
        let redactor =
            redactor(&["d0", "d0.rack/1", "e", "/dev/3", "Ü"], &["http://Gpu7.internal/ http://host/"]);
        for (text, becomes) in [
            ("d0", "engine-1"),
            ("d0 d00 xd0 d0-a d_d0 d0.", "engine-1 d00 xd0 d0-a d_d0 engine-1."),
            ("d0.rack/1: d0.rack/12 d0.7", "engine-2: <host>/12 engine-1.7"),
            ("(/dev/3) x/dev/3 /dev/34", "(engine-4) x/dev/3 /dev/34"),
            ("Ü ü ÜÜ éd0", "engine-5 ü ÜÜ éd0"),
            ("gpu7.INTERNAL is down, gpu7 too", "<host> is down, <host> too"),
            ("d0:8000 e://d0", "<host> <url>"),
            (r"a\nd0 b\nd00 %2Fd0 \d0", r"a\nengine-1 b\nd00 %2Fengine-1 \engine-1"),
            ("D0", "D0"),
            ("http://host/ <host> host", "<url> <<host>> <host>"),
            ("c10::gpu7.internal", "<address><host>"),
        ] {
            assert_eq!(redactor.text(text), becomes, "{text}");
        }
    }

    #[test]
    fn pseudonyms_are_no_word_of_the_input() {
        let redactor = redactor(&["engine-1", "d0", "d1"], &["x engine-2, engine-4x"]);
        let given: Vec<&str> =
            ["engine-1", "d0", "d1", "d2", ""].iter().map(|id| redactor.engine(id)).collect();
        assert_eq!(given, ["engine-3", "engine-4", "engine-5", "<engine>", ""]);
    }

    #[test]
    fn kept_pseudonyms_depend_on_the_name_and_the_key_alone() {
        let pseudonym = |engines: &[&str], key: u8| {
            let mut names = Names::default();
            engines.iter().for_each(|id| names.learn_engine(id));
            let redactor = Redactor::new(&names, Key::Kept([key; 32]));
            (redactor.engine("d1").to_owned(), redactor.client("d1"))
        };
        let one = pseudonym(&["d0", "d1"], 1);
        assert_eq!(one, pseudonym(&["d1", "x"], 1));
        assert_ne!(one, pseudonym(&["d1"], 2));
        assert_eq!((one.0.len(), one.1.len()), ("engine-".len() + 8, "client-".len() + 16));
        assert_ne!(one.0["engine-".len()..], one.1["client-".len()..][..8]);
    }

    #[test]
    fn a_client_id_goes_from_its_own_texts() {
        let redactor = redactor(&["d0"], &[]);
        let client = redactor.client("=a b");
        let text = redactor.text_of_client("d0 said =a b, =a bc", Some("=a b"));
        assert_eq!(text, format!("engine-1 said {client}, =a bc"));
    }

    #[test]
    fn the_beginning_of_a_name_goes_from_the_end_of_a_text_that_was_cut_off() {
        let redactor = redactor(&["decode-engine-77"], &["http://gpu7.internal/"]);
        let cut = |end: &str| {
            redactor.text(&format!("{:width$}{end}", "", width = 240 - end.len())).trim().to_owned()
        };
        for (end, becomes) in [
            ("at http://gpu7.inter", "at <url>"),
            ("at decode-engine-7", "at <cut>"),
            ("at GPU7.in", "at <cut>"),
            ("at 10.0.0", "at <cut>"),
            ("at 2001:db8:0:0", "at <cut>"),
            ("at decode-engine-77", "at engine-1"),
            ("at the door", "at the door"),
        ] {
            assert_eq!(cut(end), becomes, "{end}");
        }
        assert_eq!(redactor.text("no decode-engine-7"), "no decode-engine-7");
    }
}
