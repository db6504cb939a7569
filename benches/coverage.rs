//! How often the intervals of `narwhal_jq::statistics` hold the truth, on processes whose truth is known.
//!
//! `cargo bench --bench coverage` prints the tables of docs/statistics.md, in some minutes. All
//! numbers come from one seed. The plain methods, which take requests as independent, stand in
//! brackets.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use narwhal_jq::statistics::{
    Account, Attribution, Batches, Design, Difference, Measured, Percentile, Profiles, Share, Verdict,
    Window, explain, judge_together,
};

const PERCENTS: [u32; 4] = [50, 90, 95, 99];
/// How much longer requests take in overload.
const SLOWER: f64 = 4.0;
/// The part of the time that an engine is away, and the engines there are.
const AWAY: f64 = 0.125;
const ENGINES: f64 = 8.0;
/// What a request loses to an engine that is away.
const TIMEOUT_S: f64 = 10.0;
/// Windows of a process, and as many pairs of windows.
const WINDOWS: usize = 1000;

fn main() {
    coverage();
    power();
    equal_journals();
    explained();
}

// ------------------------------------------------------------------ chance

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, neither of them.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

// ------------------------------------------------------------------ processes

/// Latencies in seconds, request by request, each window from an equilibrium of its own.
#[derive(Clone, Copy)]
enum Process {
    Independent,
    /// The logarithm keeps this part of its deviation from one request to the next.
    Autoregressive(f64),
    /// Quiet and overload take turns, so many times a window. Overload meets this part of the requests.
    Overload(f64, f64),
    /// The same, in turns that are more alike: each is as long as four exponential ones in a row.
    SteadyOverload(f64, f64),
    /// One engine of eight fails and comes back, so many times a window; it is away an eighth of them.
    Outages(f64),
    /// One server, random arrivals and services, at this load.
    Queue(f64),
}

impl Process {
    fn name(self) -> String {
        match self {
            Self::Independent => "independent".to_owned(),
            Self::Autoregressive(kept) => format!("autoregressive {kept}"),
            Self::Overload(cycles, part) => format!("overload of {part} in {cycles} cycles"),
            Self::SteadyOverload(cycles, part) => format!("overload of {part} in {cycles} steady cycles"),
            Self::Outages(cycles) => format!("outages in {cycles} cycles"),
            Self::Queue(load) => format!("queue at load {load}"),
        }
    }

    /// The part of all requests that take at most so long.
    fn part_within(self, latency_s: f64) -> f64 {
        let exponential = |mean: f64, latency: f64| 1.0 - (-latency.max(0.0) / mean).exp();
        match self {
            Self::Independent => exponential(1.0, latency_s),
            Self::Autoregressive(_) => libm::erfc(-latency_s.ln() / std::f64::consts::SQRT_2) / 2.0,
            Self::Overload(_, part) | Self::SteadyOverload(_, part) => {
                (1.0 - part) * exponential(1.0, latency_s) + part * exponential(SLOWER, latency_s)
            }
            Self::Outages(_) => {
                let hit = AWAY / ENGINES;
                (1.0 - hit) * exponential(1.0, latency_s) + hit * exponential(1.0, latency_s - TIMEOUT_S)
            }
            Self::Queue(load) => exponential(1.0 / (1.0 - load), latency_s),
        }
    }

