//! Types and small tools that all crates of Leitong share.
//!
//! A page travels through the program as a [`record::LogRecord`]; [`proto`] holds the wire formats that
//! `proto/leitong/v1` defines. The other modules are hash maps for keys that are hashes already ([`hashed`]), bit
//! mixing ([`mix`]), variable-length integers ([`varint`]), seeded random numbers ([`random`]), limits ([`limits`]),
//! budgets for work on one page ([`work`]), errors of steps ([`mod@error`]), and text that is safe for terminals and markup
//! ([`terminal`], [`markup`]).

pub mod error;
pub mod hashed;
pub mod limits;
pub mod markup;
pub mod mix;
mod named;
pub mod proto;
pub mod random;
pub mod record;
pub mod terminal;
pub mod varint;
pub mod work;
