//! The statistics of the library beside the second implementation in `tests/reference`, on random
//! cases of every kind.

use std::io::Write;
use std::process::{Command, Stdio};

use narwhal_jq::statistics::{
    Account, Attribution, Batches, Difference, Limit, Measured, Percentile, Profiles, Share, Window, explain,
    judge_together, p_value,
};
use serde_json::{Value, json};

use crate::harness::{has_program, project};

/// As many of each kind.
const CASES: u64 = 300;

/// Numbers agree to this, as a share of the larger one above 1.
const NEAR: f64 = 1e-9;

// ------------------------------------------------------------------ random cases

/// Numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// From few to many, about as often of one size as of the next.
    fn size(&mut self, least: f64, most: f64) -> u64 {
        (least * (most / least).powf(self.unit())) as u64
    }

    /// For each of so many rows in order, whether it lies in a burst.
    fn bursts(&mut self, rows: u64) -> Vec<bool> {
        let change = 1.0 / self.size(1.0, 2000.0) as f64;
        let mut inside = self.chance(0.5);
        (0..rows)
            .map(|_| {
                inside ^= self.chance(change);
                inside
            })
            .collect()
    }

    /// Hits of rows, in bursts or not.
    fn hits(&mut self, rows: u64) -> Vec<bool> {
        let (usual, in_burst) = (self.unit().powi(3), self.unit());
        let mut hits: Vec<bool> = self
            .bursts(rows)
            .iter()
            .map(|burst| self.chance(if *burst { in_burst } else { usual }))
            .collect();
        if self.chance(0.3) {
            hits.iter_mut().for_each(|hit| *hit = !*hit);
        }
        hits
    }

    /// Values of rows, in bursts or not, with ties or not.
    fn values(&mut self, rows: u64) -> Vec<f64> {
        let times = 1.0 + 4.0 * self.unit();
        let steps = if self.chance(0.3) { 20.0 } else { 1e6 };
        let value = |random: &mut Self, burst: bool| {
            let value = -(1.0 - random.unit()).ln() * if burst { times } else { 1.0 };
            (value * steps).round() / steps
        };
        self.bursts(rows).iter().map(|burst| value(self, *burst)).collect()
    }
}

// ------------------------------------------------------------------ both sides

