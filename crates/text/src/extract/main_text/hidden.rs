//! Decides which hidden parts of a page belong to its text: collapsed sections, tab panels, the rest of an article
//! after "read more", and the page under an open dialog.
//!
//! In: the tree, with the hidden elements that hold prose, the chosen blocks and the page's headline. Out: the offsets
//! of the elements that readers would open to read. An element belongs to the text if it holds most of the prose of a
//! page that shows no article, if it is next to chosen text in the same part of the page, or if it is one of several
//! short sections, each below a line of its own, such as answers to questions. Parts outside of the article that a
//! page shows (conditions, help) are not. Transparent elements are read if the page shows no article, or if there are
//! several, as on pages whose sections appear one by one. Elements named as a dialog, a form or an advertisement are
//! left out. A class name alone, such as `paywall`, does not remove a large part of an article. Cost: linear in the
//! nodes, blocks and hidden elements, at any depth of nesting.

use std::collections::HashMap;

use memchr::memmem;

use crate::extract::main_text::features::{PROSE_BYTES, consent, is_prose, source};
use crate::extract::main_text::select::NEARLY_EMPTY;
use crate::extract::parse::Unseen;
use crate::extract::parse::count::Counts;
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Hidden, Tree};

/// Maximum bytes of prose per comma or full stop. English has one in 50 to 100 bytes, Chinese one in 40.
const BYTES_PER_MARK_MAX: u32 = 400;

/// Maximum number of blocks from an element to chosen text. Those in between are short, such as headings and button
/// labels.
const SHORT_BLOCKS_MAX: usize = 30;

/// Maximum number of levels from chosen text up to a node that holds the hidden element as well.
const LEVELS_MAX: usize = 3;

/// Minimum bytes of prose of an element that is part of the text around it although its class name suggests a dialog.
/// Articles in a `paywall` and panels called `dropdown-content` are longer; what pops up over an article is shorter.
const NAMED_BYTES_MIN: u32 = 400;
/// One part in this many of the page's prose must be in an element for it to belong to the text although its class name
/// suggests a dialog.
const NAMED_DIVISOR: u64 = 4;

/// Minimum number of transparent elements on a page whose sections appear one by one.
const FAINT_MIN: usize = 3;

/// Minimum number of blocks of prose in hidden dialogs that may be the text of a page without other text.
const DIALOG_BLOCKS_MIN: usize = 3;

/// Maximum bytes of a hidden element's source that are searched for words of consent.
const CONSENT_BYTES: u32 = 2_000;

/// Names of elements that are hidden because they are not part of the text.
const OUT: Hints = hints::POPUP
    | hints::CONSENT
    | hints::FORM
    | hints::COMMENT
    | hints::AD
    | hints::PROMO
    | hints::SHARE
    | hints::FOOTER
    | hints::USER;

/// Returns the offsets of the hidden elements that belong to the text of `tree`, in order. `chosen` lists the chosen
/// blocks in order; `headline` is the block with the page's title.
pub(super) fn parts_of_text(html: &str, tree: &Tree, chosen: &[u32], headline: Option<usize>) -> Vec<u32> {
    if tree.hidden.is_empty() {
        return Vec::new();
    }
    let is_prose = |hidden: &&Hidden| {
        hidden.unseen != Unseen::Faint && hidden.counts.bytes >= PROSE_BYTES && is_punctuated(&hidden.counts)
    };
    let candidates: Vec<&Hidden> = tree.hidden.iter().filter(is_prose).collect();
    let all: u64 =
        visible_prose(tree) + candidates.iter().map(|hidden| u64::from(hidden.counts.bytes)).sum::<u64>();
    let page = Page {
        html,
        tree,
        last: last_descendants(tree),
        chosen,
        headline,
        shown: Shown::find(tree, chosen, headline),
    };
    let belongs = |hidden: &Hidden| {
        let (bytes, names) = (u64::from(hidden.counts.bytes), names_against(html, hidden));
        let is_most = bytes * 2 > all
            && names & (hints::POPUP | hints::CONSENT) == 0
            && !page.shows_article_without(hidden);
        let is_misnamed = names == hints::POPUP
            && !hidden.is_dialog
            && hidden.counts.bytes >= NAMED_BYTES_MIN
            && bytes * NAMED_DIVISOR >= all
            && !asks_for_consent(html, hidden);
        is_most || ((names == 0 || is_misnamed) && page.is_next_to_text(hidden))
    };
    let mut found: Vec<u32> =
        candidates.into_iter().filter(|hidden| belongs(hidden)).map(|hidden| hidden.at).collect();
    found.extend(page.short_sections(all));
    found.extend(page.faint_parts());
    found.sort_unstable();
    found.dedup();
    found
}

