//! Alternative names under which crawlers write the fields of a JSON page. A field's own name always takes
//! precedence. A value of the wrong type under an alternative name is ignored, because the name may mean
//! something else there.

use super::body::BodyForm;
use super::field::Field;

/// The alternative names of each field, most likely first.
pub(super) const ALIASES: [(Field, &[&str]); 10] = [
    (Field::Id, &["page_id", "doc_id", "_id"]),
    (Field::Url, &["uri", "page_url", "response_url", "target_uri", "link"]),
    (Field::Body(BodyForm::Html), &["raw_html", "html_content", "page_source", "rawHtml"]),
    (Field::Body(BodyForm::Mixed), &["body", "raw_content"]),
    (Field::Body(BodyForm::Base64), &["body_b64", "body_base64", "html_base64"]),
    (Field::Body(BodyForm::Content), &["content"]),
    (Field::Charset, &["encoding"]),
    (Field::ContentType, &["contentType", "content-type", "mime_type", "mimetype"]),
    (Field::Status, &["status_code", "statusCode", "http_status", "httpStatusCode"]),
    (Field::FetchedAt, &["fetchedAt", "fetch_time", "crawled_at", "timestamp"]),
];

/// Returns the field with this alternative name, and the rank of the name in [`ALIASES`].
pub(super) fn field_of(name: &str) -> Option<(Field, usize)> {
    let mut rank = 0;
    for (field, names) in ALIASES {
        match names.iter().position(|known| *known == name) {
            Some(at) => return Some((field, rank + at)),
            None => rank += names.len(),
        }
    }
    None
}
