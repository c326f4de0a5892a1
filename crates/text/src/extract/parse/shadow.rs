//! Declarative shadow trees: `<template shadowrootmode=open>`, whose content a browser shows in its host.
//!
//! A host has one shadow tree; a second one is an ordinary template. The other content of the host is shown in the
//! slots of the shadow tree. Without a slot it is not shown, and is treated like a hidden element. It is often a copy of
//! the text for browsers that know no shadow trees. A shadow tree without text is filled by a script, which may add a
//! slot.

use crate::extract::parse::stack::open;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::{Builder, index};

impl Builder<'_> {
    /// Returns true if a shadow tree may begin here: its host has none yet.
    pub(super) fn may_begin_shadow_tree(&self) -> bool {
        self.stack.elements.last().is_none_or(|host| host.features & open::SHADOW_HOST == 0)
    }

    /// Begins a shadow tree in the innermost open element.
    pub(super) fn begin_shadow_tree(&mut self) {
        self.end_block();
        self.stack.shadow_trees.push(index(self.tree.blocks.len()));
        if let Some(host) = self.stack.elements.last_mut() {
            host.features |= open::SHADOW_HOST;
        }
    }

    /// Notes that the innermost shadow tree has a slot.
    pub(super) fn fill_slot(&mut self) {
        let position = self.last(Tag::Template) as usize;
        if let Some(tree) = position.checked_sub(1).and_then(|at| self.stack.elements.get_mut(at)) {
            tree.features |= open::SLOTTED;
        }
    }

    /// Ends the shadow tree with these features. Its host is the innermost open element.
    pub(super) fn end_shadow_tree(&mut self, features: u16) {
        self.end_block();
        let first_block = self.stack.shadow_trees.pop();
        if features & open::SLOTTED == 0
            && first_block.is_some_and(|first| first < index(self.tree.blocks.len()))
            && let Some(host) = self.stack.elements.last_mut()
        {
            host.features |= open::SLOTLESS;
        }
    }

    /// Returns true if the innermost open element does not show its content, because its shadow tree has no slot.
    pub(super) fn is_in_slotless(&self) -> bool {
        self.stack.elements.last().is_some_and(|host| host.features & open::SLOTLESS != 0)
    }
}
