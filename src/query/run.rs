//! Runs one statement that can only read, and yields its columns and rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement};

use super::kind::ColumnKind;
use super::schema;

/// Pragmas that tell and do not change; with an argument only those that look something up by it.
const TELLING_PRAGMAS: &[&str] = &[
    "application_id",
    "collation_list",
    "compile_options",
    "database_list",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "freelist_count",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "page_count",
    "page_size",
    "pragma_list",
    "quick_check",
    "schema_version",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];
const LOOKING_PRAGMAS: &[&str] = &[
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

impl<S: Sink + ?Sized> Sink for &mut S {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        (**self).kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        (**self).columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        (**self).row(cells)
    }

    fn end(&mut self) -> Result<()> {
        (**self).end()
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        (**self).kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        (**self).columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        (**self).row(cells)
    }

    fn end(&mut self) -> Result<()> {
        (**self).end()
    }
}

/// A parameter's name in the SQL (`:run`) and what is bound to it.
pub type Bound = (String, Value);

/// The value that is bound to a parameter, by its name without the colon.
pub fn value_of<'b>(bound: &'b [Bound], name: &str) -> Option<&'b Value> {
    bound.iter().find(|(known, _)| known[1..] == *name).map(|(_, value)| value)
}

/// A cell that is kept for later; text that is no UTF-8, which only a user's own statement can give, as far as it is.
pub fn kept(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(blob) => Value::Blob(blob.to_vec()),
    }
}

/// Whoever takes an answer.
pub trait Sink {
    /// What the columns hold, where it is known: before [`Sink::columns`], or never.
    fn kinds(&mut self, _kinds: &[ColumnKind]) {}
    /// The columns, once, before any row.
    ///
    /// # Errors
    /// When they cannot be written.
    fn columns(&mut self, names: &[String]) -> Result<()>;
    /// A row, as many cells as there are columns.
    ///
    /// # Errors
    /// When it cannot be written.
    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()>;
    /// The end of the answer.
    ///
    /// # Errors
    /// When it cannot be written.
    fn end(&mut self) -> Result<()>;
}

/// Runs one statement and gives its answer to the sink; how many rows there were.
///
/// # Errors
/// When the SQL is wrong, is more than one statement, or would write; when the sink fails.
pub fn run(connection: &mut Connection, sql: &str, bound: &[Bound], sink: &mut dyn Sink) -> Result<u64> {
    watch(connection)?;
    let mut statement = prepare(connection, sql)?;
    for (name, value) in bound {
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    sink.columns(&names)?;
    let mut rows = statement.raw_query();
    let mut count = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        let cells = (0..names.len()).map(|at| row.get_ref(at)).collect::<rusqlite::Result<Vec<_>>>()?;
        sink.row(&cells)?;
        count += 1;
    }
    sink.end()?;
    Ok(count)
}

fn failed(error: rusqlite::Error) -> anyhow::Error {
    let is_overflow =
        matches!(&error, rusqlite::Error::SqliteFailure(_, Some(why)) if why == "integer overflow");
    anyhow::Error::new(error).context(if is_overflow {
        "the query failed: a sum is beyond 64 bits signed, so some row counts more than a request can have; \
         `narwhal-jq sql 'select run, rid, input_len, output_len, cached_tokens_max from requests where \
         max(coalesce(input_len, 0), coalesce(output_len, 0), coalesce(cached_tokens_max, 0)) > 1e12'` shows it"
    } else {
        "the query failed"
    })
}

/// Keeps an answer, for the tool's own use of a short one.
struct Kept(Vec<String>, Vec<Vec<Value>>);

impl Sink for Kept {
    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.0 = names.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        self.1.push(cells.iter().copied().map(kept).collect());
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Runs one statement and keeps its answer: columns and rows.
///
/// # Errors
/// As [`run`].
pub fn collect(
    connection: &mut Connection,
    sql: &str,
    bound: &[Bound],
) -> Result<(Vec<String>, Vec<Vec<Value>>)> {
    let mut answer = Kept(Vec::new(), Vec::new());
    run(connection, sql, bound, &mut answer)?;
    Ok((answer.0, answer.1))
}

/// What a statement takes and gives.
#[derive(Debug)]
pub struct Signature {
    /// Its parameters as they stand in it, `:run`.
    pub parameters: Vec<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Whether it reads `selection`, so that its answer is of what was chosen.
    pub reads_selection: bool,
}

/// Finds what a statement takes and gives, without running it.
///
/// # Errors
/// As [`run`].
pub fn signature(connection: &mut Connection, sql: &str) -> Result<Signature> {
    let reads_selection = watch(connection)?;
    let statement = prepare(connection, sql)?;
    let parameters = (1..=statement.parameter_count())
        .map(|index| statement.parameter_name(index).map_or_else(|| "?".to_owned(), str::to_owned))
        .collect();
    let columns = statement.column_names().map(str::to_owned).collect();
    Ok(Signature { parameters, columns, reads_selection: reads_selection.load(Ordering::Relaxed) })
}

/// Has every statement of the connection watched from now on: it may only read. Whether one read `selection`.
fn watch(connection: &mut Connection) -> Result<Arc<AtomicBool>> {
    let reads_selection = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&reads_selection);
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if let AuthAction::Read { table_name, .. } = context.action
            && table_name.eq_ignore_ascii_case("selection")
        {
            noted.store(true, Ordering::Relaxed);
        }
        authorize(context)
    }))?;
    Ok(reads_selection)
}

/// Prepares a statement that only reads.
fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<Statement<'c>> {
    let statement = match connection.prepare(sql) {
        Ok(statement) => statement,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) => {
            bail!(ONLY_READS)
        }
        Err(rusqlite::Error::MultipleStatement) => {
            bail!("more than one statement: give them one by one")
        }
        Err(rusqlite::Error::SqlInputError { msg, .. }) if msg.contains("not authorized") => {
            bail!(ONLY_READS)
        }
        Err(rusqlite::Error::SqlInputError { msg, offset, .. }) => {
            let place = usize::try_from(offset).ok().and_then(|offset| place(sql, offset));
            bail!("the SQL is wrong{}: {}", place.unwrap_or_default(), with_names(connection, sql, &msg)?)
        }
        Err(rusqlite::Error::SqliteFailure(_, Some(message))) => {
            bail!("the SQL is wrong: {}", with_names(connection, sql, &message)?)
        }
        Err(error) => return Err(error).context("the SQL is wrong"),
    };
    if !statement.readonly() {
        bail!(ONLY_READS);
    }
    if statement.column_count() == 0 {
        bail!("the SQL has no answer: give one `select` statement");
    }
    Ok(statement)
}

/// SQLite's message, with the names there are where one is wrong.
fn with_names(connection: &Connection, sql: &str, message: &str) -> Result<String> {
    let there = schema::names_for(connection, sql, message)?;
    Ok(there.map_or_else(|| message.to_owned(), |there| format!("{message}; {there}")))
}

const ONLY_READS: &str = "this SQL does more than read: narwhal-jq runs only statements that read; \
     open the file in the sqlite3 shell to change it";

/// Where a byte of the SQL stands, for a message.
fn place(sql: &str, offset: usize) -> Option<String> {
    let before = sql.get(..offset)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some(format!(" at line {line}, column {column}"))
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    let is_allowed = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let pragmas = if pragma_value.is_none() { TELLING_PRAGMAS } else { LOOKING_PRAGMAS };
            pragmas.iter().any(|name| pragma_name.eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    if is_allowed { Authorization::Allow } else { Authorization::Deny }
}