    /// The true percentile.
    fn percentile_s(self, percent: u32) -> f64 {
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            let is_above = self.part_within(middle) >= f64::from(percent) / 100.0;
            *if is_above { &mut high } else { &mut low } = middle;
        }
        high
    }

    /// A window of consecutive requests.
    fn latencies_s(self, random: &mut Random, rows: usize) -> Vec<f64> {
        match self {
            Self::Independent => (0..rows).map(|_| random.exponential(1.0)).collect(),
            Self::Autoregressive(kept) => {
                let new = (1.0 - kept * kept).sqrt();
                let mut log = random.normal();
                let mut next = || {
                    log = kept * log + new * random.normal();
                    log.exp()
                };
                (0..rows).map(|_| next()).collect()
            }
            Self::Overload(cycles, part) | Self::SteadyOverload(cycles, part) => {
                let states = if matches!(self, Self::Overload(..)) {
                    states(random, rows, rows as f64 / cycles, part)
                } else {
                    steady_states(random, rows, rows as f64 / cycles, part)
                };
                let times = |bad: bool| if bad { SLOWER } else { 1.0 };
                states.iter().map(|bad| random.exponential(times(*bad))).collect()
            }
            Self::Outages(cycles) => {
                let states = states(random, rows, rows as f64 / cycles, AWAY);
                let hit = |random: &mut Random, away: bool| away && random.chance(1.0 / ENGINES);
                states
                    .iter()
                    .map(|away| random.exponential(1.0) + if hit(random, *away) { TIMEOUT_S } else { 0.0 })
                    .collect()
            }
            Self::Queue(load) => {
                // Time in the system is exponential in equilibrium; then Lindley's recursion.
                let mut sojourn = random.exponential(1.0 / (1.0 - load));
                let mut next = || {
                    let wait = (sojourn - random.exponential(1.0 / load)).max(0.0);
                    sojourn = wait + random.exponential(1.0);
                    sojourn
                };
                (0..rows).map(|_| next()).collect()
            }
        }
    }
}

/// For each request whether times are bad: this part of a cycle, on average.
fn states(random: &mut Random, rows: usize, cycle_rows: f64, part: f64) -> Vec<bool> {
    let mut bad = random.chance(part);
    let mut left = 0.0;
    let mut first = true;
    let mut states = Vec::with_capacity(rows);
    while states.len() < rows {
        if left < 1.0 {
            // What is left of a time that has begun is as long as a whole one: none has a memory.
            bad ^= !std::mem::take(&mut first);
            left += random.exponential(cycle_rows * if bad { part } else { 1.0 - part });
        } else {
            states.push(bad);
            left -= 1.0;
        }
    }
    states
}

/// As [`states`], in turns with half the spread. The window begins some cycles after the first of them.
fn steady_states(random: &mut Random, rows: usize, cycle_rows: f64, part: f64) -> Vec<bool> {
    let mut at = -cycle_rows * (2.0 + random.unit());
    let mut bad = true;
    let mut states = Vec::with_capacity(rows);
    while states.len() < rows {
        bad ^= true;
        let mean = cycle_rows * if bad { part } else { 1.0 - part };
        at += (0..4).map(|_| random.exponential(mean / 4.0)).sum::<f64>();
        states.resize((at.max(0.0) as usize).clamp(states.len(), rows), bad);
    }
    states
}

// ------------------------------------------------------------------ coverage and false verdicts

/// What a window tells, by our methods and by the plain ones.
struct Told {
    share: [Share; 2],
    percentiles: Vec<[Measured; 2]>,
}

impl Told {
    fn of(latencies_s: &[f64], target_s: f64) -> Self {
        let batches = Batches::of(latencies_s, |latency| *latency <= target_s);
        let plain = Share::with_design(batches.hits(), batches.rows(), Design::INDEPENDENT).unwrap();
        let ours = Percentile::of(latencies_s, &PERCENTS);
        let mut sorted = latencies_s.to_vec();
        sorted.sort_by(f64::total_cmp);
        let percentiles = ours.iter().map(|ours| [ours.measured().unwrap(), plain_percentile(&sorted, ours)]);
        Self { share: [Share::of(&batches).unwrap(), plain], percentiles: percentiles.collect() }
    }
}

/// The ends from the normal distribution of ranks, for independent values.
fn plain_percentile(sorted: &[f64], ours: &Percentile) -> Measured {
    let (n, q) = (sorted.len() as f64, f64::from(ours.percent) / 100.0);
    let half = 1.96 * (n * q * (1.0 - q)).sqrt();
    let end = |rank: f64| (rank >= 1.0 && rank <= n).then(|| sorted[rank as usize - 1]);
    Measured { value: ours.value, low: end((n * q - half).floor()), high: end((n * q + half).ceil()) }
}

