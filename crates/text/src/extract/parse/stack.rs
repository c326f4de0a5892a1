//! The stack of open elements, and what each means for the text within it.
//!
//! Positions are counted from 1; 0 means none. Each element stores what was innermost before it, so closing it restores
//! this state in constant time.

use crate::extract::parse::tag::{COUNT, Tag};

/// An open element. Positions in the stack are counted from 1; 0 means none.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Open {
    pub(in crate::extract) tag: Tag,
    /// Features, as bits of `open`.
    pub(in crate::extract) features: u16,
    /// Node of the element, or of its parent if the element is inline.
    pub(in crate::extract) node: u32,
    /// Position of the last open element of the same tag below this one in the stack.
    pub(in crate::extract) same_tag: u32,
    /// Position of the innermost scope below this element.
    pub(in crate::extract) scope: u32,
    /// Position of the innermost block element below this element.
    pub(in crate::extract) block: u32,
    /// [Span](crate::extract::parse::structure) of the element, counted from 1. 0 for no span.
    pub(in crate::extract) span: u32,
}

pub(in crate::extract) mod open {
    /// The element counts as a link.
    pub(in crate::extract::parse) const LINK: u16 = 1;
    /// The content of the element is skipped.
    pub(in crate::extract::parse) const SKIPPED: u16 = 2;
    /// Bold or emphasis.
    pub(in crate::extract::parse) const STRONG: u16 = 4;
    /// Code.
    pub(in crate::extract::parse) const CODE: u16 = 8;
    /// Preformatted.
    pub(in crate::extract::parse) const PREFORMATTED: u16 = 16;
    /// The element is part of SVG or MathML.
    pub(in crate::extract::parse) const FOREIGN: u16 = 32;
    /// The element is part of SVG or MathML, but HTML's rules apply within it.
    pub(in crate::extract::parse) const INTEGRATION: u16 = 64;
    /// The element is hidden, and not within another element that is skipped.
    pub(in crate::extract::parse) const HIDDEN: u16 = 128;
    /// The element is skipped because it is hidden, and for no other reason.
    pub(in crate::extract::parse) const UNSEEN: u16 = 256;
    /// The element has a shadow tree.
    pub(in crate::extract::parse) const SHADOW_HOST: u16 = 512;
    /// The element is a shadow tree that shows the other content of its host in a slot.
    pub(in crate::extract::parse) const SLOTTED: u16 = 1024;
    /// The element has a shadow tree with text but without slots, so its other content is not shown.
    pub(in crate::extract::parse) const SLOTLESS: u16 = 2048;
}

/// The number of open elements of each kind.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Inside {
    pub(in crate::extract) links: u32,
    pub(in crate::extract) skipped: u32,
    /// Number of skipped elements that are hidden.
    pub(in crate::extract) unseen: u32,
    pub(in crate::extract) strong: u32,
    pub(in crate::extract) code: u32,
    pub(in crate::extract) preformatted: u32,
}

impl Inside {
    pub(in crate::extract) fn change(&mut self, features: u16, by: i32) {
        let add = |count: &mut u32, bit: u16| {
            if features & bit != 0 {
                *count = count.saturating_add_signed(by);
            }
        };
        add(&mut self.links, open::LINK);
        add(&mut self.skipped, open::SKIPPED);
        add(&mut self.unseen, open::UNSEEN);
        add(&mut self.strong, open::STRONG);
        add(&mut self.code, open::CODE);
        add(&mut self.preformatted, open::PREFORMATTED);
    }
}

/// The stack of open elements. Kept from page to page to avoid allocations.
#[derive(Debug)]
pub(in crate::extract) struct Stack {
    pub(in crate::extract) elements: Vec<Open>,
    /// Position of the innermost open element of each tag.
    pub(in crate::extract) last: [u32; COUNT],
    /// The first block of each open shadow tree.
    pub(in crate::extract) shadow_trees: Vec<u32>,
}

impl Default for Stack {
    fn default() -> Self {
        Self { elements: Vec::new(), last: [0; COUNT], shadow_trees: Vec::new() }
    }
}
