//! What a shell is offered for the word it completes. The words come from the command line as it is parsed, names
//! from whoever can look into the database.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;

use super::parse;
use super::query::PARAMETER;
use super::settings::named;
use crate::query::header::Type;
use crate::settings;
use crate::store::known::{KnownName, NameKind};

/// What names the shell when it asks.
const ASKED: &str = "NARWHAL_JQ_COMPLETE";

/// Gives the names of a kind in a database that begin so.
pub type Lookup = fn(&Path, NameKind, &str) -> Vec<KnownName>;

/// Answers the shell, if it is one that asks; whether it was.
///
/// # Errors
/// When the catalog cannot be read, or the shell is none that is known.
pub fn answer(lookup: Lookup) -> Result<bool> {
    if std::env::var_os(ASKED).is_none_or(|shell| shell.is_empty()) {
        return Ok(false);
    }
    // Behind the first `--` stands the line as it was typed, its program first.
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(2).collect();
    let command = command(&words, lookup)?;
    let folder = std::env::current_dir().ok();
    let factory = || command.clone();
    Ok(CompleteEnv::with_factory(factory).var(ASKED).try_complete(std::env::args_os(), folder.as_deref())?)
}

/// What makes a shell ask.
///
/// # Errors
/// When it cannot be written.
pub fn script(shell: &str) -> Result<String> {
    let name = env!("CARGO_PKG_NAME");
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell).expect("the flag takes only shells that there are");
    shell.write_registration(ASKED, name, name, name, &mut script)?;
    let mut script = String::from_utf8(script)?;
    if shell.name() == "zsh" {
        // Found in a folder of functions, the file is run as the function that is to answer, the first time, too.
        let function = format!("_clap_dynamic_completer_{}", name.replace('-', "_"));
        script.push_str(&format!("if [[ $funcstack[1] == _{name} ]]; then {function} \"$@\"; fi\n"));
    }
    Ok(script)
}

/// The command line with candidates for its values.
fn command(words: &[OsString], lookup: Lookup) -> Result<Command> {
    let settings = settings::load(&named(words)).unwrap_or_default();
    let (catalog, _) = parse::whole_catalog(words, settings.queries.clone())?;
    let words_of = |name: &str| {
        catalog.iter().flat_map(|query| &query.parameters).find_map(|parameter| match &parameter.kind {
            Type::OneOf(words) if parameter.name == name => Some(words.clone()),
            _ => None,
        })
    };
    let queries: Arc<[KnownName]> =
        catalog.iter().map(|query| (query.name.clone(), Some(query.purpose.clone()))).collect();
    let journals = settings.journals.into_keys().collect();
    let database = parse::database_named(words, settings.database).into();
    let names = Names { database, queries, journals, lookup };
    Ok(offering(parse::command(&catalog), &names, &words_of))
}

/// Where names come from.
#[derive(Clone)]
struct Names {
    database: Arc<Path>,
    queries: Arc<[KnownName]>,
    journals: Arc<[String]>,
    lookup: Lookup,
}

fn offering(command: Command, names: &Names, words_of: &dyn Fn(&str) -> Option<Vec<String>>) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|arg| match offer(&name, &arg, words_of) {
        Some(offer) => {
            let names = names.clone();
            arg.add(ArgValueCompleter::new(move |word: &OsStr| names.candidates(&offer, word)))
        }
        None => arg,
    });
    command.mut_subcommands(|command| offering(command, names, words_of))
}

/// What is offered for a value: words, and names of these kinds.
struct Offer {
    words: Vec<String>,
    kinds: &'static [NameKind],
    with_queries: bool,
    with_journals: bool,
}

/// What is offered for the value of an argument, known by its flag or, where it has none, by its place.
fn offer(command: &str, arg: &Arg, words_of: &dyn Fn(&str) -> Option<Vec<String>>) -> Option<Offer> {
    let id = arg.get_id().as_str();
    let offer = |words: &[&str], kinds| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Some(Offer { words, kinds, with_queries: false, with_journals: false })
    };
    if let Some(words) = id.strip_prefix(PARAMETER).and_then(words_of) {
        return offer(&words.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    }
    let is_parameter = id.starts_with(PARAMETER);
    match (command, id.strip_prefix(PARAMETER).unwrap_or(id)) {
        ("forget", "run") | ("show", "run") => offer(&[], &[NameKind::Runs]),
        ("forget", "undo") => offer(&[], &[NameKind::ForgottenRuns]),
        ("compare", "a" | "b") | (_, "against") => offer(&["last", "current"], &[NameKind::Runs]),
        ("ingest", "paths") | (_, "ingest") => {
            Some(Offer { words: Vec::new(), kinds: &[], with_queries: false, with_journals: true })
        }
        ("schema", "table") => offer(&[], &[NameKind::Tables]),
        ("export", "names") => {
            let words = vec!["journal".to_owned(), "lake".to_owned()];
            Some(Offer { words, kinds: &[NameKind::Tables], with_queries: true, with_journals: false })
        }
        ("set" | "clear", "name") => offer(&[], &[NameKind::Slos]),
        (_, "run") => offer(&["last", "current"], &[NameKind::Runs]),
        (_, "release") => offer(&[], &[NameKind::Releases]),
        (_, "source") => offer(&[], &[NameKind::Sources]),
        (_, "by") => offer(
            &["run", "all", "release", "source", "folder", "1m", "5m", "1h", "1d", "run,1m", "run,5m"],
            &[],
        ),
        (_, "slo") => offer(&[], &[NameKind::Slos]),
        (_, "engine") if is_parameter => offer(&[], &[NameKind::Engines]),
        (_, "event") if is_parameter => offer(&[], &[NameKind::Events]),
        (_, "terminal") if is_parameter => offer(&[], &[NameKind::Terminals]),
        _ => None,
    }
}

impl Names {
    fn candidates(&self, offer: &Offer, word: &OsStr) -> Vec<CompletionCandidate> {
        let Some(word) = word.to_str() else { return Vec::new() };
        let words = offer.words.iter().map(|word| (word.clone(), None));
        let queries = self.queries.iter().filter(|_| offer.with_queries).cloned();
        let mut named: Vec<KnownName> =
            words.chain(queries).filter(|(name, _)| name.starts_with(word)).collect();
        for kind in offer.kinds {
            for found in (self.lookup)(&self.database, *kind, word) {
                if named.iter().all(|(name, _)| *name != found.0) {
                    named.push(found);
                }
            }
        }
        if offer.with_journals {
            let journals = self.journals.iter().filter(|name| name.starts_with(word));
            named.extend(journals.map(|name| (name.clone(), Some("journals of the settings".to_owned()))));
        }
        let candidate = |(at, (name, meaning)): (usize, KnownName)| {
            CompletionCandidate::new(name).help(meaning.map(Into::into)).display_order(Some(at))
        };
        let mut candidates: Vec<CompletionCandidate> = named.into_iter().enumerate().map(candidate).collect();
        if offer.with_journals {
            candidates.extend(PathCompleter::any().complete(OsStr::new(word)));
        }
        candidates
    }
}
