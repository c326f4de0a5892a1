//! A range of the page's source: a piece of text between two tags, or a part of the head such as the title.

use std::ops::Range;

/// A range of the source. [`Segment::LINE_BREAK`] represents `<br>` within preformatted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) struct Segment {
    /// Byte offset of the start of the range.
    pub(in crate::extract) start: u32,
    /// Byte offset after the end of the range.
    pub(in crate::extract) end: u32,
}

impl Segment {
    /// Returns the offsets as a range of the page.
    pub(in crate::extract) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// A line break without text.
    pub(in crate::extract) const LINE_BREAK: Self = Self { start: u32::MAX, end: u32::MAX };
}
