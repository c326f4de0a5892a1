//! Decides if a body can be a page at all, by signatures of other file formats, the `Content-Type` and control bytes.
//!
//! In: the body and its `Content-Type`. Out: `Ok`, or the reason why the body is not text. A signature counts
//! whatever the header says. The header counts only for formats without a signature, and only if the body does not
//! look like markup: servers mislabel pages far more often than they send an image that starts with `<html`. Cost:
//! reads the first bytes only, except for a text without a type that may be JSON.

use super::DecodeError;

/// First bytes of file formats that crawlers often fetch, from the MIME Sniffing Standard and the
/// specifications of the formats.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b\x08", "gzip data"),
    (b"BZh9", "bzip2 data"),
    (b"\xfd7zXZ\x00", "XZ data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript document"),
    (b"ID3", "an MP3 file"),
    (b"OggS", "an Ogg file"),
    (b"fLaC", "a FLAC file"),
    (b"\x1a\x45\xdf\xa3", "a Matroska or WebM file"),
    (b"FLV\x01", "a Flash video"),
    (b"CWS", "a Flash file"),
    (b"FWS", "a Flash file"),
    (b"\x7fELF", "a program"),
    (b"\0asm", "a WebAssembly module"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\x01\0", "an icon"),
    (b"SQLite format 3\0", "a database"),
];

/// Beginnings of media types, and the kind of file that each stands for.
const KINDS: [(&str, &str); 15] = [
    ("image/svg", "an SVG image"),
    ("image/", "an image"),
    ("audio/", "a sound"),
    ("video/", "a video"),
    ("font/", "a font"),
    ("model/", "a model"),
    ("multipart/", "a message of several parts"),
    ("message/", "a message"),
    ("application/pdf", "a PDF document"),
    ("application/zip", "a ZIP archive"),
    ("application/wasm", "a WebAssembly module"),
    ("application/octet-stream", "a file of no stated kind"),
    ("binary/", "a file of no stated kind"),
    ("application/font", "a font"),
    ("application/x-font", "a font"),
];

/// The kind of a template, which begins like a part of a page.
const TEMPLATE: &str = "a template of a script";

/// Words in subtypes that name a programming or data language, whatever the rest of the type (`text/x-json`,
/// `application/ld+json`).
const LANGUAGES: [(&str, &str); 14] = [
    ("JSON", "json"),
    (
        "a script",
        "javascript ecmascript typescript jscript js jsx livescript vbscript coffeescript sh shellscript",
    ),
    ("a script", "perl python ruby lua sql"),
    ("a program", "java csrc chdr"),
    ("data of a script", "component gwt-rpc"),
    (TEMPLATE, "handlebars handlebars-template template mustache tmpl"),
    ("a style sheet", "css scss sass less"),
    ("a calendar", "calendar"),
    ("a card of addresses", "vcard"),
    ("a manifest", "manifest"),
    ("data", "yaml"),
    ("a table", "csv tab-separated-values"),
    ("subtitles", "vtt"),
    ("a stream of events", "event-stream"),
];

/// Subtypes of `application/` that are pages, text for people, or unspecified content.
const READ: &str =
    "xhtml+xml vnd.wap.xhtml+xml html text txt unknown x-unknown x-httpd-php php x-php markdown xhtml";

/// Elements at the start of a body that make it an HTML page although its `Content-Type` says otherwise.
const FIRST_ELEMENTS: &str = "html head body title meta link base style script noscript div p table center main \
    article section header nav form h1 h2 h3 h4 ul ol span a br font b img strong pre dl hr frameset iframe blockquote";

/// Number of bytes in which control bytes are counted.
const CONTROL_LOOKED_AT: usize = 4096;

/// Rejects files of other formats by their first bytes.
pub(super) fn check_signature(bytes: &[u8]) -> Result<(), DecodeError> {
    for (signature, kind) in SIGNATURES {
        // A signature of letters might begin a text, so a zero byte must follow soon.
        if bytes.starts_with(signature)
            && (signature.len() > 4 || signature.iter().any(|b| !b.is_ascii_graphic()) || has_nul(bytes))
        {
            return Err(DecodeError::NotHtml(kind));
        }
    }
    let is_riff = bytes.starts_with(b"RIFF") && matches!(bytes.get(8..12), Some(b"WEBP" | b"WAVE" | b"AVI "));
    if is_riff || bytes.get(4..8) == Some(b"ftyp".as_slice()) {
        return Err(DecodeError::NotHtml("an image, a sound or a video"));
    }
    Ok(())
}

fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(64)]).is_some()
}

