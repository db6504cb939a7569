//! Who counts for the latency targets, and who meets them (docs/semantics.md, "SLO attainment"): the rules of
//! `attainment` and `attainment-misses`, for requests that are looked at one by one.

use crate::store::slos::Slo;

/// Who is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// Who completed or was turned away, and others that were not measured.
    #[default]
    Journal,
    /// Everyone.
    Offers,
    /// As the router itself counts.
    Router,
}

impl Policy {
    /// The policy of that name, as the command line takes it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "journal" => Some(Self::Journal),
            "offers" => Some(Self::Offers),
            "router" => Some(Self::Router),
            _ => None,
        }
    }
}

/// What is looked at of a request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// How it ended.
    pub terminal: &'r str,
    /// Whether the length of its output is known.
    pub has_output: bool,
    /// Arrival to prefill done.
    pub ttft_s: Option<f64>,
    /// Per output token after the first.
    pub tpot_s: Option<f64>,
}

/// What a scored request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score<'r> {
    /// It met the targets.
    Met,
    /// It missed them so: the `miss` of `attainment-misses`.
    Missed(&'r str),
}

/// Holds a request against targets; none when it is not scored.
pub fn score<'r>(request: Request<'r>, targets: &Slo, policy: Policy) -> Option<Score<'r>> {
    let Request { terminal, has_output, ttft_s, tpot_s } = request;
    let is_scored = match policy {
        Policy::Offers => true,
        Policy::Router => !matches!(terminal, "cancelled" | "rejected" | "invalid"),
        Policy::Journal => {
            matches!(terminal, "completed" | "invalid" | "rejected" | "expired" | "failed")
                || !has_output
                || ttft_s.is_none()
        }
    };
    if !is_scored {
        return None;
    }
    if terminal != "completed" {
        return Some(Score::Missed(terminal));
    }
    if policy != Policy::Router && !has_output {
        return Some(Score::Missed("output_unmeasured"));
    }
    let Some(ttft_s) = ttft_s else { return Some(Score::Missed("ttft_unmeasured")) };
    let exceeds_tpot = tpot_s.is_some_and(|tpot_s| tpot_s > targets.tpot_s);
    Some(match (ttft_s > targets.ttft_s, exceeds_tpot) {
        (false, false) => Score::Met,
        (true, true) => Score::Missed("ttft+tpot"),
        (true, false) => Score::Missed("ttft"),
        (false, true) => Score::Missed("tpot"),
    })
}
