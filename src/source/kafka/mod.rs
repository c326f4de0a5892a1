//! Pages from a topic ([`pages`]), and single partitions read from an offset to their end ([`partition`]).

mod leases;
pub mod pages;
pub mod partition;
pub mod session;
