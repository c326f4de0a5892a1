//! Recognises names of Chinese newspapers, agencies and sites, as they appear in a line that names the source of a text.

use super::words::{any_ends, has};

/// Returns true if a name is that of a paper, an agency or a site.
pub(super) fn is_sender(name: &str) -> bool {
    any_ends("sender", name) && !has("self", name)
}

/// Returns true if a character is Chinese.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
