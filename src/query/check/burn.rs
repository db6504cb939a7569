//! How fast the misses that a target allows are used up, in several windows at once.

use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::Connection;

use super::judge::Judge;
use super::{Burn, Found, LimitFinding, Of, Terms};
use crate::query::figures;
use crate::query::ordered::{self, Scope};
use crate::statistics::Measured;
use crate::text::short;

/// How fast the misses that a target allows were used up in one window.
#[derive(Debug, Clone, Copy)]
struct Burnt {
    requests: u64,
    scored: u64,
    rate: Measured,
}

/// Broken where the misses are used up too fast in every window at once.
pub(super) fn burn_findings(
    connection: &mut Connection,
    scopes: &[Scope],
    burn: &Burn,
    asked: &Terms,
    age_of: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<LimitFinding>> {
    // Of a target of 0.9 a tenth, and not a little less.
    let allowed = ((1.0 - burn.target) * 1e12).round() / 1e12;
    let mut windows: Vec<BTreeMap<String, Burnt>> = Vec::new();
    for (_, selection) in &burn.windows {
        selection.install(connection)?;
        let mut by_scope = BTreeMap::new();
        for scope in ordered::scopes(connection)? {
            let targets = asked.targets.as_ref();
            let gathered = figures::gather_narrow(connection, &scope, targets, asked.policy, [false; 6])?;
            let Some(share) = gathered.attainment() else { continue };
            let missed = share.of_the_rest();
            let rate = Measured {
                value: missed.value / allowed,
                low: Some(missed.low / allowed),
                high: Some(missed.high / allowed),
            };
            let burnt = Burnt { requests: gathered.requests(), scored: share.rows, rate };
            by_scope.insert(scope.name, burnt);
        }
        windows.push(by_scope);
    }
    let names: Vec<&str> = burn.windows.iter().map(|(name, _)| name.as_str()).collect();
    let limit = burn.limit_name();
    let findings = scopes.iter().map(|scope| {
        let found: Vec<Option<Burnt>> =
            windows.iter().map(|window| window.get(&scope.name).copied()).collect();
        let what = names.iter().zip(&found).map(|(name, found)| match found {
            Some(Burnt { scored, rate, .. }) => {
                format!("{name}: burn {}, of {scored} scored", short(rate.value))
            }
            None => format!("{name}: no data"),
        });
        let mut words = what.collect::<Vec<_>>().join("; ");
        if names.len() > 1 {
            words.push_str("; the least of them decides");
        }
        words.push_str(&format!("; misses of {}", asked.targets_in_words()));
        // The least of them decides: only when it is above the limit are all.
        let known = || found.iter().flatten();
        let known_by_name = names.iter().zip(&found).filter_map(|(name, found)| Some((*name, (*found)?)));
        let (window, least) =
            known_by_name.min_by(|(_, one), (_, other)| one.rate.value.total_cmp(&other.rate.value)).unzip();
        let is_whole = found.iter().all(Option::is_some);
        let least = least.filter(|least| is_whole || least.rate.value <= burn.factor);
        let low = known().filter_map(|burnt| burnt.rate.low).reduce(f64::min);
        let high = known().filter_map(|burnt| burnt.rate.high).reduce(f64::min);
        let (requests, n) = least.map_or((0, 0), |least| (least.requests, least.scored));
        let measured = least.map(|least| Measured { value: least.rate.value, low, high });
        let is_confident = asked.is_confident;
        let judge = Judge { scope, requests, age_s: age_of(&scope.name), is_confident, asked };
        let window = least.and(window).map(str::to_owned);
        let of = Of { window, targets: asked.targets_as_data(), ..Of::default() };
        judge.finding(limit.clone(), burn.bound(), Found { measured, n, words, of })
    });
    Ok(findings.collect())
}
