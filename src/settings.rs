//! The settings file: what holds where neither a flag nor the environment says otherwise. It is read once, before
//! the command line, which takes queries from a folder that may be named in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;
use crate::text::PathText;

/// What a settings file says. The default is what holds without one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// The file; none when there is none.
    pub file: Option<PathBuf>,
    /// The database.
    pub database: Option<PathBuf>,
    /// The folder of the user's own queries.
    pub queries: Option<PathBuf>,
    /// When to color messages, as the flag takes it.
    pub color: Option<String>,
    /// Journals by their names here, in the order of the names.
    pub journals: BTreeMap<String, Vec<PathBuf>>,
    /// The selection of who chooses none, as flags and their values.
    pub selection: Vec<String>,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    database: Option<PathBuf>,
    queries: Option<PathBuf>,
    color: Option<String>,
    #[serde(default)]
    journals: BTreeMap<String, Paths>,
    #[serde(default)]
    selection: Selection,
}

/// A path, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a path in quotes, or a list of them")]
enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

/// A word, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "text in quotes, or a list of it")]
enum Words {
    One(String),
    Several(Vec<String>),
}

/// The flags that choose requests. What the groups are is for each question to say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Selection {
    run: Option<Words>,
    release: Option<Words>,
    source: Option<Words>,
    since: Option<String>,
    until: Option<String>,
    from: Option<String>,
    to: Option<String>,
    last: Option<String>,
    #[serde(default)]
    settled: bool,
}

/// Which file the command line and the environment name.
#[derive(Debug, Clone, PartialEq)]
pub enum WhichFile {
    /// None is wanted.
    Nothing,
    /// This one, which must be there.
    File(PathBuf),
    /// The usual one, if it is there.
    Usual(Option<PathBuf>),
}

impl WhichFile {
    /// What `--no-config`, else `--config`, else the environment say.
    pub fn by(
        is_unwanted: bool,
        flag: Option<OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if is_unwanted {
            return Self::Nothing;
        }
        if let Some(path) = flag.or_else(|| set(VARIABLE)) {
            return Self::File(path.into());
        }
        // A relative folder there is to be passed over, by the rules of that variable.
        let folder = set("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let folder = folder.or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")));
        Self::Usual(folder.map(|folder| folder.join("narwhal-jq/config.toml")))
    }
}

/// Names the file in the environment.
pub const VARIABLE: &str = "NARWHAL_JQ_CONFIG";

/// Reads the settings.
///
/// # Errors
/// When a file that must be there is not, cannot be read, or says what is none of its settings; in words, with the
/// line.
pub fn load(named: &WhichFile) -> Result<Settings, Failure> {
    let (path, is_wanted) = match named {
        WhichFile::Nothing | WhichFile::Usual(None) => return Ok(Settings::default()),
        WhichFile::File(path) => (path, true),
        WhichFile::Usual(Some(path)) => (path, false),
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if !is_wanted && is_absent(&error) => return Ok(Settings::default()),
        Err(error) => return Err(unusable(path, &error.to_string())),
    };
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    read(&text, path, home.as_deref()).map_err(|message| unusable(path, &message))
}

/// Whether there is no such file for this user: the home of a service is no folder, or it runs with somebody else's.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// The failure of a settings file.
pub fn unusable(path: &Path, message: &str) -> Failure {
    Failure::usage(format!(
        "cannot use the settings in {}: {message}; mend it, or go without it with --no-config",
        path.as_text()
    ))
}

fn read(text: &str, path: &Path, home: Option<&Path>) -> Result<Settings, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: {}", error.message().replace('\n', ", "))
    })?;
    // As whoever wrote it sees them: from where the file lies, and `~` as a shell reads it.
    let folder = path.parent().unwrap_or(Path::new(""));
    let found = |path: PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    };
    let journals = file.journals.into_iter().map(|(name, paths)| {
        if name.is_empty() || name.contains('/') || name == "-" || name.starts_with("--") {
            return Err(format!("{name:?} is no name for journals: it would be taken for something else"));
        }
        let paths = match paths {
            Paths::One(path) => vec![path],
            Paths::Several(paths) => paths,
        };
        if paths.iter().any(|path| path.as_os_str().is_empty() || path == Path::new("-")) {
            return Err(format!("the journal {name:?} has no path"));
        }
        Ok((name, paths.into_iter().map(found).collect()))
    });
    Ok(Settings {
        file: Some(path.to_owned()),
        database: file.database.filter(|path| !path.as_os_str().is_empty()).map(found),
        queries: file.queries.filter(|path| !path.as_os_str().is_empty()).map(found),
        color: file.color,
        journals: journals.collect::<Result<_, _>>()?,
        selection: flags(file.selection),
    })
}

