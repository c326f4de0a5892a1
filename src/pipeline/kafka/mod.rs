//! What both ends of the worker share: how clients are made ([`client`]) and what topics must be like
//! ([`topics`]).

pub mod client;
pub mod polled;
pub mod resume;
pub mod topics;