fn holds(interval: &Measured, truth: f64) -> bool {
    interval.low.is_none_or(|low| low <= truth) && interval.high.is_none_or(|high| truth <= high)
}

fn is_verdict(difference: &Difference) -> bool {
    !difference.too_few && difference.t > 1.0
}

/// Ours, and the plain one in brackets, in per cent.
fn beside(ours: usize, plain: usize, of: usize) -> String {
    let percent = |count: usize| 100.0 * count as f64 / of as f64;
    format!("{:.1} ({:.1})", percent(ours), percent(plain))
}

fn coverage() {
    let cases = [
        (Process::Independent, 300),
        (Process::Independent, 10_000),
        (Process::Autoregressive(0.9), 10_000),
        (Process::Autoregressive(0.99), 10_000),
        (Process::Overload(32.0, 0.25), 10_000),
        (Process::Overload(8.0, 0.25), 10_000),
        (Process::Overload(8.0, 0.25), 1000),
        (Process::Overload(8.0, 0.125), 10_000),
        (Process::Overload(2.8, 0.25), 10_000),
        (Process::Overload(0.7, 0.25), 10_000),
        (Process::Outages(16.0), 10_000),
        (Process::Outages(8.0), 10_000),
        (Process::Queue(0.8), 1000),
        (Process::Queue(0.8), 10_000),
        (Process::Queue(0.95), 100_000),
        (Process::SteadyOverload(8.0, 0.125), 10_000),
    ];
    println!(
        "Coverage of the truth in %, and false verdicts on two equal windows in %, {WINDOWS} windows each:\n"
    );
    println!(
        "| process | rows | share | p50 | p90 | p95 | p99 | p99 without upper end | false: share | false: p95 |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (number, (process, rows)) in cases.into_iter().enumerate() {
        coverage_of(process, rows, &mut Random(number as u64));
    }
    println!();
}

fn coverage_of(process: Process, rows: usize, random: &mut Random) {
    // A target that nine of ten requests meet.
    let (target_s, truths) =
        (process.percentile_s(90), PERCENTS.map(|percent| process.percentile_s(percent)));
    let window = |random: &mut Random| Told::of(&process.latencies_s(random, rows), target_s);
    let mut share = [0; 2];
    let mut percentiles = [[0; 2]; 4];
    let mut open = 0;
    let mut false_shares = [0; 2];
    let mut false_percentiles = [0; 2];
    for _ in 0..WINDOWS {
        let (a, b) = (window(random), window(random));
        open += usize::from(a.percentiles[3][0].high.is_none());
        for method in 0..2 {
            share[method] += usize::from(holds(&a.share[method].measured(), 0.9));
            for (at, truth) in truths.iter().enumerate() {
                percentiles[at][method] += usize::from(holds(&a.percentiles[at][method], *truth));
            }
            let shares = Difference::of_shares(&a.share[method], &b.share[method]);
            false_shares[method] += usize::from(is_verdict(&shares));
            let p95 = Difference::of_percentiles(&a.percentiles[2][method], &b.percentiles[2][method]);
            false_percentiles[method] += usize::from(is_verdict(&p95));
        }
    }
    let [p50, p90, p95, p99] = percentiles.map(|[ours, plain]| beside(ours, plain, WINDOWS));
    println!(
        "| {} | {rows} | {} | {p50} | {p90} | {p95} | {p99} | {:.1} | {} | {} |",
        process.name(),
        beside(share[0], share[1], WINDOWS),
        100.0 * open as f64 / WINDOWS as f64,
        beside(false_shares[0], false_shares[1], WINDOWS),
        beside(false_percentiles[0], false_percentiles[1], WINDOWS),
    );
}

// ------------------------------------------------------------------ power

