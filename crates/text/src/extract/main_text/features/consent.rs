//! Finds cookie banners and dialogs that are not part of a page's text.
//!
//! In: the tree with the hints of its names. Out: the dialogs, recognised by their element or role, that are not most
//! of the page's prose, and the elements named after consent whose first words confirm that, even if they are much
//! longer than a short article. `cmp-` begins every class of Adobe Experience Manager, `ot` is a theme's initials, and
//! articles about data protection have `gdpr` in their names, so a name alone decides nothing, and there are few
//! banners. Cost: linear in the nodes and blocks of pages with dialogs or such names.

use std::sync::LazyLock;

use aho_corasick::AhoCorasickKind;

use crate::extract::main_text::features::{is_prose, phrases, source};
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Node, Tree};
use crate::extract::word_lists::{self, Automaton};

/// Maximum number of banners on a page (outermost elements with text): the banner, its settings, a list of partners, a
/// button. With more, the name belongs to the page's building blocks.
const BANNERS_MAX: usize = 4;

/// Number of blocks at the start of a dialog or banner, one of which must mention consent.
const FIRST_BLOCKS: usize = 5;

/// Maximum bytes of a dialog per byte of prose outside of it.
const DIALOG_PARTS_MAX: u64 = 2;

/// The same for a dialog or banner that mentions consent.
const BANNER_PARTS_MAX: u64 = 8;

/// Names of parts whose prose is not the page's text.
const OTHER_PARTS: Hints =
    hints::FOOTER | hints::NAV | hints::COMMENT | hints::RELATED | hints::COPYRIGHT | hints::AD;

static AUTOMATON: LazyLock<Automaton<()>> =
    LazyLock::new(|| word_lists::automaton(AhoCorasickKind::DFA, phrases::of_list("banner")));

/// Builds the table, which is otherwise built on first use.
pub(in crate::extract) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// The dialogs and banners of a page that are not part of its text.
#[derive(Debug, Default)]
pub(in crate::extract) struct Consent {
    /// The outermost nodes, in order.
    out: Vec<u32>,
}

impl Consent {
    /// Removes the dialogs and banners of the last page.
    pub(super) fn clear(&mut self) {
        self.out.clear();
    }

    /// Finds the dialogs and banners of `tree` that are not part of its text. Returns true if there are any.
    pub(super) fn find(&mut self, tree: &Tree, html: &[u8], title: Option<usize>) -> bool {
        let candidates = candidates(tree, title);
        if candidates.is_empty() {
            return false;
        }
        let mut is_other: Vec<bool> = Vec::with_capacity(tree.nodes.len());
        for (at, node) in (0_u32..).zip(&tree.nodes) {
            let is_above = is_other.get(node.parent as usize).is_some_and(|&is_other| is_other);
            let is_own = node.hints & OTHER_PARTS != 0 || candidates.binary_search(&at).is_ok();
            is_other.push(is_above || is_own);
        }
        let bytes = |block: &Block| u64::from(block.counts.bytes);
        let outside = tree.blocks.iter().filter(|block| is_prose(block) && !is_other[block.node as usize]);
        let outside: u64 = outside.map(bytes).sum();
        for at in candidates {
            let node = &tree.nodes[at as usize];
            let blocks = &tree.blocks[node.first_block as usize..node.end_block as usize];
            let within: u64 = blocks.iter().map(bytes).sum();
            let speaks = || blocks.iter().take(FIRST_BLOCKS).any(|block| speaks(source(tree, block, html)));
            // The text of a dialog may be the only text of the page, such as that below a picture.
            let is_out = outside > 0
                && (node.is_dialog && within <= DIALOG_PARTS_MAX * outside
                    || within <= BANNER_PARTS_MAX * outside && speaks());
            let is_within = |last: &u32| tree.nodes[*last as usize].end_block > node.first_block;
            if is_out && !self.out.last().is_some_and(is_within) {
                self.out.push(at);
            }
        }
        !self.out.is_empty()
    }

