//! A folder of its own for each test, the program run in it, and its database looked at without
//! the program.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use clap::ValueEnum;
use narwhal_jq::output::Format;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// The project's folder.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fixture's bytes.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = project().join("tests/fixtures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The folder of the real journals that do not ship with the project. Says whether the test ran.
#[track_caller]
pub fn real_journals(test: &str) -> Option<PathBuf> {
    let path = match std::env::var_os("NARWHAL_JQ_SHARED") {
        Some(path) => PathBuf::from(path),
        None => project().join("../shared"),
    };
    if path.join("journals").is_dir() {
        say(&format!("{test}: ran on the journals in {}", path.display()));
        return Some(path);
    }
    skip(test, &format!("{} has no folder `journals`", path.display()));
    None
}

/// Whether a program that a fresh machine may lack is there. Says whether the test ran.
#[track_caller]
pub fn has_program(test: &str, program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    match found {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout);
            say(&format!("{test}: ran with {program} {}", version.lines().next().unwrap_or_default()));
            true
        }
        _ => {
            skip(test, &format!("there is no {program}"));
            false
        }
    }
}

/// Says that a test did not run, and why. Where NARWHAL_JQ_CI is set everything must be there: it fails.
#[track_caller]
pub fn skip(test: &str, why: &str) {
    assert!(std::env::var_os("NARWHAL_JQ_CI").is_none(), "{test} must run where NARWHAL_JQ_CI is set: {why}");
    say(&format!("{test}: did not run, {why}"));
}

/// Says something past the capture of test output.
pub fn say(message: &str) {
    writeln!(std::io::stderr(), "{message}").expect("stderr can be written");
}

/// Asserts that a text is the one that was approved, in a file below `tests/cases`. `tests/renew` writes it anew.
#[track_caller]
pub fn assert_approved(file: &str, found: &str) {
    let path = project().join("tests/cases").join(file);
    if std::env::var_os("NARWHAL_JQ_RENEW").is_some() {
        fs::write(&path, found).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let approved = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == approved,
        "{file} (`tests/renew` writes it anew)\n--- approved\n{approved}--- found\n{found}"
    );
}

/// The formats of answers, by their names.
pub fn formats() -> Vec<String> {
    let named = |format: &Format| format.to_possible_value().expect("none is hidden").get_name().to_owned();
    Format::value_variants().iter().map(named).collect()
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    shown: String,
}

impl Run {
    fn new(command: &Command, output: Output) -> Self {
        let arguments: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        let stdout = String::from_utf8(output.stdout).expect("stdout is UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("stderr is UTF-8");
        let code = output.status.code().unwrap_or(-1);
        let shown = format!(
            "narwhal-jq {}\nexit code {code} ({})\n--- stdout\n{stdout}--- stderr\n{stderr}",
            arguments.join(" "),
            output.status
        );
        assert!(!stderr.contains("panicked"), "{shown}");
        Self { code, stdout, stderr, shown }
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.shown);
        self
    }

    /// Asserts that stderr contains a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{}", self.shown);
        self
    }

    /// Stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{}", self.shown))
    }
}

/// The Unix second at which files of a lab were written: after the rows of all journals here.
const WRITTEN_S: f64 = 1_796_000_000.25;

/// Copies the program to `to`, for a user or a mount that cannot reach where it was built. `cp` writes it: a file
/// open for writing here would be inherited by what other tests start, and could not be run while they hold it
/// ("Text file busy").
pub fn copy_program(to: &Path) {
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_narwhal-jq")).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()), "the program cannot be copied to {}", to.display());
}

/// Sets when a file was modified last.
pub fn set_modified(path: &Path, unix_s: f64) {
    let time = UNIX_EPOCH + Duration::from_secs_f64(unix_s);
    let file = fs::File::options().append(true).open(path).expect("the file is there");
    file.set_modified(time).expect("its time can be set");
}