/// A page with its chosen blocks.
struct Page<'a> {
    html: &'a str,
    tree: &'a Tree,
    /// The result of [`last_descendants`].
    last: Vec<u32>,
    chosen: &'a [u32],
    /// The block with the page's title.
    headline: Option<usize>,
    shown: Option<Shown>,
}

/// The article that a page shows: chosen prose below its headline.
struct Shown {
    /// The first block of that prose.
    first: usize,
    /// The innermost `<article>` around it, or element around it and the headline.
    article: Option<u32>,
}

impl Shown {
    fn find(tree: &Tree, chosen: &[u32], headline: Option<usize>) -> Option<Self> {
        let is_in_dialog = in_dialogs(tree);
        let is_text = |block: &&Block| is_prose(block) && !is_in_dialog[block.node as usize];
        let below = chosen
            .iter()
            .map(|&block| block as usize)
            .filter(|block| headline.is_none_or(|above| above < *block));
        let prose: Vec<usize> = below.filter(|block| is_text(&&tree.blocks[*block])).collect();
        let bytes: u32 = prose.iter().map(|block| tree.blocks[*block].counts.bytes).sum();
        let first = prose.first().copied()?;
        (bytes >= NEARLY_EMPTY).then(|| Self {
            first,
            article: tree.ancestors(tree.blocks[first].node).find(|node| is_article(tree, *node, headline)),
        })
    }
}

