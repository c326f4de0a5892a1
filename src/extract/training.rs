//! All blocks of a page with their facts, chosen or not: what the weights of [`super::weights`] are learned from.
//!
//! In: a page. Out: one [`BlockFacts`] a block. Used by `examples/extraction_facts.rs` only.

use super::{ExtractError, Extractor, facts, write};

/// A block of text with everything that it is weighed by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFacts {
    /// Its text as it would be written.
    pub text: String,
    /// The values of [`names`], in that order.
    pub facts: Vec<i16>,
    /// Begin and end of the blocks of each enclosing node, from the inside out.
    pub rings: Vec<(u32, u32)>,
    /// The blocks from the heading above to the next.
    pub section: (u32, u32),
    /// Number of the group of blocks of the same make.
    pub kin: u32,
}

/// The names of the facts.
#[must_use]
pub fn names() -> Vec<String> {
    facts::names()
}

impl Extractor {
    /// All blocks of `html`.
    ///
    /// # Errors
    /// [`ExtractError`], where the page is past the limits.
    pub fn block_facts(&mut self, html: &str) -> Result<Vec<BlockFacts>, ExtractError> {
        self.choose(html)?;
        let mut facts = facts::Facts::default();
        facts.gather(&self.tree, html.as_bytes(), false);
        let blocks = self.tree.blocks.iter().enumerate();
        Ok(blocks
            .map(|(at, block)| BlockFacts {
                text: write::text_of(html, &self.tree, block, false),
                facts: facts.row_of(at),
                rings: facts.rings[at].to_vec(),
                section: facts.sections[at],
                kin: facts.kin[at],
            })
            .collect())
    }
}
