//! Document → [`TextDigest`]: tells texts that are equal, but for white space, from all others.

use xxhash_rust::xxh3::xxh3_128;

use super::record::TextDigest;
use crate::extract::Document;

/// The digest of the main text's characters without white space, so that line breaks, indentation and the
/// division into paragraphs do not matter. `buffer` is scratch space. Linear.
pub fn text_digest(document: &Document, buffer: &mut String) -> TextDigest {
    buffer.clear();
    for paragraph in &document.paragraphs {
        for part in paragraph.text.split_whitespace() {
            buffer.push_str(part);
        }
    }
    let chars = buffer.chars().count();
    TextDigest { digest: xxh3_128(buffer.as_bytes()), chars: u32::try_from(chars).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> TextDigest {
        text_digest(&Document::from_text(None, text), &mut String::new())
    }

    #[test]
    fn white_space_does_not_matter_and_all_else_does() {
        let one = digest("春天来了。\n\n万物 复苏。");
        assert_eq!(one, digest("春天　来了。万物\t复苏。\n"));
        assert_eq!(one.chars, 10);
        assert_ne!(one, digest("春天来了。万物复苏！"));
        assert_ne!(digest("ABC"), digest("ＡＢＣ"));
    }

    #[test]
    fn is_fixed_for_ever() {
        assert_eq!(format!("{:032x}", digest("雷同").digest), "41581c06173ddf55788fda384e0d321e");
    }
}