    /// Returns a function that returns true for blocks in these dialogs and banners. It must be called in the order of
    /// blocks.
    pub(super) fn blocks<'a>(&'a self, tree: &'a Tree) -> impl FnMut(usize) -> bool + use<'a> {
        let mut out = self.out.iter().map(|node| &tree.nodes[*node as usize]).peekable();
        move |block| {
            while out.next_if(|node| node.end_block as usize <= block).is_some() {}
            out.peek().is_some_and(|node| node.holds(block))
        }
    }

    /// Returns true if the node is such a dialog or banner.
    pub(super) fn is_out(&self, node: usize) -> bool {
        u32::try_from(node).is_ok_and(|node| self.out.binary_search(&node).is_ok())
    }
}

/// Returns the outermost dialogs, and the outermost elements named after consent that do not hold the title or the
/// content, in order. Terms and headings are named after what they say.
fn candidates(tree: &Tree, title: Option<usize>) -> Vec<u32> {
    let content = hints::CONTENT | hints::MAIN | hints::ARTICLE | hints::POST;
    let is_content = |node: &&Node| matches!(node.tag, Tag::Main | Tag::Article | Tag::H1);
    let contents: Vec<u32> = tree.nodes.iter().filter(is_content).map(|node| node.first_block).collect();
    let is_text = |node: &Node| {
        let next = contents.partition_point(|first| *first < node.first_block);
        node.hints & content != 0
            || title.is_some_and(|title| node.holds(title))
            || contents.get(next).is_some_and(|first| *first < node.end_block)
    };
    let is_term = |tag: Tag| tag.heading_level() != 0 || matches!(tag, Tag::Dt | Tag::Dd);
    let (mut found, mut named, mut ends) = (Vec::new(), 0, [0; 2]);
    for (at, node) in (0_u32..).zip(&tree.nodes) {
        let is_named =
            node.hints & hints::CONSENT != 0 && !node.is_dialog && !is_term(node.tag) && !is_text(node);
        let end = &mut ends[usize::from(is_named)];
        if (node.is_dialog || is_named) && node.end_block > node.first_block.max(*end) {
            *end = node.end_block;
            named += usize::from(is_named);
            found.push(at);
        }
    }
    if named > BANNERS_MAX {
        found.retain(|at| tree.nodes[*at as usize].is_dialog);
    }
    found
}

