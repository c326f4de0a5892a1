//! The names of the facts, and where a block's values stand.
//!
//! A table of columns, one a [`Fact`], one value a block in each: weighing goes down a column some blocks at a time.

use crate::extract::{context, phrases};

macro_rules! facts {
    ($($fact:ident)*) => {
        /// The columns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        #[allow(missing_docs, dead_code, reason = "the names say it; rings, hints and phrases are reached by number")]
        pub(in crate::extract) enum Fact { $($fact,)* Hint0, Phrase0 = Fact::Hint0 as usize + 31, End = Fact::Hint0 as usize + 31 + phrases::KINDS }

        /// Names of the columns, for the training tool.
        pub(in crate::extract) fn names() -> Vec<String> {
            let mut names: Vec<String> = [$(stringify!($fact),)*].iter().map(|name| (*name).to_owned()).collect();
            names.extend((0..31).map(|bit| format!("Hint{bit}")));
            names.extend((0..phrases::KINDS).map(|kind| format!("Phrase{kind}")));
            names
        }
    };
}

facts! {
    // The block itself.
    Bytes LinkShare Commas Stops DigitShare CapitalShare Words BytesPerWord StrongShare Links ImagesBefore Segments
    AfterBreak AfterRule AfterControl InBlockLink Preformatted Code Time
    HeadingLevel IsParagraph IsItem IsCell IsDivision IsDefinition InTable InList InQuote InForm InHeading
    LastByte FirstByte HighShare
    // Its neighbours.
    PreviousBytes PreviousLinkShare PreviousStops PreviousHeading PreviousSameNode
    NextBytes NextLinkShare NextStops NextHeading NextSameNode
    Previous2Bytes Next2Bytes Previous2LinkShare Next2LinkShare
    AroundText AroundLinks BeforeText AfterText
    SinceHeading ToHeading
    // Its place on the page.
    Index IndexShare BytesShare BlocksAfter Depth
    // Enclosing nodes, from the inside out.
    Ring0Share Ring0Links Ring0Blocks Ring0Mean Ring0Text
    Ring1Share Ring1Links Ring1Blocks Ring1Mean Ring1Text
    Ring2Share Ring2Links Ring2Blocks Ring2Mean Ring2Text
    Ring3Share Ring3Links Ring3Blocks Ring3Mean Ring3Text
    FurnitureShare FurnitureCount ContentShare ContentCount NearHints NearContent
    // Blocks of the same make.
    KinCount KinBytes KinLinks KinMean
    // The best node and the best run of blocks.
    InBestNode BestNodeDistance BestNodeShare InBestRun BestRunDistance BestRunShare FromBestStart ToBestEnd
    // The title.
    InTitle SinceTitle HasTitle
    // The same text elsewhere on the page.
    CopiesBefore Copies
    // The section: from the last heading to the next.
    SectionBytes SectionLinks SectionText SectionBlocks SectionLevel SectionRelated SectionComment SectionAccount SectionShop SectionShare
    // Readers' comments.
    InComment CommentShare OutsideComment
    // What the page announces, and the way to it and to the title.
    Announced AnnouncedCover AnnouncedBody PageAnnounced PageBody SinceAnchor AnchorUp AnchorText AnchorKin TitleUp TitleText
    // Candidates.
    ArticleNumber ArticleText ArticleAnchor InReadable ReadableText ReadablePoints InNamed NamedText
    // The page.
    PageBytes PageLinks PageBlocks PageMean PageLongShare PageParagraphShare PageHighShare PageArticle PageArticles PageNodesPerBlock
    PageHeadings PageItemShare PageKinShare PageShopPhrases PageDates PageProduct PageList PageForum PageQuestions
}

/// Number of facts of the first weighing.
pub(in crate::extract) const WIDTH: usize = Fact::End as usize;

/// Blocks that are weighed at once; their values of one column stand beside one another.
pub(in crate::extract) const LANES: usize = 32;

/// The values of [`LANES`] blocks in all columns, the context's after the facts.
pub(in crate::extract) type Tile = [[i16; LANES]; WIDTH + context::WIDTH];

/// All values of a page, in tiles: a tile (15 KB) stays in the nearest cache while it is filled and weighed. Values past
/// the last block are zero and mean nothing.
#[derive(Debug, Default)]
pub(in crate::extract) struct Columns {
    pub(in crate::extract) tiles: Vec<Tile>,
}

/// Tiles whose memory is kept from page to page (16 MB); only pages with more than 32,000 blocks need more.
const TILES_KEPT: usize = 1024;

impl Columns {
    /// Makes room for `blocks` blocks without facts.
    pub(in crate::extract) fn clear(&mut self, blocks: usize) {
        self.tiles.clear();
        self.tiles.shrink_to(TILES_KEPT);
        self.tiles.resize(blocks.div_ceil(LANES), [[0; LANES]; WIDTH + context::WIDTH]);
    }

    /// The values of one block, to be read and written.
    pub(in crate::extract) fn row(&mut self, at: usize) -> Row<'_> {
        Row { tile: &mut self.tiles[at / LANES], lane: at % LANES, at }
    }

    /// The facts of one block.
    pub(super) fn facts(&self, at: usize) -> Vec<i16> {
        self.tiles[at / LANES][..WIDTH].iter().map(|column| column[at % LANES]).collect()
    }
}

/// The place of one block's values.
pub(in crate::extract) struct Row<'a> {
    tile: &'a mut Tile,
    lane: usize,
    /// The block.
    pub(super) at: usize,
}

impl Row<'_> {
    #[inline]
    pub(in crate::extract) fn put(&mut self, column: usize, value: i16) {
        self.tile[column][self.lane] = value;
    }

    #[inline]
    pub(super) fn set(&mut self, fact: Fact, value: i16) {
        self.put(fact as usize, value);
    }

    pub(super) fn get(&self, fact: Fact) -> i16 {
        self.tile[fact as usize][self.lane]
    }

    pub(super) fn add(&mut self, fact: Fact) {
        self.set(fact, self.get(fact).saturating_add(1));
    }
}
