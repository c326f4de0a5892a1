//! Parses `multipart/form-data` (RFC 7578), in which a browser sends a form with files.
//!
//! In: a whole body, whose size was limited before. Out: its fields, borrowed from it. Cost: linear; at most
//! [`FIELDS_MAX`] fields.

use memchr::memmem;
use thiserror::Error;

/// Limit on the fields of a form.
const FIELDS_MAX: usize = 32;
/// Limit on the bytes of the head of a field.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Limit on the bytes of a boundary, by RFC 2046.
const BOUNDARY_BYTES_MAX: usize = 70;

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// Name of the field.
    pub name: String,
    /// Name of the file that the field contains.
    pub file_name: Option<String>,
    /// Value of the field.
    pub value: &'a [u8],
}

/// Reason why a body is not a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum FormError {
    /// The content type is not `multipart/form-data` with a boundary.
    #[error("send a form as multipart/form-data")]
    NotMultipart,
    /// The body is malformed or incomplete.
    #[error("the form is broken or incomplete; send it again")]
    Broken,
}

/// Returns the fields of a body with this content type.
///
/// # Errors
/// [`FormError`].
pub(crate) fn fields<'a>(content_type: &str, body: &'a [u8]) -> Result<Vec<Field<'a>>, FormError> {
    let boundary = boundary(content_type).ok_or(FormError::NotMultipart)?;
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = memmem::Finder::new(delimiter.as_bytes());
    // The first delimiter is at the start of the body, without a line end before it.
    let mut rest = body.strip_prefix(format!("--{boundary}").as_bytes()).ok_or(FormError::Broken)?;
    let mut fields = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = delimiter.find(part).ok_or(FormError::Broken)?;
        if fields.len() == FIELDS_MAX {
            return Err(FormError::Broken);
        }
        fields.extend(field(&part[..end])?);
        rest = &part[end + boundary.len() + 4..];
    }
    if rest.starts_with(b"--") { Ok(fields) } else { Err(FormError::Broken) }
}

fn boundary(content_type: &str) -> Option<&str> {
    let mut parts = content_type.split(';');
    if !parts.next()?.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let parameter = parts.find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
    })?;
    (1..=BOUNDARY_BYTES_MAX).contains(&parameter.len()).then_some(parameter)
}

/// Parses one part; `None` if it has no name.
fn field(part: &[u8]) -> Result<Option<Field<'_>>, FormError> {
    let head_end =
        memmem::find(&part[..part.len().min(HEAD_BYTES_MAX)], b"\r\n\r\n").ok_or(FormError::Broken)?;
    let head = String::from_utf8_lossy(&part[..head_end]);
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let disposition = disposition.ok_or(FormError::Broken)?;
    let name = parameter(disposition, "name");
    let file_name = parameter(disposition, "filename").filter(|name| !name.is_empty());
    Ok(name.map(|name| Field { name, file_name, value: &part[head_end + 4..] }))
}

/// Returns the value of `name="value"` in a header. Browsers write `"` in a value as `%22`.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header;
    loop {
        let (_, after) = rest.split_once(';')?;
        let (name, value) = after.split_once("=\"")?;
        let (value, after) = value.split_once('"')?;
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value.replace("%22", "\"").replace("%0D", "").replace("%0A", " "));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=----x7";

    #[test]
    fn fields_and_files_are_read_as_browsers_send_them() {
        let body = b"------x7\r\nContent-Disposition: form-data; name=\"a_text\"\r\n\r\n<p>--x7\r\n----x\r\n\
            ------x7\r\nContent-Disposition: form-data; name=\"a_file\"; filename=\"\xe9\xa1\xb5 %22x%22.html\"\r\n\
            Content-Type: text/html\r\n\r\n\x00\xff\r\n\r\n------x7--\r\n";
        let fields = fields(TYPE, body).expect("a form");
        assert_eq!(fields.len(), 2);
        assert_eq!((fields[0].name.as_str(), fields[0].value), ("a_text", &b"<p>--x7\r\n----x"[..]));
        assert_eq!(fields[0].file_name, None);
        assert_eq!(fields[1].file_name.as_deref(), Some("页 \"x\".html"));
        assert_eq!(fields[1].value, b"\x00\xff\r\n");
        assert_eq!(super::fields("text/plain", body), Err(FormError::NotMultipart));
        for length in 0..body.len() - 4 {
            assert_eq!(super::fields(TYPE, &body[..length]), Err(FormError::Broken), "{length}");
        }
    }

    const PARTS: [&[u8]; 9] = [
        b"------x7",
        b"\r\n",
        b"--",
        b"Content-Disposition: form-data; name=\"a\"",
        b"\"",
        b";",
        b"=",
        b"x",
        b"\xff",
    ];

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            body in prop::collection::vec(prop::sample::select(&PARTS), 0..24),
            kind in "multipart/form-data;[ a-z\"=-]{0,20}",
        ) {
            let body = body.concat();
            let _ = fields(TYPE, &body);
            let _ = fields(&kind, &body);
        }

        #[test]
        fn values_come_back_as_they_were_sent(value in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut body = b"------x7\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n".to_vec();
            body.extend_from_slice(&value);
            body.extend_from_slice(b"\r\n------x7--\r\n");
            let fields = fields(TYPE, &body).expect("a form");
            prop_assert_eq!(fields[0].value, &value[..]);
        }
    }
}
