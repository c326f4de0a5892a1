//! Exports all blocks of a page with their features, chosen or not, to learn the weights of
//! [`crate::extract::main_text::score`].
//!
//! In: a page. Out: one [`BlockFeatures`] per block. Used only by `examples/extraction_features.rs`.

use crate::extract::main_text::MainText;
use crate::extract::main_text::features::{self, Features, Names};
use crate::extract::parse::text;

/// A block of text with the features by which it is scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFeatures {
    /// Text of the block as it would be written.
    pub text: String,
    /// The values of [`names`], in that order.
    pub features: Vec<i16>,
    /// The block ranges of the nodes around the block, from the inside out.
    pub ancestor_ranges: Vec<(u32, u32)>,
    /// The block range from the heading above to the next one.
    pub section: (u32, u32),
    /// Index of the group of blocks that have the same structural signature as this block.
    pub similar: u32,
}

/// Returns the names of the features.
#[must_use]
pub fn names() -> Vec<String> {
    features::names()
}

/// Returns all blocks of a page, whether chosen or not.
pub(in crate::extract) fn block_features(page: &MainText<'_>) -> Vec<BlockFeatures> {
    let mut features = Features::default();
    features.gather(page.tree, page.html.as_bytes(), false, Names::Read);
    let blocks = page.tree.blocks.iter().enumerate();
    blocks
        .map(|(at, block)| BlockFeatures {
            text: text::of_block(page.html, page.tree, block, false),
            features: features.columns.features(at),
            ancestor_ranges: features.ancestor_ranges[at].to_vec(),
            section: features.sections[at],
            similar: features.similar[at],
        })
        .collect()
}
