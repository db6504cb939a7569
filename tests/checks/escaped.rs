//! Hostile text as people and programs may read it, and numbers.

use narwhal_jq::text;

/// Checks the bytes as text, and the first eight as a number.
pub fn check(data: &[u8]) {
    let shown = text::from_bytes(data);
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(shown, text, "text is text");
    }
    let escaped = text::escaped(&shown);
    assert!(!escaped.chars().any(can_harm), "{escaped:?}");
    assert_eq!(
        escaped == shown,
        !shown.chars().any(can_harm),
        "what is harmless stays as it is, and only that"
    );
    assert_eq!(text::escaped(&escaped), escaped);

    let json = text::json_string(&shown);
    assert!(!json.chars().any(can_harm), "{json:?}");
    assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(&*shown), "{json}");

    let nested = serde_json::json!({ shown.clone(): [shown.clone(), 1.5, null, { "x": shown }] });
    for json in [nested.to_string(), serde_json::to_string_pretty(&nested).expect("it is JSON")] {
        let escaped = text::json_escaped(&json);
        assert!(!escaped.chars().any(|c| can_harm(c) && c != '\n'), "{escaped:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).ok().as_ref(), Some(&nested));
    }
    let _ = text::is_formula(&shown);

    if let Some((bits, _)) = data.split_first_chunk() {
        check_number(f64::from_le_bytes(*bits));
    }
}

fn check_number(real: f64) {
    if !real.is_finite() {
        return;
    }
    assert_eq!(text::full(real).parse(), Ok(real));
    for (shown, most) in
        [(text::rounded(real), 5.1e-7_f64.max(real.abs() * 5.1e-3)), (text::micros(real), 5.1e-7)]
    {
        let read: f64 = shown.parse().unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert!((read - real).abs() <= most, "{real} is shown as {shown}");
    }
}

/// Controls (C0, DEL, C1), what reorders text, and line separators: written down here once more.
fn can_harm(c: char) -> bool {
    matches!(u32::from(c), 0..=0x1F | 0x7F..=0x9F | 0x61C | 0x200E | 0x200F | 0x2028..=0x202E | 0x2066..=0x2069)
}
