//! Damaged lines.
