//! What ingest stores, and what it says.
