//! Finds cookie banners and dialogs that are not part of a page's text.
//!
//! In: the tree with the hints of its names. Out: for each node named after consent, whether its text confirms that.
//! `cmp-` begins every class of Adobe Experience Manager, `ot` is a theme's initials, and articles about data
//! protection have `gdpr` in their names, so a name alone decides nothing. A banner mentions cookies or consent, is not
//! most of the page's text, and there are few of them. A dialog, recognised by its element or role, is not part of the
//! text if the page has prose elsewhere. The same holds for a banner above the text, even if it is much longer than a
//! short article. Cost: linear in the nodes, and in the text of nodes named after consent.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::extract::main_text::features::{Sums, is_prose, source};
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Node, Tree};

/// Maximum number of banners on a page (outermost elements with text): the banner, its settings, a list of partners, a
/// button. With more, the name belongs to the page's building blocks.
const BANNERS_MAX: usize = 4;

/// Maximum share of the page's text in all banners, in thousandths.
const SHARE_MAX: u64 = 500;

/// Number of blocks at the start of a dialog or banner, one of which must mention consent.
const FIRST_BLOCKS: usize = 5;

/// Maximum bytes of a banner per byte of prose outside of it.
const BANNER_PARTS_MAX: u64 = 8;

/// Minimum number of similar elements with other names next to an element named after consent. With as many, the
/// element is a section of a text.
const SECTIONS_MIN: usize = 2;

/// Names of parts whose prose is not the page's text.
const OTHER_PARTS: Hints =
    hints::FOOTER | hints::NAV | hints::COMMENT | hints::RELATED | hints::COPYRIGHT | hints::AD;

/// Words that banners contain, in lower case.
const WORDS: &str = "cookie|consent|gdpr|privacy|personal data|隐私|隱私|同意|クッキー|プライバシー|쿠키|개인정보|datenschutz|einwilligung|confidentialité|consentement|vie privée|privacidad|consentimiento|consenso|privacidade|куки|онфиденциальност|ерсональн|согласи|prywatno|plik|çerez|gizlilik|evästee|informasjonskapsl|kakor|souhlas|الخصوصية|ملفات تعريف|کوکی|עוגיות|פרטיות";

static AUTOMATON: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS.split('|')).ok());

/// Builds the table, which is otherwise built on first use.
pub(in crate::extract) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// The banners of a page. Kept from page to page to avoid allocations.
#[derive(Debug, Default)]
pub(in crate::extract) struct Consent {
    /// The outermost nodes with text that confirms their name, in order.
    banners: Vec<u32>,
    /// The outermost dialogs and banners that are not part of the page's text, in order.
    dialogs: Vec<u32>,
    /// For each node, the places that it is in, as bits of [`place`].
    places: Vec<u8>,
    /// The nodes named after consent that are sections of a text, in order.
    sections: Vec<u32>,
}

/// Kinds of places that a node is in or is, as bits of `Consent::places`.
mod place {
    /// A dialog.
    pub(super) const DIALOG: u8 = 1;
    /// An element named after consent.
    pub(super) const NAMED: u8 = 2;
    /// `<main>` or `<article>`.
    pub(super) const CONTENT: u8 = 4;
    /// A part whose prose is not the page's text.
    pub(super) const OTHER: u8 = 8;
}

/// A dialog, or an element named after consent, that is not within another one of its kind.
struct Candidate {
    node: u32,
    is_dialog: bool,
    /// True if the element is in the page's content, or contains it.
    is_content: bool,
}

impl Consent {
    /// Removes the banners of the last page.
    pub(super) fn clear(&mut self) {
        self.banners.clear();
        self.dialogs.clear();
        self.places.clear();
        self.sections.clear();
    }

