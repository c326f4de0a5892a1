//! What the worker writes: the fingerprint log ([`log`]), and in one transaction verdicts, dead letters, the
//! changelog and the committed offset ([`outputs`], [`transaction`]).

pub mod dead_letter;
pub mod log;
pub mod outputs;
pub mod transaction;
