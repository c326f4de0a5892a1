//! Every hard limit of the wire formats, in one place. Limits that an operator sets are in [`crate::config`].

/// Bytes of a url; a page with a longer one goes to the dead letters.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a page id; a page with a longer one goes to the dead letters.
pub const PAGE_ID_BYTES_MAX: usize = 256;
/// Bytes of the `passthrough` value; a longer one is left out of the verdict and counted.
pub const PASSTHROUGH_BYTES_MAX: usize = 4 * 1024;
/// Bytes of the evidence in a verdict.
pub const EVIDENCE_BYTES_MAX: usize = 2 * 1024;
/// Brackets that may be open at once in a JSON page; no page needs more, and it bounds the parser's memory.
pub const JSON_DEPTH_MAX: usize = 128;
/// Bytes of a broken record that its dead letter quotes.
pub const DEAD_LETTER_RAW_BYTES_MAX: usize = 1024;
/// Bytes of key and headers that a dead letter keeps; more are left out. Fits into the room that
/// `kafka.dead_letters.value_bytes_max` must leave in a message.
pub const DEAD_LETTER_HEADERS_BYTES_MAX: usize = 128 * 1024;
/// Bytes of a corpus' name; a longer one is replaced by its digest.
pub const CORPUS_BYTES_MAX: usize = 256;
