//! Handles the content of SVG and MathML: which tags belong to it, and which lead back to HTML.
//!
//! In: start and end tags inside of such an element. Out: changes of the stack. It follows the HTML standard's rules
//! for foreign content: an element that closes itself is closed, tags such as `<p>` and `<div>` end the drawing, and
//! HTML continues within `<foreignObject>` and `<mtext>`. Pages rely on that, since `<svg/>` and unclosed drawings are
//! common. Cost: constant per call, plus closed elements.

use crate::extract::config::ExtractError;
use crate::extract::parse::Builder;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::stack::open;
use crate::extract::parse::tag::{Tag, flag};

impl Builder<'_> {
    /// Returns true if the rules of foreign content apply to the next tag.
    #[inline]
    pub(in crate::extract) fn is_in_foreign(&self) -> bool {
        let top = self.stack.elements.last();
        top.is_some_and(|top| top.features & (open::FOREIGN | open::INTEGRATION) == open::FOREIGN)
    }

    /// Closes the title or description of a drawing in which a block of HTML begins. Neither holds blocks, so its end
    /// tag is missing; the standard lets it hold the rest of the page, which nobody would see.
    pub(super) fn close_label(&mut self, tag: Tag) {
        let label = self.last(Tag::Title).max(self.last(Tag::Desc));
        if label > 0 && label == self.scope && tag.is(flag::BLOCK) {
            self.pop_to(label);
            self.leave_foreign();
        }
    }

    /// Handles a start tag within a foreign element. Returns false if the tag has ended the drawing and is HTML's.
    pub(super) fn start_foreign(
        &mut self,
        tag: Tag,
        attributes: &Attributes<'_>,
    ) -> Result<bool, ExtractError> {
        if breaks_out(tag) {
            self.leave_foreign();
            return Ok(false);
        }
        self.push_foreign(tag, attributes)?;
        Ok(true)
    }

    /// Opens an element of a drawing or formula, unless it closes itself.
    pub(super) fn push_foreign(&mut self, tag: Tag, attributes: &Attributes<'_>) -> Result<(), ExtractError> {
        if attributes.self_closing {
            return Ok(());
        }
        // HTML's rules must not match elements of a drawing that have the same names.
        let tag = if is_own(tag) { tag } else { Tag::Unknown };
        self.check_depth()?;
        let mut features = open::FOREIGN;
        // A drawing may hold the whole page, as text or as HTML.
        let is_drawing = tag == Tag::Svg && !self.reads_all_hidden();
        if is_drawing || matches!(tag, Tag::Annotation | Tag::AnnotationXml | Tag::Style | Tag::Script) {
            features |= open::SKIPPED;
        }
        if is_integration_point(tag) {
            features |= open::INTEGRATION;
        }
        let position = self.push_open(tag, features);
        if tag == Tag::Math && self.records_structure && self.inside.skipped == 0 {
            self.begin_span(tag, attributes);
        }
        if features & open::INTEGRATION != 0 {
            self.scope = position;
        }
        Ok(())
    }

    /// Handles an end tag within a foreign element. Returns false if it is HTML's.
    pub(super) fn end_foreign(&mut self, tag: Tag) -> bool {
        if matches!(tag, Tag::P | Tag::Br) {
            self.leave_foreign();
            return false;
        }
        if !is_own(tag) && tag != Tag::Unknown {
            return false;
        }
        let position = self.last(tag);
        let root = self.last(Tag::Svg).max(self.last(Tag::Math));
        if position < root || position == 0 {
            return false;
        }
        self.pop_to(position);
        true
    }

    /// Closes foreign elements until HTML's rules apply again.
    fn leave_foreign(&mut self) {
        while self.is_in_foreign() {
            self.pop_to(self.position());
        }
    }
}

/// Returns true if the element has a meaning of its own within a drawing or formula.
fn is_own(tag: Tag) -> bool {
    matches!(tag, Tag::Svg | Tag::Math | Tag::Annotation | Tag::AnnotationXml | Tag::Style | Tag::Script)
        || is_integration_point(tag)
}

/// Returns true if HTML's rules apply within this element of SVG or MathML.
fn is_integration_point(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::ForeignObject | Tag::Desc | Tag::Title | Tag::Mi | Tag::Mn | Tag::Mo | Tag::Ms | Tag::Mtext
    )
}

/// Returns true if the start tag ends a drawing or formula. `<font>` does so only with some attributes, which are not
/// read.
fn breaks_out(tag: Tag) -> bool {
    #[rustfmt::skip]
    const TAGS: [Tag; 38] = [
        Tag::B, Tag::Big, Tag::Blockquote, Tag::Body, Tag::Br, Tag::Center, Tag::Code, Tag::Dd, Tag::Div, Tag::Dl,
        Tag::Dt, Tag::Em, Tag::Embed, Tag::Head, Tag::Hr, Tag::I, Tag::Img, Tag::Li, Tag::Listing, Tag::Menu, Tag::Meta,
        Tag::Nobr, Tag::Ol, Tag::P, Tag::Pre, Tag::Ruby, Tag::S, Tag::Small, Tag::Span, Tag::Strong, Tag::Strike,
        Tag::Sub, Tag::Sup, Tag::Table, Tag::Tt, Tag::U, Tag::Ul, Tag::Var,
    ];
    TAGS.contains(&tag) || tag.heading_level() != 0
}
