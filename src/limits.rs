//! Every hard limit of the wire formats, in one place.
//! Limits that an operator sets are in the configuration.

/// Bytes of a url; a page with a longer one goes to the dead letters.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a page id; a page with a longer one goes to the dead letters.
pub const PAGE_ID_BYTES_MAX: usize = 256;
/// Bytes of the `passthrough` value on one line; a longer
/// one is left out of the verdict and counted.
pub const PASSTHROUGH_BYTES_MAX: usize = 4 * 1024;
/// Brackets that may be open at once in the `passthrough` value; a
/// deeper one is left out of the verdict and counted. With the verdict's
/// own it is what JSON parsers commonly take, ours among them.
pub const PASSTHROUGH_DEPTH_MAX: usize = JSON_DEPTH_MAX - 2;
/// Bytes of the evidence in a verdict.
pub const EVIDENCE_BYTES_MAX: usize = 2 * 1024;
/// Brackets that may be open at once in a JSON page; no
/// page needs more, and it bounds the parser's memory.
pub const JSON_DEPTH_MAX: usize = 128;
/// Bytes of the explanation in a dead letter: it may quote
/// what it complains about, which may be of any length.
pub const DEAD_LETTER_MESSAGE_BYTES_MAX: usize = 1024;
/// Bytes of a broken record that its dead letter quotes.
pub const DEAD_LETTER_RAW_BYTES_MAX: usize = 1024;
/// Bytes of key and headers that a dead letter keeps; more are left out. Fits into the room that
/// `kafka.dead_letters.value_bytes_max` must leave in a message.
pub const DEAD_LETTER_HEADERS_BYTES_MAX: usize = 128 * 1024;
/// Bytes of one line of the log on standard error; the rest of a longer one is cut off.
pub const LOG_LINE_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a page message's key that the verdict's key may
/// be; above it, the verdict's key is the page id.
pub const CARRIED_KEY_BYTES_MAX: usize = URL_BYTES_MAX;
/// Bytes of the headers, names and values, that go from a page
/// message to its verdict; what does not fit is left out.
pub const CARRIED_HEADERS_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a corpus' name; a longer one is replaced by its digest.
pub const CORPUS_BYTES_MAX: usize = 256;
/// Bytes of a publisher's name; a longer one is no name. With the following ones, what a page
/// says of its source takes at most 4 KiB of a record of the log.
pub const PUBLISHER_BYTES_MAX: usize = 128;
/// Bytes of the line that names the publisher; a longer one is cut at a character.
pub const CREDIT_LINE_BYTES_MAX: usize = 256;
/// Authors of a page; later ones are left out.
pub const AUTHORS_MAX: usize = 8;
/// Bytes of an author's name; a longer one is no name.
pub const AUTHOR_BYTES_MAX: usize = 96;
/// Bytes of a canonical link as an absolute url; a longer one is left out.
pub const CANONICAL_LINK_BYTES_MAX: usize = 2 * 1024;
/// Bytes of a site's name; a longer one is no name.
pub const SITE_NAME_BYTES_MAX: usize = 128;
/// Bytes of a language's tag: the longest one that BCP 47 asks programs to have room for.
pub const LANGUAGE_BYTES_MAX: usize = 35;
