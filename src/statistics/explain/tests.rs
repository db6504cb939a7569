use super::*;

const ENGINE: u32 = 0;
const PROMPT: u32 = 1;

/// Windows that are filled row by row.
#[derive(Default)]
struct Windows {
    profiles: Profiles,
    window: Window,
    baseline: Window,
}

impl Windows {
    fn explained(&self) -> Attribution {
        explain(&self.profiles, &self.window, &self.baseline).expect("both windows have rows")
    }
}

fn account(attribute: u32, value: u32) -> Account {
    Account { attribute, value }
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// Four thousand rows each: four engines, three sizes of prompts; one row in twenty misses, and in
/// the window a third of engine 2 as well.
fn one_bad_engine(more: impl Fn(u32) -> Vec<Account>) -> Windows {
    let mut windows = Windows::default();
    for i in 0..4000 {
        let mut accounts = vec![account(ENGINE, i % 4), account(PROMPT, i / 7 % 3)];
        accounts.extend(more(i));
        let profile = windows.profiles.of(&accounts);
        windows.window.push(profile, (i % 20 == 3 || i % 12 == 2).then_some(usize::from(i % 20 != 3)));
        windows.baseline.push(profile, (i % 20 == 3).then_some(0));
    }
    windows
}

#[test]
fn a_bad_engine_is_named_and_the_parts_sum_up() {
    let found = one_bad_engine(|_| Vec::new()).explained();
    near(found.extra, 334.0);
    near(found.expected, 200.0);
    assert_eq!((found.misses, found.named.len()), (534, 1));
    let engine = &found.named[0];
    assert_eq!(engine.account, account(ENGINE, 2));
    assert_eq!((engine.requests, engine.misses), (1000, 334));
    assert_eq!((engine.baseline_requests, engine.baseline_misses), (1000, 0));
    near(engine.own, 333.019607843137);
    near(engine.beyond, 249.519607843137);
    near(engine.sd, 11.0827264775592);
    near(found.rest, 0.0);
    near(found.mix, 0.980392156863);
    assert!(engine.also.is_empty() && engine.tied.is_empty());
    assert_eq!(found.kinds, [0.0, 334.0]);
    assert_eq!((found.stretch.first_row, found.stretch.end_row), (0, 4000));
    assert!(found.low < 334.0 && found.high > 334.0);
}

#[test]
fn companions_are_seen_with_it_or_cannot_be_told_apart() {
    // A prefix that only engine 2 serves, and one that two of three of its requests have.
    let found = one_bad_engine(|i| {
        let mut accounts = vec![account(2, u32::from(i % 4 == 2))];
        accounts.push(account(3, u32::from(i % 12 == 2 && i % 5 != 0)));
        accounts
    })
    .explained();
    let engine = &found.named[0];
    assert_eq!(engine.account, account(ENGINE, 2));
    assert_eq!(engine.tied, [account(2, 1)]);
    assert_eq!(engine.also, [account(3, 1)]);
}

#[test]
fn a_value_beside_others_of_its_row_counts_under_each() {
    // Each request of engine 2 went to a second one after it: the second one has no extra of its own.
    let found = one_bad_engine(|i| if i % 4 == 2 { vec![account(ENGINE, i / 4 % 2)] } else { Vec::new() })
        .explained();
    assert_eq!(found.named.len(), 1);
    assert_eq!(found.named[0].account, account(ENGINE, 2));
}

#[test]
fn a_burst_that_hits_all_alike_names_nobody_and_is_the_stretch() {
    let mut windows = Windows::default();
    for i in 0..4000_u32 {
        let profile = windows.profiles.of(&[account(ENGINE, i % 4), account(PROMPT, i / 7 % 3)]);
        windows.baseline.push(profile, (i % 16 == 3).then_some(0));
        let burst = (1024..1536).contains(&i) && i % 3 != 0;
        windows.window.push(profile, (burst || i % 16 == 3).then_some(0));
    }
    let found = windows.explained();
    assert!(found.z > 10.0 && found.named.is_empty());
    near(found.rest, found.extra);
    near(found.mix, 0.0);
    assert_eq!((found.stretch.first_row, found.stretch.end_row), (1024, 1536));
}

#[test]
fn equal_windows_have_nothing_to_explain() {
    let mut windows = one_bad_engine(|_| Vec::new());
    windows.window = Window::new();
    for i in 0..4000 {
        let profile = windows.profiles.of(&[account(ENGINE, i % 4)]);
        windows.window.push(profile, (i % 20 == 4).then_some(0));
    }
    let found = windows.explained();
    near(found.z, 0.0);
    assert!(found.named.is_empty());
    assert_eq!(explain(&windows.profiles, &windows.window, &Window::new()), None);
    assert_eq!(explain(&windows.profiles, &Window::new(), &windows.baseline), None);
}

#[test]
fn all_missed_after_none_did_is_beyond_doubt() {
    let mut windows = Windows::default();
    let profile = windows.profiles.of(&[]);
    (0..100).for_each(|_| windows.window.push(profile, Some(0)));
    (0..100).for_each(|_| windows.baseline.push(profile, None));
    let found = windows.explained();
    assert_eq!((found.z, found.extra, found.rest), (f64::INFINITY, 100.0, 100.0));
    assert!(found.named.is_empty());
}

#[test]
fn an_account_that_is_the_whole_baseline_leaves_its_rate() {
    let mut windows = Windows::default();
    let old = windows.profiles.of(&[account(ENGINE, 0)]);
    let new = windows.profiles.of(&[account(ENGINE, 1)]);
    (0..400).for_each(|i| windows.baseline.push(old, (i % 10 == 0).then_some(0)));
    for i in 0..400 {
        windows.window.push(if i % 2 == 0 { old } else { new }, (i % 2 == 0).then_some(0));
    }
    let found = windows.explained();
    assert_eq!(found.named[0].account, account(ENGINE, 0));
    near(found.rest, 0.0 - 200.0 * 0.1);
    near(found.named[0].own + found.rest + found.mix, found.extra);
}
