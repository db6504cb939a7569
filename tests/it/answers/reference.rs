//! Value by value as the independent reference in `tests/reference` answers; and each faster statement as its
//! definition.

use narwhal_jq::query::faster::{Answers, FASTER};
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::{
    Chosen, Differences, Question, World, catalog, generated, is_near, odd_questions, plain_questions, real,
    shipped_journals, tolerance,
};
use crate::harness;

#[test]
fn answers_about_real_journals_old_and_new_are_those_of_the_reference() {
    let test = "answers_about_real_journals_old_and_new_are_those_of_the_reference";
    let (Some(world), true) = (real(test), harness::has_program(test, "python3")) else { return };
    compare(&world, &world.selections());
}

#[test]
fn answers_about_the_shipped_journals_are_those_of_the_reference() {
    let test = "answers_about_the_shipped_journals_are_those_of_the_reference";
    if harness::has_program(test, "python3") {
        let world = shipped_journals();
        compare(&world, &world.selections());
    }
}

#[test]
fn answers_about_a_generated_journal_are_those_of_the_reference() {
    let test = "answers_about_a_generated_journal_are_those_of_the_reference";
    if !harness::has_program(test, "python3") {
        return;
    }
    if let Some(world) = generated(test) {
        compare(&world, &world.selections());
    }
}

/// Asks every query of every selection, and with every parameter of some of them.
#[track_caller]
fn compare(world: &World, selections: &[Chosen]) {
    let catalog = catalog();
    let plain = plain_questions(&catalog, world);
    let odd = odd_questions(&catalog, world);
    let mut asked: Vec<(&Chosen, Vec<&Question<'_>>)> = Vec::new();
    for (at, chosen) in selections.iter().enumerate() {
        let is_odd = (at == 0 && selections.len() > 15) || matches!(chosen, Chosen::Rows(_));
        let questions = plain.iter().chain(odd.iter().filter(|_| is_odd));
        asked.push((chosen, questions.filter(|question| chosen.is_fit_for(question.query)).collect()));
    }
    let selections = asked
        .iter()
        .map(|(chosen, _)| [vec!["--selection".to_owned()], chosen.for_the_reference(world)].concat());
    let selections = world.ask_the_reference(selections.collect());
    let questions = asked.iter().flat_map(|(chosen, questions)| {
        questions.iter().map(|question| question.for_the_reference(world, chosen))
    });
    let expected = world.ask_the_reference(questions.collect());

    let mut connection = world.open();
    let mut differences = Differences::default();
    let mut answers = Vec::new();
    let mut chosen_rows = Vec::new();
    for (chosen, questions) in &asked {
        let selection = chosen.choose(world, &mut connection);
        chosen_rows.push(rows_with_runs(&connection, chosen));
        for question in questions {
            let what = format!("{question} of {chosen}");
            let rows = question.ask(&mut connection, &question.query.sql);
            for faster in FASTER.iter().filter(|faster| faster.name == question.query.name) {
                if faster.answers == Answers::Any || selection.is_whole() {
                    let found = question.ask(&mut connection, faster.sql);
                    differences.compare_statements(question.query, &rows, &found, &format!("{what}, faster"));
                }
            }
            answers.push((question.query, rows, what));
        }
    }
    for (((chosen, _), ours), theirs) in asked.iter().zip(&chosen_rows).zip(selections.join().unwrap()) {
        let theirs = theirs["rows"].as_array().unwrap_or_else(|| panic!("{chosen:?}: {theirs}"));
        let is_same = |(ours, theirs): (&(String, String, f64, f64), &Value)| {
            let near = |one: f64, other: &Value| {
                other.as_f64().is_some_and(|other| is_near(one, other, (1e-6, 0.0)))
            };
            json!([ours.0, ours.1]) == json!([theirs[0], theirs[1]])
                && near(ours.2, &theirs[2])
                && near(ours.3, &theirs[3])
        };
        if let Some(at) = ours.iter().zip(theirs).position(|pair| !is_same(pair)) {
            differences
                .0
                .push(format!("{chosen:?}: row {at} of the selection\n  {:?}\n  {}", ours[at], theirs[at]));
        } else if ours.len() != theirs.len() {
            differences.0.push(format!(
                "{chosen:?}: {} rows of the selection and {}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    for ((query, rows, what), theirs) in answers.iter().zip(expected.join().unwrap()) {
        match theirs["rows"].as_array() {
            Some(theirs) => differences.compare(query, rows, theirs, |column| tolerance(query, column), what),
            None => differences.0.push(format!("{what}: {theirs}")),
        }
    }
    harness::say(&format!("{} answers compared", answers.len()));
    differences.end();
}

/// The selection of the connection with the names of runs, in the reference's order.
fn rows_with_runs(connection: &rusqlite::Connection, chosen: &Chosen) -> Vec<(String, String, f64, f64)> {
    let sql = "select s.scope, r.run, s.from_s, s.to_s from temp.selection as s join runs as r on r.run_id = s.run_id
        order by s.scope, r.run, s.from_s";
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{chosen:?}: {error}"));
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_runs_and_scopes_of_a_selection_are_as_many_as_they_should_be() {
    // What is compared must be there to be compared.
    let world = shipped_journals();
    let mut connection = world.open();
    let mut whole = 0;
    let selections = world.selections();
    for chosen in &selections {
        let selection = chosen.choose(&world, &mut connection);
        whole += usize::from(selection.is_whole() && !selection.rows.is_empty());
        let is_empty = matches!(chosen, Chosen::Flags(flags) if flags.contains(&"99".to_owned()) || flags.contains(&"2100-01-01T00:00:00Z".to_owned()));
        assert_eq!(selection.rows.is_empty(), is_empty, "{chosen:?}");
        assert_eq!(selection.emptied_by.is_some(), is_empty, "{chosen:?}");
    }
    assert!(whole >= 5, "{whole} of {}", selections.len());
    let runs = world.lab.rows("select count(*) from runs");
    assert!(matches!(runs[0][0], Sql::Integer(5..)), "{runs:?}");
}
