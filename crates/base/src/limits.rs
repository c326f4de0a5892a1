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
/// Maximum length of the explanation in a dead letter. Without a limit it could be of any length, because it
/// may quote the input.
pub const DEAD_LETTER_MESSAGE_BYTES_MAX: usize = 1024;
/// Maximum number of bytes of an unreadable record that its dead letter quotes.
pub const DEAD_LETTER_RAW_BYTES_MAX: usize = 1024;
/// Maximum length of the key and headers that a dead letter keeps; the rest is left out. This fits into the
/// space that `kafka.dead_letters.value_bytes_max` must leave in a message.
pub const DEAD_LETTER_HEADERS_BYTES_MAX: usize = 128 * 1024;
/// Maximum length of one line in the log on standard error. Longer lines are truncated.
pub const LOG_LINE_BYTES_MAX: usize = 4 * 1024;
/// Maximum length of a page message's key for it to become the verdict's key. Otherwise the page id is the
/// verdict's key.
pub const CARRIED_KEY_BYTES_MAX: usize = URL_BYTES_MAX;
/// Maximum length of the headers (names and values) that are copied from a page message to its verdict.
/// Headers that do not fit are left out.
pub const CARRIED_HEADERS_BYTES_MAX: usize = 4 * 1024;
/// Maximum length of a corpus name. A longer name is replaced by its digest.
pub const CORPUS_BYTES_MAX: usize = 256;
/// Maximum length of a publisher's name. A longer text is not accepted as a name. Together with the limits
/// below, this keeps the credits in a log record within 4 KiB.
pub const PUBLISHER_BYTES_MAX: usize = 128;
/// Maximum length of the text that names the publisher. A longer text is truncated at a character boundary.
pub const CREDIT_LINE_BYTES_MAX: usize = 256;
/// Maximum number of authors per page. Further authors are left out.
pub const AUTHORS_MAX: usize = 8;
/// Maximum length of an author's name. A longer text is not accepted as a name.
pub const AUTHOR_BYTES_MAX: usize = 96;
/// Maximum length of a canonical link as an absolute url. A longer link is left out.
pub const CANONICAL_LINK_BYTES_MAX: usize = 2 * 1024;
/// Maximum length of a site's name. A longer text is not accepted as a name.
pub const SITE_NAME_BYTES_MAX: usize = 128;
/// Maximum length of a language tag: the longest one that BCP 47 requires programs to support.
pub const LANGUAGE_BYTES_MAX: usize = 35;
