//! Element names as small numbers, with the properties that the parser needs.
//!
//! In: a name's bytes in any case. Out: a [`Tag`]. Names that are not in HTML are [`Tag::Unknown`] (inline) or, with a
//! hyphen, [`Tag::Custom`] (a block, since such elements are containers on real pages). Cost: one look-up in a table of
//! 512 slots that is computed at compile time.

/// Properties of a tag, as bits in `FEATURES`.
pub(in crate::extract) mod flag {
    /// The element ends the running text before and after it, and gets a node.
    pub(crate) const BLOCK: u8 = 1;
    /// The element has no content and no end tag (`<br>`).
    pub(crate) const VOID: u8 = 2;
    /// The content of the element is not markup, and ends only at its own end tag.
    pub(crate) const RAW: u8 = 4;
    /// The content of the element is not text of the page.
    pub(crate) const SKIP: u8 = 8;
    /// The start tag closes an open `<p>`.
    pub(crate) const CLOSES_P: u8 = 16;
    /// End tags within the element do not close elements outside (the standard's *scope*).
    pub(crate) const SCOPE: u8 = 32;
    /// `<h1>` … `<h6>`.
    pub(crate) const HEADING: u8 = 64;
    /// A part of a table: a cell, a row, a group of rows or columns, or a caption.
    pub(crate) const TABLE_PART: u8 = 128;
}
use flag::{BLOCK, CLOSES_P, HEADING, RAW, SCOPE, SKIP, TABLE_PART, VOID};

macro_rules! tags {
    ($($tag:ident $name:literal $features:expr;)*) => {
        /// An element name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub(in crate::extract) enum Tag {
            /// A name that is not in HTML.
            Unknown,
            /// A name with a hyphen.
            Custom,
            $(#[doc = $name] $tag,)*
        }

        const TAGS: &[(&str, Tag, u8)] = &[("", Tag::Unknown, 0), ("", Tag::Custom, BLOCK), $(($name, Tag::$tag, $features),)*];
    };
}

/// A block that also closes `<p>`, as most blocks do.
const P: u8 = BLOCK | CLOSES_P;

tags! {
    A "a" 0;
    Abbr "abbr" 0;
    Address "address" P;
    Annotation "annotation" SKIP;
    AnnotationXml "annotation-xml" SKIP;
    Applet "applet" SCOPE;
    Area "area" VOID;
    Article "article" P;
    Aside "aside" P;
    Audio "audio" SKIP;
    B "b" 0;
    Base "base" VOID;
    Big "big" 0;
    Blockquote "blockquote" P;
    Body "body" BLOCK;
    Br "br" VOID;
    Button "button" BLOCK;
    Canvas "canvas" SKIP;
    Caption "caption" BLOCK | SCOPE | TABLE_PART;
    Center "center" P;
    Code "code" 0;
    Col "col" VOID;
    Colgroup "colgroup" BLOCK | TABLE_PART;
    Dd "dd" P;
    Desc "desc" 0;
    Details "details" P;
    Dialog "dialog" P;
    Dir "dir" P;
    Div "div" P;
    Dl "dl" P;
    Dt "dt" P;
    Em "em" 0;
    Embed "embed" VOID;
    Fieldset "fieldset" P;
    Figcaption "figcaption" P;
    Figure "figure" P;
    Font "font" 0;
    Footer "footer" P;
    ForeignObject "foreignobject" 0;
    Form "form" P;
    Frame "frame" VOID;
    Frameset "frameset" BLOCK;
    H1 "h1" P | HEADING;
    H2 "h2" P | HEADING;
    H3 "h3" P | HEADING;
    H4 "h4" P | HEADING;
    H5 "h5" P | HEADING;
    H6 "h6" P | HEADING;
    Head "head" BLOCK;
    Header "header" P;
    Hgroup "hgroup" P;
    Hr "hr" VOID | CLOSES_P;
    Html "html" BLOCK | SCOPE;
    I "i" 0;
    Iframe "iframe" RAW;
    Img "img" VOID;
    Input "input" VOID;
    Label "label" 0;
    Legend "legend" BLOCK;
    Li "li" P;
    Link "link" VOID;
    Listing "listing" P;
    Main "main" P;
    Map "map" 0;
    Marquee "marquee" BLOCK | SCOPE;
    Math "math" 0;
    Menu "menu" P;
    Meta "meta" VOID;
    Mi "mi" 0;
    Mn "mn" 0;
    Mo "mo" 0;
    Ms "ms" 0;
    Mtext "mtext" 0;
    Nav "nav" P;
    Nobr "nobr" 0;
    Noembed "noembed" RAW;
    Noframes "noframes" RAW;
    Noscript "noscript" RAW;
    Object "object" SCOPE;
    Ol "ol" P;
    Optgroup "optgroup" SKIP;
    Option "option" SKIP;
    P "p" P;
    Param "param" VOID;
    Picture "picture" 0;
    Plaintext "plaintext" P;
    Pre "pre" P;
    Q "q" 0;
    Rb "rb" 0;
    Rp "rp" SKIP;
    Rt "rt" SKIP;
    Rtc "rtc" SKIP;
    Ruby "ruby" 0;
    S "s" 0;
    Script "script" RAW;
    Search "search" P;
    Section "section" P;
    Select "select" SKIP;
    Slot "slot" 0;
    Small "small" 0;
    Source "source" VOID;
    Span "span" 0;
    Strike "strike" 0;
    Strong "strong" 0;
    Style "style" RAW;
    Sub "sub" 0;
    Summary "summary" P;
    Sup "sup" 0;
    Svg "svg" SKIP;
    Table "table" BLOCK | SCOPE;
    Tbody "tbody" BLOCK | TABLE_PART;
    Td "td" BLOCK | SCOPE | TABLE_PART;
    Template "template" SKIP | SCOPE;
    Textarea "textarea" RAW;
    Tfoot "tfoot" BLOCK | TABLE_PART;
    Th "th" BLOCK | SCOPE | TABLE_PART;
    Thead "thead" BLOCK | TABLE_PART;
    Time "time" 0;
    Title "title" RAW;
    Tr "tr" BLOCK | TABLE_PART;
    Track "track" VOID;
    Tt "tt" 0;
    U "u" 0;
    Ul "ul" P;
    Var "var" 0;
    Video "video" SKIP;
    Wbr "wbr" VOID;
    Xmp "xmp" P;
}

