//! Other names under which crawlers write the fields of a JSON page. A
//! field's own name always wins, and a value of a wrong type under another
//! name says nothing, since the name may well mean something else.

use super::body::Form;
use super::field::Field;

/// Other names, the likeliest first.
pub(super) const ALIASES: [(Field, &[&str]); 10] = [
    (Field::Id, &["page_id", "doc_id", "_id"]),
    (Field::Url, &["uri", "page_url", "response_url", "target_uri", "link"]),
    (Field::Body(Form::Html), &["raw_html", "html_content", "page_source", "rawHtml"]),
    (Field::Body(Form::Mixed), &["body", "raw_content"]),
    (Field::Body(Form::Base64), &["body_b64", "body_base64", "html_base64"]),
    (Field::Body(Form::Content), &["content"]),
    (Field::Charset, &["encoding"]),
    (Field::ContentType, &["contentType", "content-type", "mime_type", "mimetype"]),
    (Field::Status, &["status_code", "statusCode", "http_status", "httpStatusCode"]),
    (Field::FetchedAt, &["fetchedAt", "fetch_time", "crawled_at", "timestamp"]),
];

/// The field that has this other name, and the rank of the name among all.
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
