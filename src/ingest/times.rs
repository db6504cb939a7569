//! By when a file's content had been written: what was read of it is no younger than the file says.

use std::fs::File;
use std::time::{SystemTime, UNIX_EPOCH};

/// The kernel takes the time of a write from a clock that ticks a hundred times a second, or oftener.
const COARSE_CLOCK_S: f64 = 0.02;

/// What a time without a fraction may have lost: tar keeps whole seconds.
const WHOLE_SECOND_S: f64 = 1.0;

/// The Unix second by which everything had been written that was read of a file until now; of standard input
/// that is known by the clock, and so it is of a file from the future.
pub(super) fn written_by_s(file: Option<&File>) -> Option<f64> {
    let modified = file.and_then(|file| file.metadata().and_then(|metadata| metadata.modified()).ok());
    bound(modified, SystemTime::now())
}

fn bound(modified: Option<SystemTime>, now: SystemTime) -> Option<f64> {
    let time = modified.map_or(now, |modified| modified.min(now));
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    let lost_s = if since.subsec_nanos() == 0 { WHOLE_SECOND_S } else { 0.0 };
    Some(since.as_secs_f64() + COARSE_CLOCK_S + lost_s)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_is_as_old_as_it_says_unless_it_is_from_the_future() {
        let at = |s: f64| UNIX_EPOCH + Duration::from_secs_f64(s);
        let now = at(1000.5);
        assert_eq!(bound(Some(at(900.25)), now), Some(900.25 + 0.02));
        assert_eq!(bound(Some(at(900.0)), now), Some(901.02));
        assert_eq!(bound(Some(at(1000.75)), now), Some(1000.52));
        assert_eq!(bound(None, now), Some(1000.52));
        assert_eq!(bound(Some(UNIX_EPOCH - Duration::from_secs(5)), now), None, "before 1970");
    }
}