    /// Finds the banners of `tree`.
    pub(super) fn find(&mut self, tree: &Tree, html: &[u8], sums: &[Sums]) {
        self.sections = sections(tree);
        let mut end = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            // Nodes are in document order, so a node that begins before the end of the last one is within it.
            if self.is_named(tree, at) && node.end_block > node.first_block.max(end) {
                self.banners.push(at as u32);
                end = node.end_block;
            }
        }
        let bytes = |node: u32| {
            let node = &tree.nodes[node as usize];
            u64::from(sums[node.end_block as usize].bytes - sums[node.first_block as usize].bytes)
        };
        let named: u64 = self.banners.iter().map(|node| bytes(*node)).sum();
        let all = u64::from(sums[tree.blocks.len()].bytes);
        if self.banners.len() > BANNERS_MAX || named * 1000 > all * SHARE_MAX {
            self.banners.clear();
        }
        self.banners.retain(|node| {
            let node = &tree.nodes[*node as usize];
            let mut blocks = tree.blocks[node.first_block as usize..node.end_block as usize].iter();
            blocks.any(|block| speaks(source(tree, block, html)))
        });
    }

    /// Finds the dialogs and banners that are not part of the text of `tree`. Returns true if there are any.
    pub(super) fn find_dialogs(&mut self, tree: &Tree, html: &[u8], title: Option<usize>) -> bool {
        if !tree.nodes.iter().any(|node| node.is_dialog || node.hints & hints::CONSENT != 0) {
            return false;
        }
        let candidates = self.candidates(tree, title);
        let prose = |apart: u8| -> u64 {
            let blocks = tree.blocks.iter().filter(|block| is_prose(block));
            let blocks = blocks.filter(|block| self.places[block.node as usize] & apart == 0);
            blocks.map(|block| u64::from(block.counts.bytes)).sum()
        };
        let outside_dialogs = prose(place::DIALOG | place::OTHER);
        let outside_all = prose(place::DIALOG | place::NAMED | place::OTHER);
        let named = candidates.iter().filter(|candidate| !candidate.is_dialog).count();
        for candidate in candidates {
            let node = &tree.nodes[candidate.node as usize];
            let blocks = &tree.blocks[node.first_block as usize..node.end_block as usize];
            let bytes: u64 = blocks.iter().map(|block| u64::from(block.counts.bytes)).sum();
            let speaks = || blocks.iter().take(FIRST_BLOCKS).any(|block| speaks(source(tree, block, html)));
            let is_out = match candidate.is_dialog {
                // The text of a dialog may be the only text of the page, such as a picture with its story.
                true => outside_dialogs > 0 && (outside_dialogs * 2 >= bytes || speaks()),
                false => {
                    named <= BANNERS_MAX
                        && !candidate.is_content
                        && outside_all > 0
                        && outside_all * BANNER_PARTS_MAX >= bytes
                        && speaks()
                }
            };
            let is_within = |last: &u32| tree.nodes[*last as usize].end_block > node.first_block;
            if is_out && !self.dialogs.last().is_some_and(is_within) {
                self.dialogs.push(candidate.node);
            }
        }
        !self.dialogs.is_empty()
    }

    /// Sets the places of each node, and returns the outermost dialogs and elements named after consent.
    fn candidates(&mut self, tree: &Tree, title: Option<usize>) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        // The index in `found` of the last candidate of each kind. The nodes within a candidate follow it.
        let mut open = [None; 2];
        let content = hints::CONTENT | hints::MAIN | hints::ARTICLE | hints::POST;
        for (at, node) in tree.nodes.iter().enumerate() {
            let above = self.places.get(node.parent as usize).copied().unwrap_or(0);
            let has_text = node.end_block > node.first_block;
            let mut own = if node.hints & OTHER_PARTS != 0 { place::OTHER } else { 0 };
            if matches!(node.tag, Tag::Main | Tag::Article) {
                own |= place::CONTENT;
            }
            let sorts = [(place::DIALOG, node.is_dialog), (place::NAMED, self.is_named(tree, at))];
            for (sort, (bit, is_one)) in sorts.into_iter().enumerate() {
                if above & bit != 0 {
                    let holds_content = has_text && matches!(node.tag, Tag::Main | Tag::Article | Tag::H1);
                    if let Some(at) = open[sort].filter(|_| holds_content) {
                        let candidate: &mut Candidate = &mut found[at];
                        candidate.is_content = true;
                    }
                } else if is_one && has_text {
                    let is_text = node.hints & content != 0 || title.is_some_and(|title| holds(node, title));
                    // A banner may be within a text whose name speaks of consent, too.
                    if bit == place::DIALOG || !is_text {
                        own |= bit;
                        open[sort] = Some(found.len());
                    }
                    let is_content = above & place::CONTENT != 0 || is_text;
                    let node = u32::try_from(at).unwrap_or(u32::MAX);
                    found.push(Candidate { node, is_dialog: bit == place::DIALOG, is_content });
                }
            }
            self.places.push(above | own);
        }
        found
    }

    /// Returns true if the node is named after consent, and is not a section of a text.
    fn is_named(&self, tree: &Tree, at: usize) -> bool {
        tree.nodes[at].hints & hints::CONSENT != 0 && self.sections.binary_search(&(at as u32)).is_err()
    }

    /// Returns a function that returns true for blocks in dialogs and banners outside of the page's text. It must be
    /// called in the order of blocks.
    pub(super) fn in_dialogs<'a>(&'a self, tree: &'a Tree) -> impl FnMut(usize) -> bool + use<'a> {
        let mut dialogs = self.dialogs.iter().map(|node| &tree.nodes[*node as usize]).peekable();
        move |block| {
            while dialogs.next_if(|node| node.end_block as usize <= block).is_some() {}
            dialogs.peek().is_some_and(|node| holds(node, block))
        }
    }

    /// Returns true if the node is a dialog or banner outside of the page's text.
    pub(super) fn is_dialog(&self, node: usize) -> bool {
        u32::try_from(node).is_ok_and(|node| self.dialogs.binary_search(&node).is_ok())
    }

    /// Returns true if the node, which is named after consent, is a banner. Nodes within it inherit its name.
    pub(super) fn is_banner(&self, node: usize) -> bool {
        u32::try_from(node).is_ok_and(|node| self.banners.binary_search(&node).is_ok())
    }
}

