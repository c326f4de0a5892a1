//! Is this body a page at all? Signatures of other kinds of
//! files, the `Content-Type`, control bytes.
//!
//! In: the body and its `Content-Type`. Out: nothing, or why it is no text. A signature counts
//! whatever the header says; the header counts only for kinds without one, and only if the body
//! does not look like markup, since servers mislabel pages far more often than they send an image
//! that starts with `<html`. Cost: the first bytes only.

use super::DecodeError;

/// First bytes of files that crawlers meet, from the MIME
/// Sniffing Standard and the formats' own documents.
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

/// Kinds that a `Content-Type` can name; what is not here may be text.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("image/svg+xml", "an SVG image"),
    ("image/", "an image"),
    ("audio/", "a sound"),
    ("video/", "a video"),
    ("font/", "a font"),
    ("application/pdf", "a PDF document"),
    ("application/zip", "a ZIP archive"),
    ("application/octet-stream", "a file of no stated kind"),
    ("application/json", "JSON"),
    ("application/javascript", "a script"),
    ("text/javascript", "a script"),
    ("text/css", "a style sheet"),
    ("text/calendar", "a calendar"),
];

/// Bytes in which control bytes are counted.
const CONTROL_LOOKED_AT: usize = 4096;

/// Refuses files of other kinds by their first bytes.
pub(super) fn check_signature(bytes: &[u8]) -> Result<(), DecodeError> {
    for (signature, kind) in SIGNATURES {
        // All-letter signatures might begin a text, so they need a control byte soon after.
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

/// Refuses by `Content-Type` what is text by its bytes but no page.
pub(super) fn check_content_type(text: &str, content_type: Option<&str>) -> Result<(), DecodeError> {
    let Some(content_type) = content_type else { return Ok(()) };
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((_, kind)) = MEDIA_TYPES.iter().find(|(prefix, _)| media_type.starts_with(prefix)) else {
        return Ok(());
    };
    if looks_like_markup(text) { Ok(()) } else { Err(DecodeError::NotHtml(kind)) }
}

/// Whether a text begins as HTML does.
pub(super) fn looks_like_markup(text: &str) -> bool {
    let head = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    head.starts_with('<') && !head.starts_with("<svg")
}

/// Refuses bytes that no text in a one-byte, multi-byte or escape
/// encoding has. Random bytes have 10 % control bytes; the worst real
/// page of our sets has 0.02 %. 2 % lets pages with stray NULs through.
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
    fn other_kinds_of_files_are_named() {
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

    #[test]
    fn random_bytes_are_no_text_but_a_stray_nul_is_forgiven() {
        let random: Vec<u8> = (0..2000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(matches!(check_control_bytes(&random), Err(DecodeError::NotText { .. })));
        assert!(check_control_bytes(format!("{}\0{}", "a".repeat(300), "b".repeat(300)).as_bytes()).is_ok());
    }
}