/// What the second implementation answers.
fn reference(cases: &[Value]) -> Vec<Value> {
    let mut child = Command::new("python3")
        .arg(project().join("tests/reference/statistics_reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    // All of it is read before anything is written.
    let mut stdin = child.stdin.take().expect("its standard input is a pipe");
    stdin.write_all(&serde_json::to_vec(cases).unwrap()).expect("python3 reads the cases");
    drop(stdin);
    let output = child.wait_with_output().expect("python3 ends");
    assert!(output.status.success(), "the reference failed");
    serde_json::from_slice(&output.stdout).expect("the reference prints JSON")
}

/// Asserts that an answer is that of the reference, and says where it is not.
fn agrees(found: &Value, expected: &Value, path: &str) -> Result<(), String> {
    let differ = || Err(format!("{path}: {found} is not {expected}"));
    match (found, expected) {
        (Value::Object(ours), Value::Object(theirs)) => {
            if ours.len() != theirs.len() {
                return differ();
            }
            for (name, value) in theirs {
                agrees(ours.get(name).unwrap_or(&json!("missing")), value, &format!("{path}/{name}"))?;
            }
            Ok(())
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => ours
            .iter()
            .zip(theirs)
            .enumerate()
            .try_for_each(|(at, (a, b))| agrees(a, b, &format!("{path}/{at}"))),
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            let near = (ours - theirs).abs() <= NEAR * ours.abs().max(theirs.abs()).max(1.0);
            if near { Ok(()) } else { differ() }
        }
        _ if found == expected => Ok(()),
        _ => differ(),
    }
}

/// Sends cases to both sides. Gives the answers, to be looked at for what they cover.
#[track_caller]
fn both_agree(test: &str, cases: Vec<(Value, Value)>) -> Option<Vec<Value>> {
    if !has_program(test, "python3") {
        return None;
    }
    let (asked, found): (Vec<Value>, Vec<Value>) = cases.into_iter().unzip();
    let expected = reference(&asked);
    assert_eq!(found.len(), expected.len());
    for (at, (ours, theirs)) in found.iter().zip(&expected).enumerate() {
        if let Err(difference) = agrees(ours, theirs, "") {
            let case: String = asked[at].to_string().chars().take(2000).collect();
            panic!("case {at}: {difference}\n{case}");
        }
    }
    Some(found)
}

/// How many answers are of a sort.
fn how_many(answers: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    answers.iter().filter(|answer| is(answer)).count()
}

/// JSON knows no infinity.
fn number(value: f64) -> Value {
    if value.is_infinite() { json!("inf") } else { json!(value) }
}

fn bits(hits: &[bool]) -> Vec<u8> {
    hits.iter().copied().map(u8::from).collect()
}

fn share_of(hits: &[bool]) -> Option<Share> {
    let mut batches = Batches::new();
    hits.iter().for_each(|hit| batches.push(*hit));
    Share::of(&batches)
}

// ------------------------------------------------------------------ each kind

#[test]
fn shares_are_those_of_the_reference() {
    let mut random = Random(1);
    let case = |random: &mut Random| {
        let rows = random.size(1.0, 5000.0) - 1;
        let hits = random.hits(rows);
        let found = share_of(&hits).map(|share| {
            json!({
                "n": share.rows, "k": share.hits, "value": share.value, "low": share.low, "high": share.high,
                "batches": Batches::of(&hits, |hit| *hit).iter().count(), "v": share.design.v,
                "r": share.design.r, "effect": share.design.effect, "n_eff": share.independent(),
                "thin": share.is_thin(),
            })
        });
        (json!({"ask": "share", "hits": bits(&hits)}), json!(found))
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("shares_are_those_of_the_reference", cases) else { return };
    assert!(how_many(&found, |share| share["thin"] == true) > 50);
    assert!(how_many(&found, |share| share["thin"] == false) > 50);
    let alike = how_many(&found, |share| share["r"] == 0.8);
    assert!(alike > 5, "{alike}");
    assert!(how_many(&found, |share| share["effect"].as_f64() > Some(2.0)) > 50);
    assert!(how_many(&found, Value::is_null) > 0);
}

#[test]
fn percentiles_are_those_of_the_reference() {
    let percents = [50, 90, 95, 99, 1, 37];
    let mut random = Random(2);
    let case = |random: &mut Random| {
        let rows = random.size(1.0, 1500.0);
        let values = random.values(rows);
        let found = Percentile::of(&values, &percents);
        let found: Vec<Value> = found
            .iter()
            .map(|found| {
                json!({
                    "value": found.value, "effect": found.effect, "independent": found.independent,
                    "low_rank": found.low_rank, "high_rank": found.high_rank, "low": found.low,
                    "high": found.high,
                })
            })
            .collect();
        (json!({"ask": "percentile", "values": values, "percents": percents}), json!(found))
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("percentiles_are_those_of_the_reference", cases) else { return };
    assert!(how_many(&found, |answer| answer[3]["high"].is_null()) > 50);
    assert!(how_many(&found, |answer| !answer[3]["high"].is_null()) > 20);
    assert!(how_many(&found, |answer| answer[0]["low"].is_null()) > 10);
}

#[test]
fn differences_of_shares_are_those_of_the_reference() {
    let mut random = Random(3);
    let case = |random: &mut Random| {
        let sizes = [random.size(1.0, 3000.0), random.size(1.0, 3000.0)];
        let a = random.hits(sizes[0]);
        // Of other rows, or of the same ones, for equal shares and for those that add up to one.
        let b = match random.below(4) {
            0 => a.clone(),
            1 => a.iter().rev().map(|hit| !*hit).collect(),
            _ => random.hits(sizes[1]),
        };
        let found = Difference::of_shares(&share_of(&a).unwrap(), &share_of(&b).unwrap());
        let found = json!({
            "difference": found.value, "low": found.low, "high": found.high, "t": number(found.t),
            "detectable": found.detectable, "too_few": found.too_few,
        });
        (json!({"ask": "share difference", "a": bits(&a), "b": bits(&b)}), found)
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("differences_of_shares_are_those_of_the_reference", cases) else { return };
    assert!(how_many(&found, |answer| answer["too_few"] == true) > 30);
    assert!(how_many(&found, |answer| answer["too_few"] == false) > 30);
    assert!(how_many(&found, |answer| answer["t"].as_f64() > Some(1.0)) > 30);
}

#[test]
fn differences_of_percentiles_are_those_of_the_reference() {
    let mut random = Random(4);
    let case = |random: &mut Random| {
        let sizes = [random.size(5.0, 1500.0), random.size(5.0, 1500.0)];
        let a = random.values(sizes[0]);
        let times = 1.0 + f64::from(u8::from(random.chance(0.5))) * random.unit();
        let b = if random.chance(0.2) { a.clone() } else { random.values(sizes[1]) };
        let b: Vec<f64> = b.iter().map(|value| value * times).collect();
        let percent = [50, 90, 95, 99][random.below(4) as usize];
        let of = |values: &[f64]| Percentile::of(values, &[percent])[0].measured().unwrap();
        let found = Difference::of_percentiles(&of(&a), &of(&b));
        let found = json!({
            "difference": found.value, "low": found.low, "high": found.high, "t": number(found.t),
            "detectable": found.detectable, "too_few": found.too_few,
        });
        (json!({"ask": "percentile difference", "a": a, "b": b, "percent": percent}), found)
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("differences_of_percentiles_are_those_of_the_reference", cases) else {
        return;
    };
    assert!(how_many(&found, |answer| answer["too_few"] == true) > 30);
    assert!(how_many(&found, |answer| answer["t"].as_f64() > Some(1.0)) > 30);
    assert!(how_many(&found, |answer| answer["difference"] == 0.0) > 10);
}

#[test]
fn limits_are_judged_as_by_the_reference() {
    let mut random = Random(5);
    let case = |random: &mut Random| {
        let value = random.unit();
        let mut end = |value: f64| random.chance(0.8).then_some(value);
        let (low, high) = (end(value * 0.9), end(value * 1.2));
        let bound = [value * 0.9, value * 1.2, value * (0.5 + random.unit())][random.below(3) as usize];
        let (at, limit) = match random.below(2) {
            0 => ("least", Limit::AtLeast(bound)),
            _ => ("most", Limit::AtMost(bound)),
        };
        let asked = json!({"ask": "limit", "low": low, "high": high, "at": at, "bound": bound});
        (asked, json!(limit.judge(low, high).as_str()))
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("limits_are_judged_as_by_the_reference", cases) else { return };
    for word in ["holds", "broken", "undecided"] {
        assert!(how_many(&found, |answer| answer == word) > 20, "{word}");
    }
}

#[test]
fn families_are_judged_as_by_the_reference() {
    let mut random = Random(6);
    let one = |random: &mut Random| {
        let t = match random.below(4) {
            0 => 1.0 + 2.0 * random.unit(),
            1 => 30.0 * random.unit().powi(4),
            2 => [0.0, 1.0, f64::INFINITY][random.below(3) as usize],
            _ => random.unit(),
        };
        Difference {
            value: random.unit() - 0.5,
            low: None,
            high: None,
            t,
            detectable: None,
            too_few: random.chance(0.1),
        }
    };
    let case = |random: &mut Random| {
        let figures = random.size(1.0, 60.0);
        let family: Vec<Difference> = (0..figures).map(|_| one(random)).collect();
        let asked: Vec<Value> = family
            .iter()
            .map(|figure| {
                json!({"difference": figure.value, "t": number(figure.t), "too_few": figure.too_few})
            })
            .collect();
        let p: Vec<f64> = family.iter().map(p_value).collect();
        let verdicts: Vec<&str> = judge_together(&family).iter().map(|verdict| verdict.as_str()).collect();
        (json!({"ask": "family", "figures": asked}), json!({"p": p, "verdicts": verdicts}))
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("families_are_judged_as_by_the_reference", cases) else { return };
    let said = |word: &str| {
        how_many(&found, |answer| answer["verdicts"].as_array().is_some_and(|all| all.contains(&json!(word))))
    };
    for word in ["higher", "lower", "maybe higher", "maybe lower", "not shown", "too few"] {
        assert!(said(word) > 20, "{word}");
    }
}

/// A row: the kind of its miss if it missed, and its accounts.
type Row = (Option<usize>, Vec<Account>);

/// What makes requests of a case miss.
struct Causes {
    engines: u64,
    usual: f64,
    in_burst: f64,
    /// Of some engines, how often they make a request miss besides.
    bad: Vec<f64>,
    /// How often a client prefix goes with its engine.
    tied: f64,
}

impl Causes {
    /// Rows with an engine, sometimes two; a client prefix that may go with the engine; a prompt
    /// band that may be null; and whether the row was retried, which tends to miss.
    fn rows(&self, random: &mut Random, rows: u64) -> Vec<Row> {
        random.bursts(rows).iter().map(|burst| self.row(random, *burst)).collect()
    }

    fn row(&self, random: &mut Random, burst: bool) -> Row {
        let account = |attribute: u32, value: u64| Account { attribute, value: value as u32 };
        let engine = random.below(self.engines).min(random.below(self.engines + 1));
        let mut accounts = vec![account(0, engine)];
        if random.chance(0.1) {
            accounts.push(account(0, random.below(self.engines)));
        }
        let prefix = if random.chance(self.tied) { engine } else { random.below(self.engines) };
        accounts.push(account(1, prefix));
        if random.chance(0.9) {
            accounts.push(account(2, random.below(3)));
        }
        let bad = self.bad[engine as usize];
        let missed = random.chance(if burst { self.in_burst } else { self.usual }) || random.chance(bad);
        if missed && random.chance(0.3) {
            accounts.push(account(3, 1));
        } else if random.chance(0.8) {
            accounts.push(account(3, 0));
        }
        // As the row is met: in no order, perhaps twice.
        if random.chance(0.3) {
            accounts.reverse();
            accounts.push(accounts[0]);
        }
        (missed.then(|| (random.below(3) + 2 * u64::from(bad > 0.0)) as usize), accounts)
    }
}

fn windows(random: &mut Random) -> [Vec<Row>; 2] {
    let engines = 2 + random.below(5);
    let usual = 0.15 * random.unit();
    let in_burst = if random.chance(0.7) { usual } else { random.unit() };
    let tied = [0.0, 0.8, 1.0][random.below(3) as usize];
    let good = vec![0.0; engines as usize];
    let bad = (0..engines).map(|_| if random.chance(0.5) { 0.8 * random.unit() } else { 0.0 }).collect();
    let sizes = [random.size(20.0, 1200.0), random.size(5.0, 1200.0)];
    let mut causes = Causes { engines, usual, in_burst, bad, tied };
    let window = causes.rows(random, sizes[0]);
    causes.bad = good;
    [window, causes.rows(random, sizes[1])]
}

/// As the reference has it.
fn shown(found: &Attribution, kinds_met: &[bool]) -> Value {
    let account = |account: &Account| json!([account.attribute, account.value]);
    let named = found.named.iter().map(|named| {
        json!({
            "account": account(&named.account), "requests": named.requests, "misses": named.misses,
            "baseline_requests": named.baseline_requests, "baseline_misses": named.baseline_misses,
            "own": named.own, "beyond": named.beyond, "sd": named.sd,
            "also": named.also.iter().map(account).collect::<Vec<_>>(),
            "tied": named.tied.iter().map(account).collect::<Vec<_>>(),
        })
    });
    let kinds = found.kinds.iter().enumerate().filter(|(kind, _)| kinds_met[*kind]);
    let kinds: serde_json::Map<String, Value> =
        kinds.map(|(kind, extra)| (kind.to_string(), json!(extra))).collect();
    json!({
        "extra": found.extra, "low": found.low, "high": found.high, "z": number(found.z),
        "misses": found.misses, "expected": found.expected, "kinds": kinds,
        "named": named.collect::<Vec<_>>(), "rest": found.rest, "mix": found.mix,
        "stretch": {
            "first_row": found.stretch.first_row, "end_row": found.stretch.end_row,
            "extra": found.stretch.extra,
        },
    })
}

#[test]
fn extra_misses_are_explained_as_by_the_reference() {
    let mut random = Random(7);
    let case = |random: &mut Random| {
        let rows = windows(random);
        let mut profiles = Profiles::new();
        let mut kinds_met = vec![false; 8];
        let [window, baseline] = [0, 1].map(|side| {
            let mut window = Window::new();
            for (missed, accounts) in &rows[side] {
                window.push(profiles.of(accounts), *missed);
                missed.iter().for_each(|kind| kinds_met[*kind] = true);
            }
            window
        });
        let found = explain(&profiles, &window, &baseline).expect("both have rows");
        let parts = found.named.iter().map(|named| named.own).sum::<f64>() + found.rest + found.mix;
        assert!((parts - found.extra).abs() < NEAR, "{found:?}");
        assert!((found.kinds.iter().sum::<f64>() - found.extra).abs() < NEAR, "{found:?}");
        let asked = rows.map(|rows| {
            let pairs = |accounts: &[Account]| -> Vec<_> {
                accounts.iter().map(|account| (account.attribute, account.value)).collect()
            };
            rows.iter().map(|(missed, accounts)| json!([missed, pairs(accounts)])).collect::<Vec<_>>()
        });
        (json!({"ask": "explain", "window": asked[0], "baseline": asked[1]}), shown(&found, &kinds_met))
    };
    let cases = (0..CASES).map(|_| case(&mut random)).collect();
    let Some(found) = both_agree("extra_misses_are_explained_as_by_the_reference", cases) else { return };
    let named = |answer: &Value| answer["named"].as_array().map_or(0, Vec::len);
    let some = |answer: &Value, of: &str| {
        answer["named"].as_array().is_some_and(|all| all.iter().any(|one| one[of] != json!([])))
    };
    let (one, two) = (how_many(&found, |a| named(a) > 0), how_many(&found, |a| named(a) > 1));
    let (also, tied) = (how_many(&found, |a| some(a, "also")), how_many(&found, |a| some(a, "tied")));
    assert!(one > 40 && two > 15 && also > 10 && tied > 5, "{one} {two} {also} {tied}");
    assert!(how_many(&found, |answer| answer["z"].as_f64() < Some(1.96)) > 30);
}

#[test]
fn a_percentile_of_a_percentile_set_is_the_one_alone() {
    let mut random = Random(8);
    for _ in 0..CASES {
        let rows = random.size(1.0, 3000.0);
        let values = random.values(rows);
        let together = Percentile::of(&values, &[99, 50, 95, 90]);
        assert_eq!(Percentile::of_many(values.iter().copied(), &[99, 50, 95, 90]), together);
        for found in together {
            assert_eq!(Percentile::of(&values, &[found.percent]), [found]);
        }
        let ends: Option<Measured> = Percentile::of(&values, &[50])[0].measured();
        assert!(ends.is_some_and(|p50| p50.low.is_none_or(|low| low <= p50.value)));
    }
}
