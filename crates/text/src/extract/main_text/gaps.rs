//! Fills gaps in the chosen text: code, tables, definitions and headings between chosen blocks, and the declaration below
//! the page's title.
//!
//! In: the tree, its features and probabilities, the chosen blocks. Out: more chosen blocks. A gap is a run of blocks
//! between two chosen ones. If most of the text of the smallest element around both is chosen, the code, tables and so
//! on in the gap belong to it, although alone they look like boilerplate: a table of numbers, `Parameters`, a program.
//! Blocks whose names say that they are something else stay out. Cost: linear in the blocks, with a binary search and
//! at most [`LEVELS_MAX`] nodes examined for each gap and each of its blocks.

use crate::extract::main_text::features::{Features, is_heading};
use crate::extract::main_text::select::PROBABILITY_MIN;
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Node, Tree, block_flag};

/// Minimum share of the text around a gap that must be chosen, in thousandths. On labelled pages that were not learned
/// from, all values from 700 give the same result; below 700, layout tables are taken for text.
const CHOSEN_MIN: u64 = 800;

/// Like [`CHOSEN_MIN`], for terms and definitions, which occur in little else than references and glossaries.
const CHOSEN_MIN_DEFINITIONS: u64 = 400;

/// Minimum number of chosen blocks of a page whose gaps are filled.
const BLOCKS_MIN: usize = 3;

/// Maximum number of nodes above a block that are examined.
const LEVELS_MAX: usize = 64;

/// Maximum number of nodes, from a block upwards, that are searched for the element that tells its kind (`<dt>`,
/// `<dd>`, `<td>`, `<th>`).
const KIND_LEVELS: usize = 5;

/// Maximum number of blocks before the first chosen one that are searched for declarations and the page's title.
const DECLARATION_BLOCKS_MAX: usize = 12;
/// Maximum length in bytes of a block between the page's title and a declaration.
const SHORT_BYTES_MAX: u32 = 80;

/// Maximum number of headings between chosen text and a table that belongs to it.
const HEADINGS_MAX: usize = 2;

/// Hints that a block is not part of the text around it.
const OTHER: Hints =
    (hints::BOILERPLATE | hints::HIDDEN) & !(hints::WIDGET | hints::CAPTION | hints::TITLE | hints::LIST);

/// A page whose gaps are being filled.
struct Gaps<'a> {
    tree: &'a Tree,
    features: &'a Features,
    probabilities: &'a [u16],
    chosen: &'a [u32],
    /// Bytes of all blocks, and of chosen ones, before each block and after the last.
    sums: Vec<(u64, u64)>,
}

/// Adds the blocks that fill gaps to `chosen`, which is in ascending order and remains so.
pub(super) fn fill(tree: &Tree, features: &Features, probabilities: &[u16], chosen: &mut Vec<u32>) {
    let mut declared = declarations(tree, features, probabilities, chosen);
    if !declared.is_empty() {
        declared.append(chosen);
        *chosen = declared;
    }
    if chosen.len() < BLOCKS_MIN {
        return;
    }
    let gaps = Gaps { tree, features, probabilities, chosen, sums: sums(tree, chosen) };
    let mut found: Vec<u32> = Vec::new();
    for pair in chosen.windows(2).filter(|pair| pair[1] - pair[0] > 1) {
        gaps.fill_one(pair[0] as usize, pair[1] as usize, &mut found);
    }
    let mut end = 0;
    for &block in chosen.iter() {
        end = if block < end { end } else { gaps.add_tables(block, &mut found) };
    }
    if !found.is_empty() {
        chosen.extend(found);
        chosen.sort_unstable();
        chosen.dedup();
    }
}

