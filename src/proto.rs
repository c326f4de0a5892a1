//! The wire formats of `proto/leitong/v1`, as prost generates them.

include!(concat!(env!("OUT_DIR"), "/leitong.v1.rs"));

/// Written into every record; a reader stops at a newer one.
pub const FORMAT_VERSION: u32 = 1;