/// Number of tags; arrays indexed by tag have this length.
pub(in crate::extract) const COUNT: usize = TAGS.len();

/// The longest name is `annotation-xml`; anything longer is unknown.
const NAME_BYTES_MAX: usize = 14;

/// Number of slots of the table, which is a quarter full: a look-up takes 1.2 steps.
const SLOTS: usize = 512;

/// `(packed name, tag)` by hash, open addressing; a key of 0 marks a free slot.
static TABLE: [(u128, Tag); SLOTS] = table();

const fn slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

const fn table() -> [(u128, Tag); SLOTS] {
    let mut table = [(0, Tag::Unknown); SLOTS];
    let mut tag = 2;
    while tag < TAGS.len() {
        let (name, id, _) = TAGS[tag];
        let (name, mut key, mut byte) = (name.as_bytes(), 0_u128, 0);
        while byte < name.len() {
            key = (key << 8) | name[byte] as u128;
            byte += 1;
        }
        let mut at = slot(key);
        while table[at].0 != 0 {
            at = (at + 1) % SLOTS;
        }
        table[at] = (key, id);
        tag += 1;
    }
    table
}

static FEATURES: [u8; COUNT] = {
    let mut features = [0; COUNT];
    let mut tag = 0;
    while tag < COUNT {
        features[tag] = TAGS[tag].2;
        tag += 1;
    }
    features
};

impl Tag {
    /// Returns the tag of a name, in any case.
    #[inline]
    pub(in crate::extract) fn from_name(name: &[u8]) -> Self {
        if name.len() > NAME_BYTES_MAX {
            return Self::unknown(name);
        }
        // Bit 0x20 converts letters to lower case; digits and the hyphen have it already.
        let key = name.iter().fold(0_u128, |key, byte| (key << 8) | u128::from(byte | 0x20));
        let mut at = slot(key);
        loop {
            let (found, tag) = TABLE[at];
            if found == key && key != 0 {
                return tag;
            }
            if found == 0 {
                return Self::unknown(name);
            }
            at = (at + 1) % SLOTS;
        }
    }

    #[cold]
    fn unknown(name: &[u8]) -> Self {
        if memchr::memchr(b'-', name).is_some() { Self::Custom } else { Self::Unknown }
    }

    /// Returns true if the tag has any of `features`.
    #[inline]
    pub(in crate::extract) fn is(self, features: u8) -> bool {
        FEATURES[self as usize] & features != 0
    }

    /// Returns the level of a heading, 1 to 6, or 0 for other tags.
    #[inline]
    pub(in crate::extract) fn heading_level(self) -> u8 {
        if self.is(HEADING) { self as u8 - Self::H1 as u8 + 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case() {
        for (name, tag, _) in &TAGS[2..] {
            assert_eq!(Tag::from_name(name.as_bytes()), *tag, "{name}");
            assert_eq!(Tag::from_name(name.to_uppercase().as_bytes()), *tag, "{name}");
        }
        assert_eq!(Tag::from_name(b"o:p"), Tag::Unknown);
        assert_eq!(Tag::from_name(b"my-widget"), Tag::Custom);
        assert_eq!(Tag::from_name(b"a-very-long-custom-element"), Tag::Custom);
        assert_eq!(Tag::from_name(b""), Tag::Unknown);
        assert_eq!((Tag::H1.heading_level(), Tag::H6.heading_level(), Tag::P.heading_level()), (1, 6, 0));
    }
}