impl Page<'_> {
    /// Returns true if the page shows an article that does not have its place around the hidden element, and the
    /// element is not an article itself.
    fn shows_article_without(&self, hidden: &Hidden) -> bool {
        let Some(shown) = &self.shown else { return false };
        let source = self.html.as_bytes().get(hidden.at as usize..hidden.end as usize).unwrap_or_default();
        let is_article =
            ["<h1", "<main", "<article"].iter().any(|tag| memmem::find(source, tag.as_bytes()).is_some());
        let is_section = self.is_below_line(hidden)
            && hidden.block as usize > self.headline.unwrap_or(shown.first)
            && shown.article.is_none_or(|node| self.holds(node, hidden));
        !is_article && !is_section
    }

    /// Returns true if the element is below a line of its own, such as a heading, other than the headline and lines of
    /// a footer.
    fn is_below_line(&self, hidden: &Hidden) -> bool {
        let above = (hidden.block as usize).checked_sub(1).filter(|above| Some(*above) != self.headline);
        above.is_some_and(|above| !is_prose(&self.tree.blocks[above]) && !self.is_in_footer(above, hidden))
    }

    /// Returns the offsets of the transparent elements that belong to the text.
    fn faint_parts(&self) -> Vec<u32> {
        let faint = self.tree.hidden.iter().filter(|hidden| {
            let is_popup = names_against(self.html, hidden) & (hints::POPUP | hints::CONSENT) != 0;
            hidden.unseen == Unseen::Faint && !is_popup
        });
        let faint: Vec<&Hidden> = faint.collect();
        let belongs = |hidden: &&&Hidden| faint.len() >= FAINT_MIN || !self.shows_article_without(hidden);
        faint.iter().filter(belongs).map(|hidden| hidden.at).collect()
    }

    /// Returns the offsets of sections that are too short to be prose one by one: elements with the same structural
    /// signature, each below a line of its own, that together are prose and are next to the text or are most of it.
    /// `all` is the number of bytes of prose on the page.
    fn short_sections(&self, all: u64) -> Vec<u32> {
        let (html, tree) = (self.html, self.tree);
        let is_below_line = |hidden: &&Hidden| {
            let above = (hidden.block as usize).checked_sub(1).and_then(|above| tree.blocks.get(above));
            names_against(html, hidden) == 0
                && !hidden.is_dialog
                && hidden.tag != Tag::Button
                && hidden.unseen != Unseen::Faint
                && above.is_some_and(|above| !is_prose(above))
        };
        let mut by_signature: HashMap<u32, Vec<&Hidden>> = HashMap::new();
        for hidden in tree.hidden.iter().filter(is_below_line) {
            by_signature.entry(hidden.signature).or_default().push(hidden);
        }
        let is_text = |sections: &[&Hidden]| {
            let lines = sections.windows(2).filter(|pair| pair[0].block != pair[1].block).count() + 1;
            let (bytes, stops) = sections.iter().fold((0, 0), |(bytes, stops), section| {
                (bytes + section.all.bytes, stops + usize::from(section.all.stops.min(1)))
            });
            let is_by_text = || sections.iter().any(|section| self.is_next_to_text(section));
            // Each section is below a line of its own, and most have sentences. This is not so for lists and labels.
            sections.len() > 1
                && lines == sections.len()
                && stops * 2 > sections.len()
                && bytes >= PROSE_BYTES
                && ((u64::from(bytes) * 2 > all && !self.shows_article_without(sections[0])) || is_by_text())
        };
        by_signature
            .into_values()
            .filter(|sections| is_text(sections))
            .flatten()
            .map(|section| section.at)
            .collect()
    }

    /// Returns true if there is chosen prose before or after the element in the same part of the page, with only short
    /// blocks in between. If that part is the whole page, there must be prose on both sides. A collapsed section
    /// without height must be below a line of its own.
    fn is_next_to_text(&self, hidden: &Hidden) -> bool {
        let (tree, at) = (self.tree, hidden.block as usize);
        let is_chosen =
            |block: usize| u32::try_from(block).is_ok_and(|block| self.chosen.binary_search(&block).is_ok());
        let is_text = |block: &usize| is_chosen(*block) && is_prose(&tree.blocks[*block]);
        let ends = |block: &usize| is_prose(&tree.blocks[*block]) || self.is_in_footer(*block, hidden);
        let near = |blocks: &mut dyn Iterator<Item = usize>| {
            let found = blocks.take(SHORT_BLOCKS_MAX).find(ends).filter(is_text)?;
            common_node(tree, &self.last, &tree.blocks[found], hidden)
        };
        let sides = [near(&mut (0..at).rev()), near(&mut (at..tree.blocks.len()))];
        let is_page = |node: u32| matches!(tree.nodes[node as usize].tag, Tag::Html | Tag::Body);
        let is_section = hidden.unseen != Unseen::Flat || self.is_below_line(hidden);
        is_section
            && (sides.iter().all(Option::is_some) || sides.into_iter().flatten().any(|node| !is_page(node)))
    }

    /// Returns true if the hidden element is within the node.
    fn holds(&self, node: u32, hidden: &Hidden) -> bool {
        (node..=self.last[node as usize]).contains(&hidden.parent)
    }

    /// Returns true if the block is in a footer that does not hold the element.
    fn is_in_footer(&self, block: usize, hidden: &Hidden) -> bool {
        let mut above = self.tree.ancestors(self.tree.blocks[block].node).take(LEVELS_MAX);
        above.any(|node| {
            self.tree.nodes[node as usize].hints & hints::FOOTER != 0 && !self.holds(node, hidden)
        })
    }
}

/// Returns true if a node around a block of an article is the article: an `<article>`, or a node around the headline.
fn is_article(tree: &Tree, node: u32, headline: Option<usize>) -> bool {
    let node = &tree.nodes[node as usize];
    node.tag == Tag::Article || headline.is_some_and(|headline| node.holds(headline))
}

/// Returns the hints in an element's names that it is not part of the text. For elements other than dialogs, a name of
/// consent counts only if the words confirm it: `cmp-` begins every class of Adobe Experience Manager.
fn names_against(html: &str, hidden: &Hidden) -> Hints {
    match hidden.hints & OUT {
        names if names & hints::CONSENT != 0 && !hidden.is_dialog && !asks_for_consent(html, hidden) => {
            names & !(hints::CONSENT | hints::POPUP)
        }
        names => names,
    }
}

fn asks_for_consent(html: &str, hidden: &Hidden) -> bool {
    let end = hidden.end.min(hidden.at.saturating_add(CONSENT_BYTES));
    html.as_bytes().get(hidden.at as usize..end as usize).is_some_and(consent::speaks)
}