fn flags(selection: Selection) -> Vec<String> {
    let Selection { run, release, source, since, until, from, to, last, settled } = selection;
    let mut flags = Vec::new();
    for (name, words) in [("run", run), ("release", release), ("source", source)] {
        let words = match words {
            None => Vec::new(),
            Some(Words::One(word)) => vec![word],
            Some(Words::Several(words)) => words,
        };
        flags.extend(words.into_iter().map(|word| format!("--{name}={word}")));
    }
    for (name, word) in [("since", since), ("until", until), ("from", from), ("to", to), ("last", last)] {
        flags.extend(word.map(|word| format!("--{name}={word}")));
    }
    if settled {
        flags.push("--settled".to_owned());
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, String> {
        read(text, Path::new("/etc/narwhal-jq/a.toml"), Some(Path::new("/home/me")))
    }

    #[test]
    fn paths_are_seen_from_the_file_and_from_home() {
        let text = "database = 'n.db'\nqueries = '~/q'\n[journals]\nb = ['x.jsonl', '/y']\na = '~/j'\n";
        let read = settings(text).expect("it can be read");
        assert_eq!(read.database, Some(PathBuf::from("/etc/narwhal-jq/n.db")));
        assert_eq!(read.queries, Some(PathBuf::from("/home/me/q")));
        let journals: Vec<_> = read.journals.into_iter().collect();
        assert_eq!(journals[0], ("a".to_owned(), vec![PathBuf::from("/home/me/j")]));
        assert_eq!(
            journals[1],
            ("b".to_owned(), vec![PathBuf::from("/etc/narwhal-jq/x.jsonl"), PathBuf::from("/y")])
        );
    }

    #[test]
    fn a_selection_becomes_flags() {
        let text = "[selection]\nsince = '24h'\nrun = ['a', 'b']\nsource = 'x/*'\nsettled = true\n";
        let flags = settings(text).expect("it can be read").selection;
        assert_eq!(flags, ["--run=a", "--run=b", "--source=x/*", "--since=24h", "--settled"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, message) in [
            ("\ndatabse = 'x'", "line 2: unknown field `databse`"),
            ("[selection]\nby = '5m'", "line 2: unknown field `by`"),
            ("database = x", "line 1: "),
            ("[journals]\na = 1", "line 2: a path in quotes, or a list of them"),
            ("[journals]\n'a/b' = 'x'", "\"a/b\" is no name for journals"),
            ("[journals]\na = ''", "the journal \"a\" has no path"),
        ] {
            let error = settings(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_flag_names_the_file_before_the_environment_does() {
        let variable = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let both = variable(&[(VARIABLE, "/v.toml"), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")]);
        assert_eq!(WhichFile::by(true, Some("f".into()), both), WhichFile::Nothing);
        assert_eq!(WhichFile::by(false, Some("f".into()), both), WhichFile::File("f".into()));
        assert_eq!(WhichFile::by(false, None, both), WhichFile::File("/v.toml".into()));
        let usual = |set| WhichFile::by(false, None, variable(set));
        let at = |path: &str| WhichFile::Usual(Some(path.into()));
        let set: &[_] = &[(VARIABLE, ""), ("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(usual(set), at("/x/narwhal-jq/config.toml"));
        assert_eq!(
            usual(&[("XDG_CONFIG_HOME", "x"), ("HOME", "/h")]),
            at("/h/.config/narwhal-jq/config.toml")
        );
        assert_eq!(usual(&[]), WhichFile::Usual(None));
    }
}
