//! The definitions in the stock `sqlite3` shell, on the program's database.

use std::io::Write as _;
use std::process::{Command, Stdio};

use narwhal_jq::query::written::written;
use narwhal_jq::selection::Row;
use rusqlite::types::Value as Sql;
use serde_json::Value;

use super::{
    Chosen, Differences, Question, World, catalog, generated, odd_questions, plain_questions, real,
    shipped_journals,
};
use crate::harness;

/// What the shell says to a script of commands.
#[track_caller]
fn shell(mut command: Command, script: &str) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = script.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{stderr}\n{script:.10000}");
    writer.join().unwrap().unwrap();
    stdout
}

fn sqlite3(world: &World) -> Command {
    let mut command = Command::new("sqlite3");
    command.args(["-batch", "-bail", "-readonly", "narwhal.db"]).current_dir(world.lab.path(""));
    command
}

/// A value as the shell's `.param set` takes it: SQL in double quotes.
fn quoted(value: &Sql) -> Option<String> {
    match value {
        Sql::Null | Sql::Blob(_) => None,
        Sql::Integer(int) => Some(int.to_string()),
        Sql::Real(real) => Some(format!("{real:?}")),
        Sql::Text(text) => Some(format!("\"'{}'\"", text.replace('\'', "''"))),
    }
}

fn literal(row: &Row) -> String {
    format!("('{}', {}, {:e}, {:e})", row.scope.replace('\'', "''"), row.run_id, row.from_s, row.to_s)
}

const MARK: &str = "-- the next answer";

/// Asks the shell in both forms, as one process: the statements of `--sql`, which have selection and
/// parameters in them, and the query files over a temporary table with parameters set.
#[track_caller]
fn compare(world: &World, chosen: &Chosen, questions: &[Question<'_>]) {
    let mut connection = world.open();
    let selection = chosen.choose(world, &mut connection);
    let questions: Vec<_> = questions.iter().filter(|question| chosen.is_fit_for(question.query)).collect();
    let mut script = ".mode json\n".to_owned();
    for question in &questions {
        let statement = written(question.query, &selection, &question.bound(&connection)).unwrap();
        script.push_str(&format!(".print {MARK}\n{statement};\n"));
    }
    // The view is asked where nothing was chosen.
    if !selection.is_default {
        script.push_str(
            "create temporary table selection (scope text, run_id integer, from_s real, to_s real);\n",
        );
        for rows in selection.rows.chunks(500) {
            let rows: Vec<String> = rows.iter().map(literal).collect();
            script.push_str(&format!("insert into temp.selection values {};\n", rows.join(",\n")));
        }
    }
    for question in &questions {
        script.push_str(".param clear\n");
        for (name, value) in question.bound(&connection) {
            if let Some(value) = quoted(&value) {
                script.push_str(&format!(".param set {name} {value}\n"));
            }
        }
        let file = harness::project().join("queries").join(&question.query.name).with_extension("sql");
        script.push_str(&format!(".print {MARK}\n.read '{}'\n", file.display()));
    }
    let said = shell(sqlite3(world), &script);
    let answers: Vec<&str> = said.split(&format!("{MARK}\n")).skip(1).collect();
    assert_eq!(answers.len(), 2 * questions.len());
    let mut differences = Differences::default();
    for (at, question) in questions.iter().enumerate() {
        let ours = question.ask(&mut connection, &question.query.sql);
        for (form, answer) in [("--sql", answers[at]), ("its file", answers[questions.len() + at])] {
            let rows = in_columns(question, answer);
            // The shell's JSON has 15 digits.
            differences.compare(
                question.query,
                &ours,
                &rows,
                |_| (0.0, 1e-13),
                &format!("{question} of {chosen}, {form}"),
            );
        }
    }
    differences.end();
}

/// The rows of the shell's JSON, as arrays. It writes nothing when there are none.
fn in_columns(question: &Question<'_>, answer: &str) -> Vec<Value> {
    if answer.trim().is_empty() {
        return Vec::new();
    }
    let rows: Vec<Value> =
        serde_json::from_str(answer).unwrap_or_else(|error| panic!("{question}: {error}\n{answer:.2000}"));
    let columns = &question.query.columns;
    rows.iter().map(|row| columns.iter().map(|column| row[&column.name].clone()).collect()).collect()
}

#[test]
fn the_shell_gives_the_rows_of_the_definitions() {
    let test = "the_shell_gives_the_rows_of_the_definitions";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    let catalog = catalog();
    for world in [Some(shipped_journals()), real(test)].into_iter().flatten() {
        let plain = plain_questions(&catalog, &world);
        for chosen in world.selections() {
            compare(&world, &chosen, &plain);
        }
        for chosen in [Chosen::flags(""), Chosen::Rows(world.windows())] {
            compare(&world, &chosen, &odd_questions(&catalog, &world));
        }
    }
}

#[test]
fn the_shell_gives_the_rows_of_the_definitions_on_a_generated_journal() {
    let test = "the_shell_gives_the_rows_of_the_definitions_on_a_generated_journal";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    let Some(world) = generated(test) else { return };
    let catalog = catalog();
    let plain = plain_questions(&catalog, &world);
    for chosen in world.selections() {
        compare(&world, &chosen, &plain);
    }
}