/// Returns true if the text is punctuated like prose. Lists of words for search engines, hidden from readers, have no
/// punctuation.
fn is_punctuated(counts: &Counts) -> bool {
    u32::from(counts.commas) + u32::from(counts.stops) >= counts.bytes / BYTES_PER_MARK_MAX
}

/// Returns the bytes of prose that the page shows outside of dialogs.
pub(super) fn visible_prose(tree: &Tree) -> u64 {
    let is_in_dialog = in_dialogs(tree);
    let shown = tree.blocks.iter().filter(|block| is_prose(block) && !is_in_dialog[block.node as usize]);
    shown.map(|block| u64::from(block.counts.bytes)).sum()
}

/// Returns the bytes of prose of a page whose hidden elements are read. Prose in dialogs counts only if there are
/// several blocks of it, and none of them asks for consent.
pub(super) fn opened_prose(html: &str, tree: &Tree) -> u64 {
    let is_in_dialog = in_dialogs(tree);
    let within = tree.blocks.iter().filter(|block| is_prose(block) && is_in_dialog[block.node as usize]);
    let within: Vec<&Block> = within.collect();
    let speaks = |block: &&Block| consent::speaks(source(tree, block, html.as_bytes()));
    let is_text = within.len() >= DIALOG_BLOCKS_MIN && !within.iter().any(speaks);
    let in_dialogs: u64 = within.iter().map(|block| u64::from(block.counts.bytes)).sum();
    visible_prose(tree) + if is_text { in_dialogs } else { 0 }
}

/// Returns for each node whether it is in a dialog or is one. Parents come before their children, so each node needs
/// only its parent's answer.
fn in_dialogs(tree: &Tree) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let is_parent_in = found.get(node.parent as usize).is_some_and(|&is_in| is_in);
        found.push(is_parent_in || node.hints & (hints::POPUP | hints::CONSENT) != 0);
    }
    found
}

/// Returns for each node its last descendant, or the node itself if it has no children. Nodes are in document order, so
/// a node holds exactly those up to its last descendant.
fn last_descendants(tree: &Tree) -> Vec<u32> {
    let mut last: Vec<u32> = (0_u32..).take(tree.nodes.len()).collect();
    for (at, node) in tree.nodes.iter().enumerate().rev() {
        let parent = node.parent as usize;
        last[parent] = last[parent].max(last[at]);
    }
    last
}

