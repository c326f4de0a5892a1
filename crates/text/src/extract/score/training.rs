//! Exports all blocks of a page with their features, chosen or not, to learn the weights of
//! [`crate::extract::score::trees`].
//!
//! In: a page. Out: one [`BlockFeatures`] per block. Used only by `examples/extraction_facts.rs`.

use crate::extract::{ExtractError, Extractor, features, write};
use leitong_base::work::Work;

/// A block of text with the features by which it is scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFeatures {
    /// Its text as it would be written.
    pub text: String,
    /// The values of [`names`], in that order.
    pub features: Vec<i16>,
    /// The block ranges of its enclosing nodes, from the inside out.
    pub ancestor_ranges: Vec<(u32, u32)>,
    /// The block range from the heading above to the next one.
    pub section: (u32, u32),
    /// Number of its group of blocks with the same structural signature.
    pub similar: u32,
}

/// Returns the names of the features.
#[must_use]
pub fn names() -> Vec<String> {
    features::names()
}

impl Extractor {
    /// Returns all blocks of `html`.
    ///
    /// # Errors
    /// Returns an [`ExtractError`] if the page exceeds the limits.
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
