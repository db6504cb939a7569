//! Whether bytes can be the text that a journal is: what is packed in an unknown way, encrypted or in another
//! encoding would be thousands of bad lines.
//!
//! Damage is no reason to read nothing: where a row stands among the first bytes, they are taken as they are.

use memchr::memmem;

/// So many first bytes tell.
pub(super) const LOOKED_AT: u64 = 4096;

/// Among so many, a row makes a journal of what does not look like one.
pub(super) const LOOKED_AT_FOR_A_ROW: u64 = 1 << 20;

/// Fewer bytes than these tell nothing.
const LEAST: usize = 32;

/// How UTF-16 begins, with a byte order mark or with the brace of a row.
const UTF_16: [&[u8]; 4] = [b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{"];

/// Why these first bytes of a file are no text of a journal.
pub(super) fn why_none(head: &[u8]) -> Option<String> {
    if UTF_16.iter().any(|mark| head.starts_with(mark)) {
        return Some(
            "it is in UTF-16, which is not read: give `iconv -f UTF-16 -t UTF-8 FILE` to `narwhal-jq ingest -`"
                .to_owned(),
        );
    }
    if !is_packed(head) {
        return None;
    }
    Some(match archive_within(head) {
        Some(at) => format!(
            "an archive begins within it, at byte {at}, after other bytes: give `tail -c +{} FILE` to \
             `narwhal-jq ingest -`",
            at + 1
        ),
        None => "its bytes are no text: it is packed in a way that is not known, encrypted or damaged; unpack it, \
                 and give that to `narwhal-jq ingest -`"
            .to_owned(),
    })
}

/// Why bytes of a line are rejected that are no text. `offset` is where they stand in the journal. Of what stands
/// among packed bytes, short pieces look like anything.
pub fn why_packed(bytes: &[u8], offset: u64) -> Option<String> {
    let bytes = &bytes[..bytes.len().min(LOOKED_AT as usize)];
    let is_rest = bytes.len() < LEAST && std::str::from_utf8(bytes).is_err();
    if !is_rest && !is_packed(bytes) {
        return None;
    }
    Some(match archive_within(bytes) {
        Some(at) => format!(
            "{PACKED}, an archive: `tail -c +{} FILE | narwhal-jq ingest -` reads it",
            offset + at as u64 + 1
        ),
        None => PACKED.to_owned(),
    })
}

/// Whether bytes are so few that they look like text by chance: among packed bytes they belong to those. A line that
/// begins as a row does is told of by itself.
pub fn may_stand_among_packed(bytes: &[u8]) -> bool {
    bytes.len() < LEAST && !bytes.trim_ascii_start().starts_with(b"{")
}

/// How the reason begins that [`why_packed`] gives.
pub const PACKED: &str = "packed bytes, no text";

/// Whether a reason is that of packed bytes.
pub fn is_of_packed_bytes(reason: &str) -> bool {
    reason.starts_with(PACKED)
}

/// Whether a row of a journal stands in these bytes, whole or not.
pub fn holds_row(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"\"narwhal.journal\"").any(|at| {
        let before = bytes[..at].trim_ascii_end();
        before.strip_suffix(b":").is_some_and(|key| key.trim_ascii_end().ends_with(b"\"schema\""))
    })
}

/// Whether so many bytes are none of a text that they are packed. Zero bytes, which a crash leaves, do not count.
fn is_packed(bytes: &[u8]) -> bool {
    let is_control = |byte: u8| {
        (byte < b' ' && !matches!(byte, 0 | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1b)) || byte == 0x7f
    };
    let odd: usize = bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().bytes().filter(|byte| is_control(*byte)).count() + chunk.invalid().len())
        .sum();
    bytes.len() >= LEAST && odd * 10 >= bytes.len()
}

/// Where an archive that is read begins, after other bytes.
fn archive_within(bytes: &[u8]) -> Option<usize> {
    let gzip = memmem::find_iter(bytes, b"\x1f\x8b\x08")
        .find(|at| bytes.get(at + 3).is_some_and(|flags| *flags < 0x20));
    let zstd = memmem::find(bytes, b"\x28\xb5\x2f\xfd");
    [gzip, zstd].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_packed_bytes() {
        let noise: Vec<u8> = (0..256_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(is_packed(&noise));
        for text in
            ["", "{\"schema\": 1}\n", "caf\u{e9} \u{1b}[1m \u{4e2d}\u{6587}\u{4e2d}\u{6587}\u{4e2d}\u{6587}"]
        {
            assert!(!is_packed(text.as_bytes()), "{text}");
        }
        assert!(!is_packed(b"caf\xe9 in the one encoding of the old days, and more of it"));
        assert!(!is_packed(&[0; 4096]));
    }

    #[test]
    fn rows_are_found_in_any_company() {
        for bytes in [
            &b"[\n  {\n    \"schema\" : \"narwhal.journal\", "[..],
            b"\xff\xff{\"schema\": \"narwhal.journal\"",
            b"{\"meta\":{\"schema\":\"narwhal.journal\"",
        ] {
            assert!(holds_row(bytes));
        }
        for bytes in [
            &b"narwhal.journal"[..],
            b"\"a\": \"narwhal.journal\"",
            b"\"\"schema\"\": \"\"narwhal.journal\"\"",
        ] {
            assert!(!holds_row(bytes));
        }
    }
}
