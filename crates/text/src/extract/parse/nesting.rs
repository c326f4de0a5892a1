//! Decides which elements a tag closes: implied end tags, end tags, scopes.
//!
//! Follows the HTML standard's rules as far as they affect the text. Each decision takes constant time, because the
//! stack keeps the positions of the innermost elements; each element is popped once.

use crate::extract::parse::scan::Attributes;
use crate::extract::parse::stack::open;
use crate::extract::parse::tag::{Tag, flag};
use crate::extract::parse::{Builder, index};

impl Builder<'_> {
    /// Closes the elements whose end a start tag of `tag` implies.
    pub(in crate::extract) fn close_implied(&mut self, tag: Tag) {
        if tag.is(flag::CLOSES_P) {
            self.close_phrases();
            let paragraph = self.last(Tag::P);
            if paragraph > self.button_scope() {
                self.pop_to(paragraph);
            }
        }
        match tag {
            Tag::Li => self.close_item(&[Tag::Li], &[Tag::Ul, Tag::Ol, Tag::Menu, Tag::Dir, Tag::Button]),
            Tag::Dd | Tag::Dt => self.close_item(&[Tag::Dd, Tag::Dt], &[Tag::Dl, Tag::Button]),
            _ if self.inside.skipped != 0 && tag.is(flag::TABLE_PART) => self.close_to_part(tag),
            Tag::Td | Tag::Th => self.close_item(&[Tag::Td, Tag::Th, Tag::Caption], &[Tag::Table]),
            Tag::Tr => self.close_item(&[Tag::Tr, Tag::Caption, Tag::Colgroup], &[Tag::Table]),
            Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                self.close_item(
                    &[Tag::Tbody, Tag::Thead, Tag::Tfoot, Tag::Caption, Tag::Colgroup],
                    &[Tag::Table],
                );
            }
            Tag::A => self.end_link(),
            Tag::Option | Tag::Optgroup => self.close_item(&[Tag::Option], &[Tag::Select]),
            Tag::Button if self.last(tag) > self.scope => self.pop_to(self.last(tag)),
            Tag::Rb | Tag::Rt | Tag::Rp | Tag::Rtc => self.close_ruby(tag),
            _ if tag.is(flag::HEADING) => {
                let top = self.stack.elements.last().map(|element| element.tag);
                if top.is_some_and(|top| top.is(flag::HEADING)) {
                    self.pop_to(self.position());
                }
            }
            _ => {}
        }
    }

    /// Closes a reading of ruby, or an option outside of `<select>`, in which a block begins. Neither holds blocks, so
    /// its end tag is missing; the standard lets it hold the rest of the page, which browsers show.
    fn close_phrases(&mut self) {
        let phrases: &[Tag] = match self.last(Tag::Select) {
            0 => &[Tag::Rt, Tag::Rp, Tag::Rtc, Tag::Option, Tag::Optgroup],
            _ => &[Tag::Rt, Tag::Rp, Tag::Rtc],
        };
        let floor = self.block_position.max(self.scope);
        if let Some(outermost) = phrases.iter().map(|tag| self.last(*tag)).filter(|at| *at > floor).min() {
            self.pop_to(outermost);
        }
    }

    /// Returns the position of the innermost scope or button. Tags within it close no paragraphs outside.
    fn button_scope(&self) -> u32 {
        self.scope.max(self.last(Tag::Button))
    }

    /// Closes an open `<select>` that `tag` ends. Returns true if the tag does nothing else.
    pub(in crate::extract) fn close_select(&mut self, tag: Tag) -> bool {
        let select = self.last(Tag::Select);
        let ends = select > 0
            && match tag {
                Tag::Select | Tag::Input | Tag::Textarea => select > self.scope,
                Tag::Caption | Tag::Tbody | Tag::Tfoot | Tag::Thead | Tag::Tr | Tag::Td | Tag::Th => {
                    select > self.table_scope()
                }
                _ => false,
            };
        if ends {
            self.pop_to(select);
        }
        ends && tag == Tag::Select
    }

    /// Closes the parts of a ruby annotation in which `tag` is not allowed.
    fn close_ruby(&mut self, tag: Tag) {
        let may_hold = |top: Tag| top == Tag::Rtc && matches!(tag, Tag::Rt | Tag::Rp);
        if self.last(Tag::Ruby) <= self.scope {
            return;
        }
        while let Some(top) = self.stack.elements.last().map(|element| element.tag)
            && matches!(top, Tag::Rb | Tag::Rt | Tag::Rp | Tag::Rtc)
            && !may_hold(top)
        {
            self.pop_to(self.position());
        }
    }

    /// Closes the innermost of `items`, unless one of `containers` was opened after it.
    fn close_item(&mut self, items: &[Tag], containers: &[Tag]) {
        // A cell is a scope itself, so only scopes opened after the item hide it.
        let item = self.innermost(items);
        if item > self.innermost(containers) && item >= self.scope {
            self.pop_to(item);
        }
    }

    /// Closes the elements within the innermost table that cannot hold `tag`, a part of a table: a new row ends a
    /// button or a list of options that is still open in the cell before it.
    fn close_to_part(&mut self, tag: Tag) {
        let table = self.last(Tag::Table);
        if table <= self.last(Tag::Template) {
            return;
        }
        let holders: &[Tag] = match tag {
            Tag::Td | Tag::Th => &[Tag::Tr, Tag::Tbody, Tag::Thead, Tag::Tfoot],
            Tag::Tr => &[Tag::Tbody, Tag::Thead, Tag::Tfoot],
            _ => &[],
        };
        self.pop_to(self.innermost(holders).max(table) + 1);
    }

    /// Ends the open link. Its element stays open if blocks began within it.
    fn end_link(&mut self) {
        let link = self.last(Tag::A);
        if link == 0 || link < self.scope {
            return;
        }
        if link > self.block_position {
            self.pop_to(link);
        } else if let Some(element) = self.stack.elements.get_mut(link as usize - 1) {
            self.inside.change(element.features & open::LINK, -1);
            element.features &= !open::LINK;
            let span = std::mem::take(&mut element.span);
            self.end_span(span);
        }
    }

    /// Handles an end tag.
    pub(in crate::extract) fn end(&mut self, tag: Tag) {
        if self.is_in_foreign() && self.end_foreign(tag) {
            return;
        }
        match tag {
            Tag::A => self.end_link(),
            Tag::Br => self.void(tag, &Attributes::default()),
            Tag::Html | Tag::Body => self.end_block(),
            // Only the `<title>` of an SVG drawing is ever open. That of the page is raw text, so its end tag is ignored.
            Tag::Title if self.last(tag) > 0 => self.pop_to(self.last(tag)),
            _ if tag.is(flag::VOID | flag::RAW) => {}
            _ if tag.is(flag::HEADING) => {
                let heading = self.innermost(&[Tag::H1, Tag::H2, Tag::H3, Tag::H4, Tag::H5, Tag::H6]);
                self.end_in(heading, self.scope);
            }
            Tag::Li => self.end_in(self.last(tag), self.scope.max(self.innermost(&[Tag::Ul, Tag::Ol]))),
            Tag::Template => self.end_in(self.last(tag), 0),
            Tag::Table => self.end_in(self.last(tag), self.last(Tag::Template)),
            Tag::P => self.end_in(self.last(tag), self.button_scope()),
            _ if tag.is(flag::SCOPE) => self.end_in(self.last(tag), self.table_scope()),
            Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                self.end_in(self.last(tag), self.table_scope());
            }
            _ if tag.is(flag::BLOCK) => self.end_in(self.last(tag), self.scope),
            _ if tag.is(flag::SKIP) => self.end_in(self.last(tag), 0),
            // An inline element ends only within the block in which it began.
            _ => {
                let position = self.last(tag);
                if position > self.block_position {
                    self.pop_to(position);
                }
            }
        }
    }

    /// Closes the element at `position` if it is above `floor`; otherwise, the stray end tag still ends the current
    /// block.
    fn end_in(&mut self, position: u32, floor: u32) {
        if position > floor {
            self.pop_to(position);
        } else if self.inside.skipped == 0 {
            self.end_block();
        }
    }

    /// Returns the position of the innermost table or template. End tags within it close no part of a table outside.
    fn table_scope(&self) -> u32 {
        self.last(Tag::Table).max(self.last(Tag::Template))
    }

    /// Returns the position of the innermost element with one of these tags; 0 if none is open.
    fn innermost(&self, tags: &[Tag]) -> u32 {
        tags.iter().map(|tag| self.last(*tag)).max().unwrap_or(0)
    }

    pub(super) fn last(&self, tag: Tag) -> u32 {
        self.stack.last[tag as usize]
    }

    pub(in crate::extract) fn position(&self) -> u32 {
        index(self.stack.elements.len())
    }

    /// Closes all elements from the innermost one to the one at `position`, inclusive.
    pub(in crate::extract) fn pop_to(&mut self, position: u32) {
        while self.position() >= position.max(1) {
            let Some(element) = self.stack.elements.pop() else { return };
            if element.tag == Tag::Template && self.inside.skipped == 0 {
                self.end_shadow_tree(element.features);
            }
            if element.tag.is(flag::BLOCK) && self.node != element.node {
                self.end_block();
                let end = index(self.tree.blocks.len());
                self.tree.nodes[self.node as usize].end_block = end;
                self.node = element.node;
            }
            if element.features & open::HIDDEN != 0 {
                self.end_hidden();
            }
            self.end_span(element.span);
            self.inside.change(element.features, -1);
            self.stack.last[element.tag as usize] = element.same_tag;
            self.scope = element.scope;
            self.block_position = element.block;
        }
    }
}