/// Rejects a text that is not a page, by its `Content-Type`.
///
/// Pages, plain text and unspecified content are accepted. All other media types are rejected, unless the text begins
/// like an HTML page. A text without a type is rejected if it is JSON.
pub(super) fn check_content_type(text: &str, content_type: Option<&str>) -> Result<(), DecodeError> {
    let media_type = content_type.map(media_type).unwrap_or_default();
    let Some((kind, subtype)) = media_type.split_once('/') else { return check_nameless(text) };
    let named = |(_, parts): &&(_, &str)| parts.split(' ').any(|part| is_named(subtype, part));
    let language = LANGUAGES.iter().find(named).map(|(language, _)| *language);
    let known = || KINDS.iter().find(|(start, _)| media_type.starts_with(start)).map(|(_, kind)| *kind);
    let is_xml = matches!(subtype, "xml" | "x-xml") || subtype.ends_with("+xml");
    let refused = match (kind, language) {
        ("*" | "unknown", _) => return check_nameless(text),
        ("application", _) if READ.split(' ').any(|read| read == subtype) => None,
        (_, Some(language)) => Some(language),
        _ if is_xml => known().or(Some("XML")),
        ("text", None) => None,
        ("application", None) => Some(known().unwrap_or("a file of another kind")),
        // Servers invent types, such as `httpd/unix-directory`.
        _ => known(),
    };
    match refused {
        Some(TEMPLATE) if !begins_document(text) => Err(DecodeError::NotHtml(TEMPLATE)),
        Some(refused) if !looks_like_page(text) => Err(DecodeError::NotHtml(refused)),
        _ => Ok(()),
    }
}

/// Returns a content type without its parameters, in lower case.
fn media_type(content_type: &str) -> String {
    let ends = |c: char| matches!(c, ';' | ',') || c.is_whitespace();
    content_type.trim().split(ends).next().unwrap_or_default().trim_matches('"').to_ascii_lowercase()
}

/// Returns true if a word of `subtype` is `part`, or `part` followed by a version (`javascript1.5`).
fn is_named(subtype: &str, part: &str) -> bool {
    let subtype = subtype.strip_prefix("x-").unwrap_or(subtype);
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    subtype == part
        || subtype.split(['+', '-', '.']).any(|word| word.strip_prefix(part).is_some_and(is_version))
        || subtype.strip_prefix(part).is_some_and(is_version)
}

/// Rejects JSON that has no media type.
fn check_nameless(text: &str) -> Result<(), DecodeError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let may_be_json =
        (text.starts_with('{') && text.ends_with('}')) || (text.starts_with('[') && text.ends_with(']'));
    match may_be_json && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        true => Err(DecodeError::NotHtml("JSON")),
        false => Ok(()),
    }
}

/// Returns true if a text begins like an HTML page, and not like other XML.
fn looks_like_page(text: &str) -> bool {
    let mut rest = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_ascii_whitespace());
    loop {
        let behind = match rest {
            _ if rest.starts_with("<!--") => rest.find("-->").map(|end| end + 3),
            _ if rest.starts_with("<?") => rest.find('>').map(|end| end + 1),
            _ => None,
        };
        let Some(behind) = behind else { break };
        rest = rest[behind..].trim_ascii_start();
    }
    let Some(tag) = rest.strip_prefix('<') else { return false };
    let name = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase()
    };
    match tag.strip_prefix('!') {
        Some(declared) => {
            let mut words = declared.split_ascii_whitespace();
            words.next().is_some_and(|word| word.eq_ignore_ascii_case("doctype"))
                && words.next().is_some_and(|root| name(root) == "html")
        }
        None => FIRST_ELEMENTS.split(' ').any(|first| first == name(tag)),
    }
}

/// Returns true if a text begins with the doctype or first tag of a whole page.
fn begins_document(text: &str) -> bool {
    let begins =
        |tag: &str| text.trim_start().get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    looks_like_page(text) && (begins("<!doctype") || begins("<html"))
}

/// Returns true if a text begins like HTML.
pub(super) fn looks_like_markup(text: &str) -> bool {
    let head = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    head.starts_with('<') && !head.starts_with("<svg")
}

