//! Where words and names end in a text. Knows nothing of what they mean.

/// A host name has at most 253 bytes. The bound keeps hostile text from costing its square.
pub(super) const LONGEST_NAME: usize = 256;

/// Whether a character belongs to a word. A name stands as a whole token when no such character
/// is next to it.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The end of the word that `at` is in; `at` itself where no word is.
pub fn word_end(text: &str, at: usize) -> usize {
    run_end(text, at, is_word)
}

pub(super) fn is_name(c: char) -> bool {
    is_word(c) || c == '.'
}

/// The end of the characters from `at` on that belong together.
pub(super) fn run_end(text: &str, at: usize, belongs: impl Fn(char) -> bool) -> usize {
    let rest = &text[at..];
    at + rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

/// The end of a run of at most `most` bytes, at a character's end.
pub(super) fn bounded_end(text: &str, at: usize, most: usize, belongs: impl Fn(char) -> bool) -> usize {
    let mut to = text.len().min(at + most);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    run_end(&text[..to], at, belongs)
}
