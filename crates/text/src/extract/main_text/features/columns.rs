//! Names of the features, and the layout of their values.
//!
//! A table with a column for each [`Feature`] and one value per block. Scoring processes a column for some blocks at a
//! time.

use super::{context, phrases};

macro_rules! features {
    ($($flag:ident)*) => {
        /// The columns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        #[allow(missing_docs, dead_code, reason = "the names say it; ancestor_ranges, hints and phrases are reached by number")]
        pub(in crate::extract) enum Feature { $($flag,)* Hint0, Phrase0 = Feature::Hint0 as usize + 31, End = Feature::Hint0 as usize + 31 + phrases::KINDS }

        /// Names of the columns, for the training tool.
        pub(in crate::extract) fn names() -> Vec<String> {
            let mut names: Vec<String> = [$(stringify!($flag),)*].iter().map(|name| (*name).to_owned()).collect();
            names.extend((0..31).map(|bit| format!("Hint{bit}")));
            names.extend((0..phrases::KINDS).map(|kind| format!("Phrase{kind}")));
            names
        }
    };
}

features! {
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
    Ancestor0Share Ancestor0Links Ancestor0Blocks Ancestor0Mean Ancestor0Text
    Ancestor1Share Ancestor1Links Ancestor1Blocks Ancestor1Mean Ancestor1Text
    Ancestor2Share Ancestor2Links Ancestor2Blocks Ancestor2Mean Ancestor2Text
    Ancestor3Share Ancestor3Links Ancestor3Blocks Ancestor3Mean Ancestor3Text
    BoilerplateShare BoilerplateCount ContentShare ContentCount NearHints NearContent
    // Blocks of the same signature.
    SimilarCount SimilarBytes SimilarLinks SimilarMean
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
    // The text that the page describes, and the path to it and to the title.
    Described DescribedCover DescribedBody PageDescribed PageBody SinceAnchor AnchorUp AnchorText AnchorSimilar TitleUp TitleText
    // Candidates.
    ArticleNumber ArticleText ArticleAnchor InReadable ReadableText ReadablePoints InNamed NamedText
    // The page.
    PageBytes PageLinks PageBlocks PageMean PageLongShare PageParagraphShare PageHighShare PageArticle PageArticles PageNodesPerBlock
    PageHeadings PageItemShare PageSimilarShare PageShopPhrases PageDates PageProduct PageList PageForum PageQuestions
}

/// Number of features of the first scoring.
pub(in crate::extract) const WIDTH: usize = Feature::End as usize;

/// Number of blocks that are scored at once; their values of one column are adjacent in memory.
pub(in crate::extract) const LANES: usize = 32;

/// The values of [`LANES`] blocks in all columns; the columns of the context follow the features.
pub(in crate::extract) type Tile = [[i16; LANES]; WIDTH + context::WIDTH];

/// All values of a page, in tiles. A tile (15 KB) stays in the fastest cache while it is filled and scored. Values past
/// the last block are zero and ignored.
#[derive(Debug, Default)]
pub(in crate::extract) struct Columns {
    pub(in crate::extract) tiles: Vec<Tile>,
}

/// Number of tiles whose memory is kept from page to page (16 MB). Only pages with more than 32,000 blocks need more.
const TILES_KEPT: usize = 1024;

impl Columns {
    /// Makes room for `blocks` blocks and sets their features to zero.
    pub(in crate::extract) fn clear(&mut self, blocks: usize) {
        self.tiles.clear();
        self.tiles.shrink_to(TILES_KEPT);
        self.tiles.resize(blocks.div_ceil(LANES), [[0; LANES]; WIDTH + context::WIDTH]);
    }

    /// Returns the values of one block, for reading and writing.
    pub(in crate::extract) fn row(&mut self, at: usize) -> Row<'_> {
        Row { tile: &mut self.tiles[at / LANES], lane: at % LANES, at }
    }

    /// Returns the features of one block.
    pub(in crate::extract) fn features(&self, at: usize) -> Vec<i16> {
        self.tiles[at / LANES][..WIDTH].iter().map(|column| column[at % LANES]).collect()
    }
}

/// A reference to one block's values.
pub(in crate::extract) struct Row<'a> {
    tile: &'a mut Tile,
    lane: usize,
    /// The index of the block.
    pub(in crate::extract) at: usize,
}

impl Row<'_> {
    #[inline]
    pub(in crate::extract) fn put(&mut self, column: usize, value: i16) {
        self.tile[column][self.lane] = value;
    }

    #[inline]
    pub(in crate::extract) fn set(&mut self, flag: Feature, value: i16) {
        self.put(flag as usize, value);
    }

    pub(in crate::extract) fn get(&self, flag: Feature) -> i16 {
        self.tile[flag as usize][self.lane]
    }

    pub(in crate::extract) fn add(&mut self, flag: Feature) {
        self.set(flag, self.get(flag).saturating_add(1));
    }
}
