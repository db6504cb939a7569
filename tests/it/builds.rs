//! Which build wrote a run, on made-up journals. Expected values follow SEMANTICS, "Which build
//! wrote a run", by hand.