/// Returns true if the text mentions cookies or consent.
pub(in crate::extract) fn speaks(text: &[u8]) -> bool {
    AUTOMATON.as_ref().is_some_and(|(words, _)| words.is_match(text))
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractConfig, extract};

    const SENTENCES: [&str; 5] = [
        "The ferry between the bay and the outer islands will stop running at the end of October, the board said.",
        "Passengers have complained for years about cancelled crossings, but the board blamed a worn gearbox.",
        "Until now the office pinned the names of owners to a board, where anyone could read who had come.",
        "The new rule asks for consent before personal data are shown, and most offices took the board down.",
        "Lawyers disagree about whether a boat's name is personal at all, since it can be seen from any quay.",
    ];

    fn text_of(body: &str) -> String {
        let html = format!("<title>Ferry</title><body>{body}");
        extract(&html, &ExtractConfig::default()).expect("within the limits").text()
    }

    /// Each class of sites made with Adobe Experience Manager begins with `cmp-`, and some themes are called `ot`.
    /// Their pages must not lose all text, nor may articles about data protection.
    #[test]
    fn a_prefix_of_all_names_does_not_make_a_banner() {
        for prefix in ["cmp", "ot", "gdpr", "cookie", "consent", "truste", "didomi"] {
            let paragraphs =
                SENTENCES.map(|text| format!("<div class={prefix}-text><p>{text}</p></div>")).concat();
            for body in [
                format!("<main>{paragraphs}</main>"),
                format!("<div class={prefix}-page><div class={prefix}-main>{paragraphs}</div></div>"),
                format!("<main>{}<div class={prefix}-text><p>{}</p></div></main>", paragraphs, SENTENCES[3]),
                // A part is a banner only if it mentions consent.
                format!(
                    "<article>{}<div class={prefix}-part><p>{}</p></div></article>",
                    paragraphs, SENTENCES[4]
                ),
            ] {
                let text = text_of(&body);
                assert!(SENTENCES.iter().all(|sentence| text.contains(sentence)), "{body}: {text}");
            }
        }
    }

    /// The name of an article must not count for everything in the article: a banner within it is left out.
    #[test]
    fn a_banner_within_a_text_named_after_consent_is_left_out() {
        let article = SENTENCES.map(|text| format!("<p>{text}</p>")).concat();
        let banner = "<p>We use cookies to show advertising. With your consent, partners process data.</p>";
        let text = text_of(&format!(
            "<h1>Ferry</h1><div><div class=gdpr-text>{article}<div id=cookie-notice>{banner}</div></div></div>"
        ));
        assert!(text.contains("Lawyers") && !text.contains("advertising"), "{text}");
    }

    const CONSENT: &str = "<h2>Your choices</h2><p>Together with our partners we store information on your device, \
        such as identifiers in cookies, in order to show advertising and to learn who reads what.</p><p>You may \
        agree to this or refuse it, and whatever you choose applies to this website only, until you change your \
        mind at the bottom of any page.</p>";
    const OFFER: &str = "<p>Leave your address here, and once a week we will send you the best stories of the \
        region, with pictures and maps, free of charge.</p>";

    /// A dialog before the article is left out, even if it is most of the page's best part. Otherwise two articles of
    /// one paragraph would become copies of each other.
    #[test]
    fn a_dialog_outside_of_the_text_is_left_out() {
        for (begin, end) in [
            ("<div role=dialog aria-modal=true>", "</div>"),
            ("<dialog open>", "</dialog>"),
            ("<div id=a-banner role=alertdialog><div><div>", "</div></div></div>"),
            ("<div class='cc-window cc-banner' role=dialog><span>", "</span></div>"),
            ("<div class=cmp-cookieconsent><div class=cmp-text>", "</div></div>"),
            ("<div id=k><div class=k><div class=cookie-notice><div>", "</div></div></div></div>"),
            ("<div id=onetrust-banner-sdk>", "</div>"),
            ("<div class=\"ot overlay\">", "</div><div class=\"ot overlay\"><p>Cookies</p></div>"),
            ("<div id=gdpr-box>", "</div>"),
        ] {
            for paragraphs in [1, 5] {
                let article = SENTENCES[..paragraphs].iter().map(|text| format!("<p>{text}</p>"));
                let article = format!("<h1>Ferry to stop</h1>{}", article.collect::<String>());
                let mut texts = vec![CONSENT.to_owned()];
                if begin.contains("dialog") {
                    texts.push(OFFER.to_owned());
                }
                for dialog in texts.iter().map(|text| format!("{begin}{text}{end}")) {
                    for body in [
                        format!("{dialog}<main><article>{article}</article></main>"),
                        format!("<div id=root>{dialog}<div>{article}</div></div>"),
                        format!("<main>{article}</main>{dialog}"),
                    ] {
                        let text = text_of(&body);
                        assert!(text.contains("ferry between"), "{body}: {text}");
                        assert!(!text.contains("partners") && !text.contains("address"), "{body}: {text}");
                    }
                }
            }
        }
    }

    /// Some pages show all of their text in a dialog.
    #[test]
    fn a_dialog_with_the_only_text_is_the_text() {
        let article = SENTENCES.map(|text| format!("<p>{text}</p>")).concat();
        for body in [
            format!("<div role=dialog><h1>Ferry</h1>{article}</div>"),
            format!("<div role=dialog>{article}</div><footer><p>{OFFER}</p></footer>"),
            format!("<nav><a href=/>Home</a></nav><dialog open>{article}</dialog>"),
        ] {
            let text = text_of(&body);
            assert!(SENTENCES.iter().all(|sentence| text.contains(sentence)), "{body}: {text}");
        }
    }
}