/// Returns the innermost node that holds both the block and the hidden element, if it is at most [`LEVELS_MAX`] levels
/// above the block's node. It may be the whole page only if it is that node or its parent. `last` is the result of
/// [`last_descendants`].
fn common_node(tree: &Tree, last: &[u32], block: &Block, hidden: &Hidden) -> Option<u32> {
    let mut above = tree.ancestors(block.node).take(LEVELS_MAX + 1).enumerate();
    let (level, node) = above.find(|(_, node)| (*node..=last[*node as usize]).contains(&hidden.parent))?;
    (level <= 1 || !matches!(tree.nodes[node as usize].tag, Tag::Html | Tag::Body)).then_some(node)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parts_of_text;
    use crate::extract::main_text::Chooser;
    use crate::extract::{ExtractConfig, extract};
    use crate::wait::cpu_time;

    const FERRY: &str = "<p>The ferry between the bay and the outer islands will stop running at the end of October, \
        the harbour board said on Tuesday after a long meeting.</p><p>Passengers have complained for years about \
        cancelled crossings, but the board blamed a worn gearbox that nobody can repair.</p>";
    const PIER: &str = "<p>A replacement vessel could be chartered from the mainland, although its draught is too \
        deep for the old stone pier.</p><p>Shopkeepers fear that deliveries of flour and medicine will become \
        irregular, and several families have moved inland.</p>";
    const STORM: &str = "<p>The council promised to look for money, while the union offered two trawlers that may carry \
        mail and up to nine people in calm weather.</p><p>A decision is expected before the spring tide, when \
        engineers want to measure how much silt has gathered below the old cannery.</p>";
    const OFFER: &str = "<p>Leave your address here, and once a week we will send you the best stories of the \
        region, with pictures and maps, free of charge and without advertising.</p>";

    fn text_of(body: &str) -> String {
        let html = format!("<title>Ferry to stop</title><body><main><h1>Ferry to stop</h1>{body}</main>");
        extract(&html, &ExtractConfig::default()).expect("within the limits").text()
    }

    /// Sections that readers open, panels behind tabs and text after "read more" must not be lost.
    #[test]
    fn collapsed_sections_of_an_article_belong_to_it() {
        for part in [
            "<h2>Pier</h2><div style='display:none'>PIER</div>",
            "<h2>Pier</h2><section hidden class=collapse>PIER</section>",
            "<button>Read more</button><div class=more aria-hidden=true>PIER</div>",
        ] {
            let text = text_of(&format!("<article>{FERRY}{}</article>", part.replace("PIER", PIER)));
            assert!(text.contains("gearbox") && text.contains("Shopkeepers"), "{part}: {text}");
        }
        let tabs = format!(
            "<div class=tabs><div role=tabpanel>{FERRY}</div><div role=tabpanel hidden>{PIER}</div></div>"
        );
        let first = format!("<article><div><div hidden>{PIER}</div></div>{FERRY}</article>");
        for text in [tabs, first].map(|body| text_of(&body)) {
            assert!(text.contains("gearbox") && text.contains("Shopkeepers"), "{text}");
        }
    }

    /// Answers shorter than a line, sections in hidden elements within hidden elements, and articles in elements with a
    /// class like `paywall` must not be lost.
    #[test]
    fn hidden_sections_are_found_whatever_their_length_depth_or_class() {
        let answers = [
            ("How long does it take?", "Orders leave our store within two days."),
            ("Can I send things back?", "Yes, within thirty days, as long as they are unused."),
            ("How do I pay?", "By card or by transfer."),
            ("Who answers the phone?", "Our staff in Lower Wexcombe, from nine to five."),
        ];
        for (begin, middle, end) in [
            ("<h3>", "</h3><div style='display:none'><p>", "</p></div>"),
            ("<div class=item><h3>", "</h3><div class=answer hidden>", "</div></div>"),
            ("<dl><dt>", "</dt><dd aria-hidden=true>", "</dd></dl>"),
            ("<h3><button aria-expanded=false>", "</button></h3><div hidden>", "</div>"),
        ] {
            let list = answers.map(|(question, answer)| format!("{begin}{question}{middle}{answer}{end}"));
            for before in ["", FERRY] {
                let text = text_of(&format!("{before}{}", list.concat()));
                for (question, answer) in answers {
                    assert!(text.contains(question) && text.contains(answer), "{begin} {before}: {text}");
                }
            }
        }
        for names in ["", "class=paywall", "class=dropdown-content", "class=tooltip-text", "id=notice-body"] {
            for (begin, end) in [("", ""), ("<div hidden>", "</div>")] {
                let part = format!("<div {names} hidden>{begin}{PIER}{STORM}{end}</div>");
                let text = text_of(&format!("<article>{FERRY}{part}</article>"));
                assert!(text.contains("Shopkeepers") && text.contains("cannery"), "{part}: {text}");
            }
        }
    }

    /// `cmp-` begins every class of Adobe Experience Manager, whose collapsed panels must not be taken for consent
    /// banners.
    #[test]
    fn collapsed_sections_named_after_consent_are_kept_unless_they_ask_for_it() {
        let panel = |text: &str| {
            format!(
                "<h3><button>More</button></h3><div class=cmp-accordion__panel aria-hidden=true>{text}</div>"
            )
        };
        let text = text_of(&[FERRY, PIER, STORM].map(panel).concat());
        assert!(
            text.contains("gearbox") && text.contains("Shopkeepers") && text.contains("cannery"),
            "{text}"
        );
        let ask =
            "<p>We use cookies, with your consent, to show advertising and to measure how it performs.</p>";
        let text =
            text_of(&format!("<article>{FERRY}<div class=cmp-text hidden>{ask}</div>{PIER}</article>"));
        assert!(text.contains("gearbox") && !text.contains("advertising"), "{text}");
    }

    /// The headings of an accordion are buttons, but must not be lost with all other buttons.
    #[test]
    fn a_button_at_the_start_of_a_heading_is_its_text() {
        let sections = [("Ferry", FERRY), ("Pier", PIER)];
        let sections = sections.map(|(name, text)| {
            format!("<h2><span><button type=button>About the {name}</button></span></h2><div>{text}</div>")
        });
        let body = format!(
            "{}<h2>Storm<button>Copy link</button></h2>{STORM}<button>Send</button>",
            sections.concat()
        );
        let text = text_of(&body);
        assert!(text.contains("About the Ferry\n") && text.contains("About the Pier\n"), "{text}");
        assert!(!text.contains("Copy link") && !text.contains("Send"), "{text}");
    }

    /// A browser does not show labels, banners, forms, or a `<dialog>` that is not open.
    #[test]
    fn hidden_labels_dialogs_and_forms_are_left_out() {
        let banner = "<h2>Your privacy</h2><p>We and our partners use cookies to show advertising, and to \
            measure how it performs, as long as you do not refuse that here.</p>";
        let labels = "<b>Size</b><i hidden>Choose one now</i><b>Shape</b><i hidden>Choose two now</i>";
        for (part, word) in [
            (labels.to_owned(), "Choose"),
            (format!("<div class=notice hidden>{}</div>", banner.repeat(4)), "refuse"),
            (format!("<div role=dialog hidden>{STORM}{STORM}</div>"), "cannery"),
            (format!("<div class=popup hidden>{OFFER}</div>"), "address"),
            (format!("<div class=newsletter hidden>{OFFER}</div>"), "address"),
            (format!("<form hidden>{OFFER}</form>"), "address"),
            (format!("<dialog>{OFFER}</dialog>"), "address"),
            (format!("<div role=dialog style='display:none'>{OFFER}</div>"), "address"),
            (format!("</article></main><div><div hidden>{OFFER}</div></div>"), "address"),
        ] {
            let text = text_of(&format!("<article>{FERRY}{PIER}{part}</article>"));
            assert!(text.contains("Shopkeepers"), "{part}: {text}");
            assert!(!text.contains(word), "{part}: {text}");
        }
    }

    /// A page rendered with its dialog open has `aria-hidden` on everything else. If only the dialog were kept, pages
    /// of one site would become copies of one another.
    #[test]
    fn the_page_under_an_open_dialog_is_the_text() {
        let dialog = format!("<div role=dialog aria-modal=true>{OFFER}{OFFER}</div>");
        for hidden in ["aria-hidden=true", "hidden", "style='display: none !important'"] {
            for role in ["", "class=with-sidebar"] {
                let html = format!(
                    "<title>Ferry</title><body><div id=root {role} {hidden}><article>{FERRY}<div hidden>{PIER}</div>\
                     </article></div>{dialog}"
                );
                let document = extract(&html, &ExtractConfig::default()).expect("within the limits");
                let text = document.text();
                assert!(text.contains("gearbox") && text.contains("Shopkeepers"), "{html}: {text}");
                assert!(!text.contains("address"), "{html}: {text}");
            }
        }
    }

    /// A `<button>` without an end tag, outside of other elements, holds the rest of the page, and browsers show it.
    #[test]
    fn a_page_within_a_button_is_the_text() {
        for body in [
            format!("<button>Menu<article>{FERRY}{PIER}</article>"),
            format!("<article>{FERRY}<p>Share:<button>Mail<div>{PIER}</div></article>"),
        ] {
            let text = text_of(&body);
            assert!(text.contains("gearbox") && text.contains("Shopkeepers"), "{body}: {text}");
        }
    }

    /// If all elements around each block of prose and each hidden element were visited, a page of 9 MB with 49,900
    /// nested elements would take minutes.
    #[test]
    fn deep_nesting_does_not_slow_the_search_for_hidden_text() {
        let pair =
            format!("<p>{}</p><div hidden>{}</div>", "Visible words, ".repeat(8), "Hidden words, ".repeat(8));
        let html = format!("{}{}", "<div>".repeat(49_900), pair.repeat(30_000));
        let mut chooser = Chooser::new(&ExtractConfig::default(), false);
        chooser.choose_all(&html);
        let page = chooser.main_text(&html);
        let began = cpu_time();
        let found = parts_of_text(&html, page.tree, page.chosen, None);
        let took = cpu_time() - began;
        assert_eq!((page.chosen.len(), found.len()), (30_000, 30_000));
        // This takes less than a fifth of a second without optimisation. It would take 35 seconds to visit all
        // elements.
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}
