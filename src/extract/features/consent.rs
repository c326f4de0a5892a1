//! Which of the elements that are named after consent to cookies are such banners.
//!
//! In: the tree with the hints of its names. Out: for each node named so, whether its text bears that
//! out. `cmp-` begins every class of Adobe Experience Manager, `ot` is a theme's initials, and articles
//! about data protection have `gdpr` in theirs. So a name alone decides nothing: a banner speaks of
//! cookies or consent, is not most of the page's text, and there are few of them. Cost: linear in the
//! nodes, and in the text of those named so.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::extract::features::{Sums, source};
use crate::extract::parse::hints;
use crate::extract::parse::tree::Tree;

/// Elements with text, none within another, that one page calls banners: the banner, its settings, a list
/// of partners, a button. With more, the name is that of the page's building blocks.
const BANNERS_MAX: usize = 4;

/// Thousandths of the page's text that all of them hold at most.
const SHARE_MAX: u64 = 500;

/// Words of which a banner has one, lower case.
const WORDS: &str = "cookie|consent|gdpr|privacy|personal data|隐私|隱私|同意|クッキー|プライバシー|쿠키|개인정보|datenschutz|einwilligung|confidentialité|consentement|vie privée|privacidad|consentimiento|consenso|privacidade|куки|онфиденциальност|ерсональн|согласи|prywatno|plik|çerez|gizlilik|evästee|informasjonskapsl|kakor|souhlas|الخصوصية|ملفات تعريف|کوکی|עוגיות|פרטיות";

static AUTOMATON: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS.split('|')).ok());

/// The banners of a page; kept from page to page for its memory.
#[derive(Debug, Default)]
pub(in crate::extract) struct Consent {
    /// The outermost nodes with text whose text bears out their name, in order.
    banners: Vec<u32>,
}

impl Consent {
    /// Finds the banners of `tree`.
    pub(super) fn find(&mut self, tree: &Tree, html: &[u8], sums: &[Sums]) {
        self.banners.clear();
        let mut end = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            // Nodes stand in document order, so what begins before the end of the last one is within it.
            if node.hints & hints::CONSENT != 0 && node.end_block > node.first_block.max(end) {
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
        let Some(words) = AUTOMATON.as_ref() else { return };
        self.banners.retain(|node| {
            let node = &tree.nodes[*node as usize];
            let mut blocks = tree.blocks[node.first_block as usize..node.end_block as usize].iter();
            blocks.any(|block| words.is_match(source(tree, block, html)))
        });
    }

    /// Returns true if the node, which is named so, is a banner. Nodes within it have its name from it.
    pub(super) fn is_banner(&self, node: usize) -> bool {
        u32::try_from(node).is_ok_and(|node| self.banners.binary_search(&node).is_ok())
    }
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

    /// Sites made with Adobe Experience Manager lost all text, since each of their classes begins with
    /// `cmp-`; so did articles about data protection, and pages of themes called `ot`.
    #[test]
    fn a_prefix_of_all_names_is_no_banner() {
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

    /// One part of an article that happens to be named so is a banner only if it speaks of consent.
    #[test]
    fn a_part_of_an_article_is_kept_whatever_its_name() {
        let article = [0, 1, 2].map(|at| format!("<p>{}</p>", SENTENCES[at])).concat();
        let text = text_of(&format!(
            "<article>{article}<div class=ot-section><p>{}</p></div></article>",
            SENTENCES[4]
        ));
        assert!(text.contains("Lawyers"), "{text}");
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
}
