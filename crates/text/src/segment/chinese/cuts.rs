//! The ideographs that words consist of. `build.rs` includes this file as well.

/// Returns true if jieba splits runs of ideographs with this one into words. jieba makes every other ideograph a
/// word of its own.
#[inline]
pub(super) fn jieba_cuts(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2ebef}' | '\u{2f800}'..='\u{2fa1f}')
}
