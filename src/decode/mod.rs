//! Bytes → text.

/// Part of the fingerprint hash: raised whenever the same bytes may give another text than before.
pub const VERSION: u32 = 1;
