//! The sections of the page, in their order.

pub(super) mod engines;
pub(super) mod fleet;
pub(super) mod latency;
pub(super) mod load;
pub(super) mod losses;
pub(super) mod provenance;
pub(super) mod read;
pub(super) mod router;
pub(super) mod time;
pub(super) mod verdict;
pub(super) mod worst;

use super::plot::Tone;

/// The colour of a kind of miss or terminal.
pub(super) fn tone(kind: &str) -> Tone {
    match kind {
        "completed" | "met" => Tone::Ok,
        "ttft+tpot" => Tone::Slow,
        "tpot" => Tone::Slow2,
        "ttft" => Tone::Slow3,
        "refused" => Tone::Away,
        "rejected" => Tone::Away2,
        "expired" => Tone::Away3,
        "failed" => Tone::Bad,
        "cancelled" => Tone::Off,
        _ => Tone::Off2,
    }
}

/// Flags without the folders of what they name.
pub(super) fn without_paths(flags: &str) -> String {
    let name = |word: &str| match word.rsplit_once('/') {
        Some((_, name)) if !word.starts_with("--") => name.to_owned(),
        _ => word.to_owned(),
    };
    flags.split(' ').map(name).collect::<Vec<_>>().join(" ")
}
