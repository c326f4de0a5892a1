//! All hard limits of the wire formats. Limits that operators can change are settings instead. Unless a
//! comment says otherwise, a limit is in bytes.

/// Maximum length of a url. A page with a longer one becomes a dead letter.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Maximum length of a page id. A page with a longer one becomes a dead letter.
pub const PAGE_ID_BYTES_MAX: usize = 256;
/// Maximum length of the `passthrough` value, written on one line. A longer value is counted and left out of
/// the verdict.
pub const PASSTHROUGH_BYTES_MAX: usize = 4 * 1024;
/// Maximum nesting of brackets in the `passthrough` value. A deeper value is counted and left out of the
/// verdict. Together with the two levels around it in the verdict, this is the depth that JSON parsers
/// commonly accept, including ours.
pub const PASSTHROUGH_DEPTH_MAX: usize = JSON_DEPTH_MAX - 2;
/// Maximum length of the evidence in a verdict.
pub const EVIDENCE_BYTES_MAX: usize = 2 * 1024;
/// Maximum nesting of brackets in a JSON page. No page needs more, and the limit bounds the parser's memory.
pub const JSON_DEPTH_MAX: usize = 128;