/// Returns the nodes named after consent that are sections of a text, in order: terms and headings, which are named
/// after what they say, and elements that begin with a heading, next to others of the same kind with other names.
fn sections(tree: &Tree) -> Vec<u32> {
    if !tree.nodes.iter().any(|node| node.hints & hints::CONSENT != 0) {
        return Vec::new();
    }
    let kind = |node: &Node| {
        let block =
            tree.blocks.get(node.first_block as usize).filter(|_| node.end_block > node.first_block)?;
        let level = tree.nodes[block.node as usize].tag.heading_level();
        let is_plain = node.tag == Tag::Div && node.signature == Tag::Div as u32 + 1;
        (level != 0 && !is_plain).then_some((node.parent, node.tag, node.signature, level))
    };
    let mut others = BTreeMap::new();
    for kind in tree.nodes.iter().filter(|node| node.hints & hints::CONSENT == 0).filter_map(kind) {
        *others.entry(kind).or_insert(0_usize) += 1;
    }
    let is_section = |node: &Node| {
        let is_term = node.tag.heading_level() != 0 || matches!(node.tag, Tag::Dt | Tag::Dd);
        is_term
            || kind(node).is_some_and(|kind| others.get(&kind).is_some_and(|count| *count >= SECTIONS_MIN))
    };
    let named = tree.nodes.iter().enumerate().filter(|(_, node)| node.hints & hints::CONSENT != 0);
    named.filter(|(_, node)| is_section(node)).map(|(at, _)| at as u32).collect()
}

/// Returns true if the block is within the node.
fn holds(node: &Node, block: usize) -> bool {
    (node.first_block as usize..node.end_block as usize).contains(&block)
}

/// Returns true if the text mentions cookies or consent.
pub(in crate::extract) fn speaks(text: &[u8]) -> bool {
    AUTOMATON.as_ref().is_some_and(|words| words.is_match(text))
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

    /// A part of an article that is named after consent is a banner only if it mentions consent.
    #[test]
    fn a_part_of_an_article_is_kept_whatever_its_name() {
        let article = [0, 1, 2].map(|at| format!("<p>{}</p>", SENTENCES[at])).concat();
        let text = text_of(&format!(
            "<article>{article}<div class=ot-section><p>{}</p></div></article>",
            SENTENCES[4]
        ));
        assert!(text.contains("Lawyers"), "{text}");
    }

    /// A generator may name a section's element after its heading, "Cookies", as it names a consent panel elsewhere.
    /// The documentation of a library must not lose this section, with its code.
    #[test]
    fn a_section_about_cookies_among_other_sections_is_kept() {
        let section = |name: &str, class: &str| {
            let id = name.to_lowercase();
            format!(
                "<section id={id} {class}><h2>{name}</h2><p>With {id} the board stores what a passenger has chosen, and \
                 the ferry knows it on the way back.</p><dl><dt id=harbour.{id}>harbour.{id}(days)</dt><dd><p>Returns \
                 the {id} of the last few days, or nothing.</p></dd></dl></section>"
            )
        };
        for class in ["", "class=section"] {
            let parts =
                ["Tickets", "Cookies", "Timetables", "Weather"].map(|name| section(name, class)).concat();
            let text = text_of(&format!("<div role=main><h1>Ferry</h1><p>{}</p>{parts}</div>", SENTENCES[0]));
            for word in ["With cookies the board", "harbour.cookies(days)", "the cookies of the last"] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
    }

    #[test]
    fn banners_are_left_out() {
        let article = SENTENCES.map(|text| format!("<p>{text}</p>")).concat();
        let banner = "<h2>We value your privacy</h2><p>We and our partners use cookies to show you advertisements, and \
            to measure how content is used by the people who read it.</p><button>Accept</button>";
        for names in
            ["id=onetrust-banner-sdk", "class=cookie-notice", "id=cmp", "class=\"ot overlay\"", "id=gdpr-box"]
        {
            for body in [
                format!("<article>{article}</article><div {names}>{banner}</div>"),
                format!("<div {names}>{banner}</div><div {names}>{banner}</div><article>{article}</article>"),
            ] {
                let text = text_of(&body);
                assert!(text.contains("Lawyers") && !text.contains("advertisements"), "{body}: {text}");
            }
        }
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
