//! Which ideographs words are of. `build.rs` reads this file as well.

/// Whether jieba cuts runs of such ideographs; any other it leaves alone.
#[inline]
pub(super) fn jieba_cuts(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}' | '\u{2a700}'..='\u{2ebef}' | '\u{2f800}'..='\u{2fa1f}')
}
