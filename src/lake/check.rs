//! Whether a lake is what its manifest says, and holds what the database has.
