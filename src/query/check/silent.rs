//! Routers that were known before and wrote nothing in the stretch that is judged: each limit is unjudged there.

use super::asked::{LimitFinding, LimitVerdict, Of};
use super::judge::{age_in_words, in_words};
use crate::selection::Silent;
use crate::statistics;
use crate::text::rounded;

/// What a limit comes to for each of them.
pub(super) fn findings<'a>(
    silent: &'a [Silent],
    limit: &'a str,
    bound: statistics::Limit,
    now_s: f64,
) -> impl Iterator<Item = LimitFinding> + use<'a> {
    let (at, side) = in_words(bound);
    silent.iter().map(move |Silent { scope, last_s }| {
        let age_s = (now_s - last_s).max(0.0);
        let words = format!(
            "{limit} unknown, {side} {} (silent: no row since then, and its newest one is {} old)",
            rounded(at),
            age_in_words(age_s)
        );
        LimitFinding {
            limit: limit.to_owned(),
            scope: scope.clone(),
            bound: at,
            measured: None,
            n: 0,
            age_s: Some(age_s),
            verdict: LimitVerdict::NoData,
            words,
            of: Of::default(),
            beyond: 0.0,
        }
    })
}