/// Returns the code between the page's title and the first chosen block, in order: the declaration of what a page of
/// API documentation describes. Apart from code, only short lines may be between the two.
fn declarations(tree: &Tree, features: &Features, probabilities: &[u16], chosen: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    let Some(first) = chosen.first() else { return found };
    for at in (0..*first).rev().take(DECLARATION_BLOCKS_MAX) {
        let block = &tree.blocks[at as usize];
        let is_out = features.kept_out[at as usize] || features.hints(block) & OTHER != 0;
        if tree.heading_level(block) == Some(1) {
            found.reverse();
            return found;
        } else if block.features & block_flag::PREFORMATTED != 0 {
            if !is_out && probabilities[at as usize] >= PROBABILITY_MIN {
                found.push(at);
            }
        } else if block.counts.bytes > SHORT_BYTES_MAX {
            break;
        }
    }
    Vec::new()
}

/// Returns the bytes of all blocks, and of chosen ones, before each block and after the last.
fn sums(tree: &Tree, chosen: &[u32]) -> Vec<(u64, u64)> {
    let mut sums = vec![(0, 0)];
    let (mut all, mut kept) = (0_u64, 0_u64);
    let mut chosen = chosen.iter().peekable();
    for (at, block) in (0_u32..).zip(&tree.blocks) {
        all += u64::from(block.counts.bytes);
        if chosen.next_if_eq(&&at).is_some() {
            kept += u64::from(block.counts.bytes);
        }
        sums.push((all, kept));
    }
    sums
}

