//! All blocks of a page with their features, chosen or not: what the
//! weights of [`crate::extract::score::trees`] are learned from.
//!
//! In: a page. Out: one [`BlockFeatures`] a block. Used by `examples/extraction_facts.rs` only.

use crate::extract::{ExtractError, Extractor, features, write};
use leitong_base::work::Work;

/// A block of text with everything that it is scored by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFeatures {
    /// Its text as it would be written.
    pub text: String,
    /// The values of [`names`], in that order.
    pub features: Vec<i16>,
    /// Begin and end of the blocks of each enclosing node, from the inside out.
    pub ancestor_ranges: Vec<(u32, u32)>,
    /// The blocks from the heading above to the next.
    pub section: (u32, u32),
    /// Number of the group of blocks of the same signature.
    pub similar: u32,
}

/// The names of the features.
#[must_use]
pub fn names() -> Vec<String> {
    features::names()
}

impl Extractor {
    /// All blocks of `html`.
    ///
    /// # Errors
    /// [`ExtractError`], where the page is past the limits.
    pub fn block_flags(&mut self, html: &str) -> Result<Vec<BlockFeatures>, ExtractError> {
        self.choose(html, &mut Work::unbounded())?;
        let mut features = features::Features::default();
        features.gather(&self.tree, html.as_bytes(), false, features::Names::Read);
        let blocks = self.tree.blocks.iter().enumerate();
        Ok(blocks
            .map(|(at, block)| BlockFeatures {
                text: write::text_of(html, &self.tree, block, false),
                features: features.row_of(at),
                ancestor_ranges: features.ancestor_ranges[at].to_vec(),
                section: features.sections[at],
                similar: features.similar[at],
            })
            .collect())
    }
}