/// A folder with a database in it, perhaps.
#[derive(Debug)]
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    /// In memory where that can be: tests make thousands of databases, and none needs a disk.
    pub fn new() -> Self {
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
        Self { folder: folder.expect("a temporary folder can be made") }
    }

    /// Where a file system gives the number of a removed file to the next one, which memory does not.
    pub fn on_disk() -> Self {
        Self { folder: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder can be made") }
    }

    /// Leaves the folder where it is, for who wants to look.
    pub fn keep(&mut self) -> &Path {
        self.folder.disable_cleanup(true);
        self.folder.path()
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder. It was always written at the same moment: what is read of it bounds the
    /// wall clock of its runs.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("the folder can be written");
        set_modified(&path, WRITTEN_S);
        path
    }

    /// The program, in the folder, with nothing set that could change what it does.
    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narwhal-jq"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("NARWHAL_JQ_DB")
            .env_remove("NARWHAL_JQ_QUERIES")
            .env_remove("NARWHAL_JQ_COMPLETE")
            .env_remove("NARWHAL_JQ_CONFIG")
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let mut command = self.command(arguments);
        let output = command.output().expect("the program can be started");
        Run::new(&command, output)
    }

    /// Runs the program with bytes on its standard input.
    pub fn run_with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        let bytes = stdin.to_vec();
        // The program may end before it has read everything.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Run::new(&command, output)
    }

    /// Ingests a file of the folder and gives the summary.
    #[track_caller]
    pub fn ingest(&self, path: &str) -> serde_json::Value {
        self.run(&["ingest", path, "--format", "json"]).exits(0).json()
    }

    /// Reads the database without the program.
    pub fn database(&self) -> Connection {
        Connection::open_with_flags(self.path("narwhal.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
            .expect("there is a database")
    }

    /// The rows of a statement.
    #[track_caller]
    pub fn rows(&self, sql: &str) -> Vec<Vec<Value>> {
        rows(&self.database(), sql)
    }

    /// The one number that a statement gives.
    #[track_caller]
    pub fn number(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The one number that a statement gives, when there is a database to ask now.
    pub fn number_or_none(&self, sql: &str) -> Option<i64> {
        let path = self.path("narwhal.db");
        let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        database.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Every table's rows, in the order of their keys.
    ///
    /// Where a file lies and when it was written differs from lab to lab, and is no part of what was read: it is
    /// left out.
    pub fn contents(&self) -> Contents {
        self.contents_but_for("''")
    }

    /// As [`Lab::contents`], without what the time of reading says of the wall clock of runs: what comes through a
    /// pipe has no other.
    pub fn timeless_contents(&self) -> Contents {
        self.contents_but_for(
            "'wall_file_high_s', 'wall_low_s', 'wall_high_s', 'wall_offset_s', 'wall_error_s', 'wall_basis', 'place_s'",
        )
    }

    fn contents_but_for(&self, columns: &str) -> Contents {
        let database = self.database();
        let tables = rows(
            &database,
            &format!(
                "select m.name, group_concat('\"' || c.name || '\"')
                 from sqlite_schema as m, pragma_table_info(m.name) as c
                 where m.type = 'table' and m.name not like 'sqlite_%' and c.name not in ({columns})
                     and (m.name <> 'sources' or c.name not in ('path', 'device', 'inode', 'written_by_s'))
                 group by m.name order by m.name"
            ),
        );
        tables
            .into_iter()
            .map(|row| {
                let [Value::Text(name), Value::Text(columns)] = &row[..] else { panic!("names are text") };
                let rows = rows(&database, &format!("select {columns} from {name} order by 1, 2"));
                (name.clone(), rows)
            })
            .collect()
    }
}

/// The rows of each table.
pub type Contents = Vec<(String, Vec<Vec<Value>>)>;

/// The rows of a statement.
#[track_caller]
pub fn rows(database: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = database.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let width = statement.column_count();
    statement
        .query_map([], |row| (0..width).map(|at| row.get(at)).collect())
        .and_then(Iterator::collect)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The size of a page of a database, from the header of its file.
pub fn page_size(database: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([database[16], database[17]]))
}

/// Asserts that two databases hold the same rows, table by table.
#[track_caller]
pub fn assert_same_contents(one: &Lab, other: &Lab, what: &str) {
    assert_contents(one, &other.contents(), what);
}

/// Asserts that a database holds rows, but for what the time of reading says ([`Lab::timeless_contents`]).
#[track_caller]
pub fn assert_timeless_contents(lab: &Lab, expected: &Contents, what: &str) {
    assert_equal(&lab.timeless_contents(), expected, what);
}

/// Asserts that a database holds these rows, table by table.
#[track_caller]
pub fn assert_contents(lab: &Lab, expected: &Contents, what: &str) {
    assert_equal(&lab.contents(), expected, what);
}

#[track_caller]
fn assert_equal(found: &Contents, expected: &Contents, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: tables");
    for ((name, found), (expected_name, expected)) in found.iter().zip(expected) {
        assert_eq!(name, expected_name, "{what}: a table's name");
        assert_eq!(found.len(), expected.len(), "{what}: rows of {name}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected, "{what}: a row of {name}");
        }
    }
}

/// Bytes as `gzip` packs them.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

/// What `gzip` packed; nothing when it is cut off.
pub fn gunzip(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut bytes).ok().map(|_| bytes)
}

/// Bytes as `zstd` packs them.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 1).expect("memory can be written");
    encoder.include_checksum(true).expect("it can be had");
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

/// What `zstd` packed; nothing when it is cut off.
pub fn unzstd(packed: &[u8]) -> Option<Vec<u8>> {
    ::zstd::decode_all(packed).ok()
}

/// A build row, without its newline.
pub fn build(version: &str) -> String {
    format!(
        "{{\"meta\": {{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \
         \"package\": \"narwhal-inference\", \"version\": \"{version}\", \"git\": null, \
         \"source\": \"sha256:00\", \"token_accounting\": \"token_ids\"}}}}"
    )
}

/// The least terminal row, without its newline.
pub fn terminal(run: &str, rid: &str, arrived: f64) -> String {
    format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{run}\", \
         \"rid\": \"{rid}\", \"arrived\": {arrived:?}, \"terminal\": \"completed\"}}"
    )
}