/// Rejects bytes with control bytes that are not in text of any one-byte, multi-byte or escape encoding. Random bytes
/// have 10 % control bytes; the worst real page of our sets has 0.02 %. The limit of 2 % accepts pages with stray NULs.
pub(super) fn check_control_bytes(bytes: &[u8]) -> Result<(), DecodeError> {
    let head = &bytes[..bytes.len().min(CONTROL_LOOKED_AT)];
    let control = head
        .iter()
        .filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x0e | 0x0f))
        .count();
    if control * 50 > head.len() && control > 2 {
        return Err(DecodeError::NotText { control, looked_at: head.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_file_formats_are_rejected_by_name() {
        assert_eq!(check_signature(b"%PDF-1.4\n%\xe2\xe3"), Err(DecodeError::NotHtml("a PDF document")));
        assert_eq!(check_signature(b"PK\x03\x04\x14\0"), Err(DecodeError::NotHtml("a ZIP archive")));
        assert!(check_signature(b"RIFF\x24\0\0\0WEBPVP8 ").is_err());
        assert!(check_signature(b"ID3 tags explained: a page about sound").is_ok());
        assert!(check_signature(b"").is_ok());
    }

    #[test]
    fn a_mislabelled_page_is_still_a_page() {
        assert!(check_content_type("<html><p>x", Some("application/octet-stream")).is_ok());
        assert!(check_content_type("{\"a\": 1}", Some("application/json; charset=utf-8")).is_err());
        assert!(check_content_type("plain words", Some("text/plain")).is_ok());
    }

    /// Scripts, JSON and other files are rejected under each of their many media types.
    #[test]
    fn files_of_other_kinds_are_rejected_under_any_of_their_media_types() {
        let types = "text/javascript|text/JavaScript;charset=utf-8|text/x-javascript|text/javascript1.5\
             |application/x-javascript|application/ecmascript|text/x-js|text/jsx|text/jscript\
             |text/x-python|text/x-script.python|text/x-java-source|text/x-sh|text/x-csrc|application/sql\
             |text/x-less|application/json|text/json|text/x-json; charset=UTF-8|application/ld+json\
             |application/manifest+json|application/vnd.api+json|application/json-rpc\
             |application/x-ndjson|application/geo+json-seq|text/cache-manifest\
             |application/x-web-app-manifest+json|application/wasm|multipart/related; boundary=x\
             |message/rfc822|text/css|text/x-scss|text/calendar|text/vcard|text/csv|text/vtt\
             |application/rss+xml|application/atom+xml|text/xml|application/xml|image/svg+xml|font/woff2\
             |application/font-woff|application/x-font-ttf|application/vnd.ms-fontobject|model/gltf+json\
             |application/octet-stream|application/x-www-form-urlencoded|video/mp4";
        for refused in types.split('|') {
            for text in ["var a = 1;", "<?xml version=\"1.0\"?><!-- x --><rss><channel>", "<svg>"] {
                assert!(check_content_type(text, Some(refused)).is_err(), "{refused}: {text}");
            }
            for page in
                ["<!DOCTYPE HTML>", " \n<html lang=en>", "<?xml version='1.0'?>\n<!--x--><html>", "<div>x"]
            {
                assert!(check_content_type(page, Some(refused)).is_ok(), "{refused}: {page}");
            }
        }
        let types = "text/html|TEXT/HTML; charset=gbk|text/html,text/html|text/html charset=utf-8\
             |application/xhtml+xml|text/plain|text/markdown|text/x-unknown|httpd/unix-directory|html|*/*\
             |unknown/unknown|";
        for read in types.split('|') {
            assert!(check_content_type("words", Some(read)).is_ok(), "{read}");
            assert!(check_content_type("<rss><channel>", Some(read)).is_ok(), "{read}");
        }
        assert!(check_content_type("words", None).is_ok());
        assert!(check_content_type(" {\"a\": [1]}\n", None).is_err(), "JSON without a type");
        assert!(check_content_type("{a} words", None).is_ok());
    }

    /// Data and templates of scripts are rejected under any of their types, of which no list has all.
    #[test]
    fn data_and_templates_of_scripts_are_not_pages() {
        let data = "1:\"$Sreact.fragment\"\n0:{\"b\":\"words\"}";
        let types = "text/x-component|text/vbscript|text/coffeescript|text/x-coffeescript\
             |text/x-gwt-rpc; charset=utf-8|binary/octet-stream";
        for refused in types.split('|') {
            assert!(check_content_type(data, Some(refused)).is_err(), "{refused}");
        }
        let types = "text/x-handlebars-template|text/x-handlebars|text/x-template|text/ng-template\
             |text/x-mustache";
        for refused in types.split('|') {
            assert!(check_content_type("<div class=x>{{name}}</div>", Some(refused)).is_err(), "{refused}");
            assert!(check_content_type("<!DOCTYPE html><p>x", Some(refused)).is_ok(), "{refused}");
        }
        assert!(check_content_type("<html><p>x", Some("binary/octet-stream")).is_ok());
    }

    #[test]
    fn random_bytes_are_rejected_but_a_stray_nul_is_not() {
        let random: Vec<u8> = (0..2000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(matches!(check_control_bytes(&random), Err(DecodeError::NotText { .. })));
        assert!(check_control_bytes(format!("{}\0{}", "a".repeat(300), "b".repeat(300)).as_bytes()).is_ok());
    }
}