/// How often a true difference of the size `detectable` is found.
fn power() {
    println!("A true difference of the mean `detectable` of equal windows, found in %:\n");
    println!("| process | rows | share | p95 |");
    println!("|---|---|---|---|");
    let cases =
        [Process::Independent, Process::Overload(16.0, 0.25), Process::Outages(16.0), Process::Queue(0.8)];
    for (number, process) in cases.into_iter().enumerate() {
        let rows = 10_000;
        let random = &mut Random(100 + number as u64);
        let target_s = process.percentile_s(90);
        let window = |random: &mut Random| process.latencies_s(random, rows);
        let shares = |a: &[f64], b: &[f64]| Difference::of_shares(&share(a, target_s), &share(b, target_s));
        let p95s = |a: &[f64], b: &[f64]| Difference::of_percentiles(&p95(a), &p95(b));

        let (mut of_shares, mut of_p95s) = (Vec::new(), Vec::new());
        for _ in 0..WINDOWS {
            let (a, b) = (window(random), window(random));
            of_shares.extend(shares(&a, &b).detectable);
            of_p95s.extend(p95s(&a, &b).detectable);
        }
        let detectable = [of_shares, of_p95s].map(|all| all.iter().sum::<f64>() / all.len() as f64);
        let mut found = [0; 2];
        for _ in 0..WINDOWS {
            let (a, b) = (window(random), window(random));
            // Of those that meet the target, as many more miss it as make the difference.
            let fails = detectable[0] / 0.9;
            let missing = |latency: &f64| if random.chance(fails) { f64::INFINITY } else { *latency };
            let worse: Vec<f64> = b.iter().map(missing).collect();
            let slower: Vec<f64> = b.iter().map(|latency| latency + detectable[1]).collect();
            found[0] += usize::from(is_verdict(&shares(&a, &worse)));
            found[1] += usize::from(is_verdict(&p95s(&a, &slower)));
        }
        let percent = found.map(|count| 100.0 * count as f64 / WINDOWS as f64);
        println!("| {} | {rows} | {:.1} | {:.1} |", process.name(), percent[0], percent[1]);
    }
    println!();
}

fn share(latencies_s: &[f64], target_s: f64) -> Share {
    Share::of(&Batches::of(latencies_s, |latency| *latency <= target_s)).unwrap()
}

fn p95(latencies_s: &[f64]) -> Measured {
    Percentile::of(latencies_s, &[95])[0].measured().unwrap()
}

// ------------------------------------------------------------------ many figures

/// Two equal journals of 10,000 requests: ten shares, and four percentiles of six metrics.
fn equal_journals() {
    let mut random = Random(200);
    let pairs = 300;
    // Figures flagged, and pairs with any of them, alone and together, by each method.
    let mut figures = [[0; 2]; 2];
    let mut any = [[0; 2]; 2];
    for _ in 0..pairs {
        let [a, b] = [journal(&mut random), journal(&mut random)];
        let told =
            a.iter().zip(&b).map(|((a, target_s), (b, _))| [a, b].map(|metric| Told::of(metric, *target_s)));
        let told: Vec<[Told; 2]> = told.collect();
        for method in 0..2 {
            let mut family: Vec<Difference> = Vec::new();
            for (at, [a, b]) in told.iter().enumerate() {
                family.push(Difference::of_shares(&a.share[method], &b.share[method]));
                for (a, b) in a.percentiles.iter().zip(&b.percentiles).filter(|_| at < METRICS) {
                    family.push(Difference::of_percentiles(&a[method], &b[method]));
                }
            }
            let alone = family.iter().filter(|figure| is_verdict(figure)).count();
            let verdicts = judge_together(&family);
            let passes = |verdict: &&Verdict| matches!(verdict, Verdict::Higher | Verdict::Lower);
            let together = verdicts.iter().filter(passes).count();
            for (way, flagged) in [alone, together].into_iter().enumerate() {
                figures[method][way] += flagged;
                any[method][way] += usize::from(flagged > 0);
            }
        }
    }
    println!("Of 34 figures of two equal journals of 10,000 requests, mean of {pairs} pairs:\n");
    println!("| | flagged alone | pairs with any | flagged together | pairs with any |");
    println!("|---|---|---|---|---|");
    for (method, name) in ["ours", "plain"].into_iter().enumerate() {
        let mean = |way: usize| figures[method][way] as f64 / f64::from(pairs);
        let part = |way: usize| 100.0 * any[method][way] as f64 / f64::from(pairs);
        println!("| {name} | {:.2} | {:.1} % | {:.2} | {:.1} % |", mean(0), part(0), mean(1), part(1));
    }
    println!();
}