impl Gaps<'_> {
    /// Finds the blocks between the chosen blocks `before` and `after` that belong to the text.
    fn fill_one(&self, before: usize, after: usize, found: &mut Vec<u32>) {
        let blocks = &self.tree.blocks;
        let gap = &blocks[before + 1..after];
        let links: u64 = gap.iter().map(|block| u64::from(block.link_bytes)).sum();
        if links * 2 > self.sums[after].0 - self.sums[before + 1].0 {
            return;
        }
        let Some(share) = self.chosen_share(before, after) else { return };
        let sides = self.features.hints(&blocks[before]) | self.features.hints(&blocks[after]);
        for (at, block) in (before + 1..).zip(gap) {
            let Some(kind) = self.kind(block, before) else { continue };
            let (least, may_be_linked, other) = match kind {
                // A list of fields is not a form, and outside of posts `sig` is the signature of a function.
                GapFiller::Definition => {
                    let user = if self.features.hints(block) & hints::POST == 0 { hints::USER } else { 0 };
                    (CHOSEN_MIN_DEFINITIONS, true, OTHER & !(hints::FORM | user))
                }
                GapFiller::Other => (CHOSEN_MIN, false, OTHER),
            };
            let is_out = self.features.kept_out[at]
                || self.features.in_comment(block)
                || self.features.hints(block) & !sides & other != 0
                || self.probabilities[at] < PROBABILITY_MIN;
            let is_linked = block.link_bytes * 2 > block.counts.bytes;
            if share >= least && !is_out && (may_be_linked || !is_linked) {
                found.extend(u32::try_from(at));
            }
        }
    }

    /// Finds the tables with a header that follow the block `chosen`, with their headings. Unlike in other gaps,
    /// their cells may be links: a list of papers, or of problems and solutions.
    /// Returns their end.
    fn add_tables(&self, chosen: u32, found: &mut Vec<u32>) -> u32 {
        let mut at = chosen + 1;
        while let Some(end) = self.table_below(at as usize) {
            found.extend(at..end);
            at = end;
        }
        at
    }

    /// Returns the end of the table with a header that begins at block `first` or below the headings there.
    fn table_below(&self, first: usize) -> Option<u32> {
        let blocks = &self.tree.blocks;
        let headings = blocks[first..].iter().take(HEADINGS_MAX);
        let at = first + headings.take_while(|block| is_heading(self.tree, block)).count();
        let mut above = self.tree.around(blocks.get(at)?).take(LEVELS_MAX);
        above.by_ref().take(KIND_LEVELS).find(|node| node.tag == Tag::Th)?;
        let table = above.find(|node| node.tag == Tag::Table)?;
        let end = table.end_block;
        // The class `head` of a cell is not the header of the page.
        let is_out = |at: usize| {
            self.features.kept_out[at]
                || self.features.in_comment(&blocks[at])
                || self.features.hints(&blocks[at]) & OTHER & !hints::HEADER != 0
        };
        (table.first_block as usize == at && self.is_minor(table) && !(first..end as usize).any(is_out))
            .then_some(end)
    }

    /// Returns the chosen share of the text, in thousandths, between the first and the last chosen block of the
    /// smallest node that holds the blocks `before` and `after`. `None` if none of the [`LEVELS_MAX`] innermost nodes
    /// around `before` holds both.
    fn chosen_share(&self, before: usize, after: usize) -> Option<u64> {
        let holds_both = |node: &u32| self.tree.nodes[*node as usize].end_block as usize > after;
        let node = self.tree.ancestors(self.tree.blocks[before].node).take(LEVELS_MAX).find(holds_both)?;
        let node = &self.tree.nodes[node as usize];
        let first = self.chosen[self.chosen.partition_point(|block| *block < node.first_block)];
        let last = self.chosen[self.chosen.partition_point(|block| *block < node.end_block) - 1];
        let (from, to) = (self.sums[first as usize], self.sums[last as usize + 1]);
        Some((to.1 - from.1) * 1000 / (to.0 - from.0).max(1))
    }

    /// Returns true if a table begins after the text does and holds less than half of the chosen text, unlike a table
    /// for the page's layout. Some of its rows may be chosen.
    fn is_minor(&self, table: &Node) -> bool {
        let kept = |from: u32, to: usize| self.sums[to].1 - self.sums[from as usize].1;
        table.first_block > self.chosen[0]
            && 2 * kept(table.first_block, table.end_block as usize) < kept(0, self.tree.blocks.len())
    }

    /// Returns the kind of a block in the gap after the block `before`; `None` if it is of a kind that fills no gaps.
    fn kind(&self, block: &Block, before: usize) -> Option<GapFiller> {
        if block.features & block_flag::PREFORMATTED != 0 {
            // Code of digits alone is a line number.
            return (block.counts.bytes > u32::from(block.counts.digits)).then_some(GapFiller::Other);
        }
        if is_heading(self.tree, block) {
            return Some(GapFiller::Other);
        }
        let above = || self.tree.around(block);
        let mut is_item = false;
        for node in above().take(KIND_LEVELS) {
            match node.tag {
                Tag::Dt | Tag::Dd => return Some(GapFiller::Definition),
                Tag::Td | Tag::Th => {
                    let mut tables = above().take(LEVELS_MAX).filter(|node| node.tag == Tag::Table);
                    // A table that begins before the gap, or is within another one, may be the page's layout.
                    let begins = |table: &Node| table.first_block as usize > before || self.is_minor(table);
                    let is_within = tables.next().is_some_and(begins);
                    return (is_within && tables.next().is_none() && !is_item).then_some(GapFiller::Other);
                }
                Tag::Li => is_item = true,
                _ => {}
            }
        }
        None
    }
}

