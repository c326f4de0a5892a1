//! Hard limits of page messages. Limits of single fields of a record are constants of their types; limits
//! that operators can change are settings.

/// Maximum length of a url. A page with a longer one becomes a dead letter.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Maximum length of a page id. A page with a longer one becomes a dead letter.
pub const PAGE_ID_BYTES_MAX: usize = 256;
/// Maximum nesting of brackets in a JSON page. No page needs more, and the limit bounds the parser's memory.
pub const JSON_DEPTH_MAX: usize = 128;
