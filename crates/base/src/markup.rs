//! Escaping of text for HTML and SVG.

/// Escapes `text` for HTML and SVG, between tags and in attributes with double quotes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