/// The first ones have percentiles; the others are outcomes, and only their shares count.
const METRICS: usize = 6;

/// Six metrics with their targets: of a queue in part, of slow drifts, and of their own. Then four rare outcomes,
/// in bursts and not.
fn journal(random: &mut Random) -> Vec<(Vec<f64>, f64)> {
    let rows = 10_000;
    let queue = Process::Queue(0.8).latencies_s(random, rows);
    let mut in_part = |part: f64| {
        queue.iter().map(|time| part * time + random.exponential(5.0 * (1.0 - part))).collect::<Vec<f64>>()
    };
    let [waits, responses, handoffs] = [1.0, 0.6, 0.1].map(&mut in_part);
    let mut journal = vec![(waits, 10.0), (responses, 10.0), (handoffs, 10.0)];
    for (process, target_s) in [
        (Process::Autoregressive(0.9), 4.0),
        (Process::Independent, 2.0),
        (Process::Independent, 3.0),
        (Process::Outages(16.0), TIMEOUT_S),
        (Process::Overload(16.0, 0.25), 16.0),
        (Process::Independent, 5.0),
        (Process::Independent, 7.0),
    ] {
        journal.push((process.latencies_s(random, rows), target_s));
    }
    journal
}

// ------------------------------------------------------------------ explain

const ENGINE: u32 = 0;
const SLOW: Account = Account { attribute: ENGINE, value: 3 };

/// How often a slow engine is named first, and anything is named when nothing is wrong.
fn explained() {
    let journals = 100;
    println!(
        "`explain`, 10,000 requests against 10,000, one engine of eight a second slower, {journals} pairs,\noverload of 0.25 in 16 cycles:\n"
    );
    println!(
        "| target, met by | something to explain | a slow engine is named first | nothing wrong, something named |"
    );
    println!("|---|---|---|---|");
    for (number, target_s) in [2.0, 3.0, 5.0].into_iter().enumerate() {
        let random = &mut Random(300 + number as u64);
        let (mut shown, mut first, mut anything) = (0, 0, 0);
        for _ in 0..journals {
            let found = explained_of(random, target_s, 1.0);
            shown += usize::from(found.z >= 1.96);
            first += usize::from(found.named.first().is_some_and(|named| named.account == SLOW));
            anything += usize::from(!explained_of(random, target_s, 0.0).named.is_empty());
        }
        let met = 100.0 * Process::Overload(16.0, 0.25).part_within(target_s);
        println!(
            "| {target_s} s, {met:.0} % | {shown} of {journals} | {first} of {shown} | {anything} of {journals} |"
        );
    }
}

fn explained_of(random: &mut Random, target_s: f64, slower_s: f64) -> Attribution {
    let mut profiles = Profiles::new();
    let mut window = |slower_s: f64| {
        let mut window = Window::new();
        for latency in Process::Overload(16.0, 0.25).latencies_s(random, 10_000) {
            // Two kinds of engine, bands of prompts, clients, whether it was retried and crossed.
            let bounds = [8, 8, 5, 12, 20, 3];
            let mut drawn = bounds.map(|bound| random.below(bound));
            drawn[4] = u32::from(drawn[4] == 0);
            let accounts =
                [0, 1, 2, 3, 4, 5].map(|attribute| Account { attribute, value: drawn[attribute as usize] });
            let latency = latency + if accounts[0] == SLOW { slower_s } else { 0.0 };
            window.push(profiles.of(&accounts), (latency > target_s).then_some(0));
        }
        window
    };
    let (bad, good) = (window(slower_s), window(0.0));
    explain(&profiles, &bad, &good).unwrap()
}