/// The kind of a block that may fill a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GapFiller {
    /// A term or its definition, or an item of a list in it.
    Definition,
    /// Code, a cell of a table, a heading.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::main_text::features::Names;
    use crate::extract::parse::{Builder, Show, Stack, scan};
    use crate::extract::{ExtractConfig, extract};

    const GAUGE: [&str; 4] = [
        "The float hangs from a steel tape that turns a wheel. A magnet is glued to its axle, and a small sensor reads \
         the angle.",
        "The loop counts a turn whenever the angle jumps past zero. It is crude, yet it lost count only once, when a \
         diver borrowed the tape.",
        "A week of readings shows two high waters a day. The surprise was a small wobble every eleven minutes, because \
         the basin rocks after each large ship.",
        "If you build one yourself, put the sensor above the highest water you can imagine, and then half a metre \
         higher.",
    ];

    fn text_of(body: &str) -> String {
        let html = format!("<title>A gauge</title><body><main><h1>A gauge</h1>{body}</main>");
        extract(&html, &ExtractConfig::default()).expect("within the limits").text()
    }

    fn paragraphs() -> [String; 4] {
        GAUGE.map(|text| format!("<p>{text}</p>"))
    }

    /// Numbers and short words look like a menu. An article must not lose the table or the program between its
    /// paragraphs in some themes, because the same article in another theme would then have another text.
    #[test]
    fn a_table_between_paragraphs_belongs_to_the_text() {
        let [first, second, third, last] = paragraphs();
        let row = |tag: &str, cells: [&str; 3]| {
            format!("<tr>{}</tr>", cells.map(|cell| format!("<{tag}><p>{cell}</p></{tag}>")).concat())
        };
        let rows = [["Marta K", "82 m", "14 mm"], ["Nordlys", "120 m", "31 mm"], ["Pilot", "17 m", "1 mm"]];
        let rows = rows.map(|cells| row("td", cells)).concat();
        let table = format!("<table>{}{rows}</table>", row("th", ["Ship", "Length", "Wobble"]));
        let text = text_of(&format!("<section>{first}{second}{third}{last}{table}{first}</section>"));
        for word in ["Ship", "Length", "Wobble", "Marta K", "120 m", "1 mm"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }

    /// A table that begins before a gap may be the page's layout. But if its first row is chosen, the other rows must
    /// not stay out.
    #[test]
    fn the_other_rows_of_a_table_belong_to_the_text_unless_it_holds_most_of_it() {
        let [first, second, third, last] = paragraphs();
        let rows = "<tr><td>Ship<td>Length<tr><td>Nordlys<td>120 m<tr><td>Pilot<td>17 m";
        for (body, is_filled) in [
            (format!("{first}{second}{third}<table>{rows}</table>{last}"), true),
            (format!("{first}<table><tr><td>{second}{third}{last}{rows}</table>{first}"), false),
        ] {
            let html = format!("<title>A gauge</title><body><main><h1>A gauge</h1>{body}</main>");
            let config = ExtractConfig::default();
            let (mut tree, mut stack, mut features) =
                (Tree::default(), Stack::default(), Features::default());
            let mut builder = Builder::new(&html, &config, Show::Also(&[]), &mut tree, &mut stack);
            scan::scan(html.as_bytes(), &mut builder).expect("within the limits");
            features.gather(&tree, html.as_bytes(), false, Names::Read);
            let is_number = |at: &u32| (3..9).contains(&tree.blocks[*at as usize].counts.bytes);
            let all = 1..u32::try_from(tree.blocks.len()).expect("a short page");
            let mut chosen: Vec<u32> = all.filter(|at| !is_number(at) || *at == 4 || *at == 5).collect();
            let before = chosen.len();
            fill(&tree, &features, &vec![500; tree.blocks.len()], &mut chosen);
            assert_eq!(chosen.len() > before, is_filled, "{body}: {chosen:?}");
        }
    }

    /// Short headings such as `Parameters` and `Return type` must not be lost if the text below them is kept.
    #[test]
    fn terms_between_definitions_belong_to_the_text() {
        let [first, second, third, last] = paragraphs();
        let method = |name: &str, of: &str| {
            format!(
                "<dl class='py method'><dt class=sig><code>{name}(turns, degrees)</code></dt><dd><p>Returns the height \
                 of the {of}.</p><dl class='field-list simple'><dt class=field-odd>Parameters</dt><dd class=field-odd>\
                 <ul class=simple><li><p><strong>turns</strong> (int) – The turns.</p></li><li><p>\
                 <strong>degrees</strong> (float) – The angle.</p></li></ul></dd><dt class=field-even>Return type</dt>\
                 <dd class=field-even><p>float</p></dd></dl></dd></dl>"
            )
        };
        let (water, mud) = (method("height", "water"), method("depth", "mud"));
        let text = text_of(&format!("{first}{water}{second}{mud}{third}{last}"));
        for word in ["Parameters\n", "Return type\n"] {
            assert_eq!(text.matches(word).count(), 2, "{text}");
        }
    }

    /// In the documentation of Rust, the declaration of a function is between the title and a short description. It
    /// must not be lost.
    #[test]
    fn code_below_the_title_belongs_to_the_text() {
        let [first, second, ..] = paragraphs();
        let code = "<pre class=fn><code>pub fn height(<br>    turns: u32,<br>) -> Metres</code></pre>";
        let text = text_of(&format!(
            "<span>1.0.0</span>{code}<details open><summary>Expand</summary>{first}</details>"
        ));
        assert!(text.contains("pub fn height(") && text.contains("float hangs"), "{text}");
        let html = format!(
            "<title>A gauge</title><body><pre>advert</pre><main><h1>A gauge</h1>{first}{second}</main>"
        );
        let text = extract(&html, &ExtractConfig::default()).expect("within the limits").text();
        assert!(!text.contains("advert"), "{text}");
    }

    /// Signatures of functions between paragraphs must not be lost, although `sig` is also a signature below a forum's
    /// post. A user's data next to a post stay out.
    #[test]
    fn signatures_of_functions_belong_to_the_text_but_profiles_do_not() {
        let [first, second, third, last] = paragraphs();
        let function = |name: &str| {
            format!(
                "<dl class='py function'><dt class='sig sig-object py' id=gauge.{name}>gauge.{name}(turns, *, degrees=0)</dt>\
                 <dd><p>{}</p></dd></dl>",
                GAUGE[1]
            )
        };
        let text = text_of(&format!("{first}{}{second}{}{last}", function("height"), function("depth")));
        assert!(text.contains("gauge.height(turns") && text.contains("gauge.depth(turns"), "{text}");

        let post = |text: &str| {
            format!(
                "<div class=post><dl class=postprofile><dt>tide_watcher</dt><dd class=profile-posts>Posts: 6217</dd></dl>\
                 <div class=content>{text}</div></div>"
            )
        };
        let text = text_of(&[first, second, third, last].map(|text| post(&text)).concat());
        assert!(!text.contains("6217"), "{text}");
    }

    /// A heading must not be all that is left of a section whose table consists of links.
    #[test]
    fn tables_below_headings_belong_to_the_text() {
        let [first, second, third, _] = paragraphs();
        let rows = "<tr><th>Paper<th>Year<tr><td><a href=1>Wobbles of basins</a><td><a href=2>1977</a>";
        for (tags, is_kept) in [("table><thead", true), ("nav><table", false)] {
            let text = text_of(&format!("{first}{second}{third}<h2>Papers</h2><{tags}>{rows}</table></nav>"));
            assert_eq!(text.contains("Wobbles of basins") && text.contains("1977"), is_kept, "{text}");
        }
    }

    /// A program next to the numbers of its lines is kept, although the theme puts both into a table.
    #[test]
    fn gaps_with_links_or_other_names_and_numbers_of_lines_stay_out() {
        let [first, second, third, last] = paragraphs();
        let links = "<table><tr><td><a href=1>Nordlys sails again</a><td><a href=2>Weir closed</a></table>";
        let named = "<div class='related-posts'><h4>Related harbours</h4></div>";
        let numbers =
            "<table><tr><td><pre>1\n2\n3</pre><td><pre>turns += 1\nprint(turns)\nsleep(1)</pre></table>";
        let number = "<table><tr><td><pre>1</pre><td><pre>height(turns, angle)</pre></table>";
        let text = text_of(&format!("{first}{links}{second}{number}{third}{numbers}{last}{named}"));
        for word in ["sails again", "Related", "1\n2", "\n1\n"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(text.contains("print(turns)") && text.contains("height(turns, angle)"), "{text}");
    }
}
