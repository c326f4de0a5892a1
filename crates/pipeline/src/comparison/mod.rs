//! Compares two pages: what extraction kept, which passages they share, the comparison by each detector, and
//! the verdict.
//!
//! Pure, except that [`Comparer::new`] loads dictionaries. Cost: two pages through the [fingerprint
//! stage](FingerprintStage), bounded by `page.work_max`, and their [alignment](leitong_text::difference).

mod evidence;
mod shared;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::config::detectors::DETECTORS;
use crate::config::load::ConfigError;
use crate::document::{self, Charset, DecodedDocument};
use crate::fingerprint_stage::FingerprintStage;
use leitong_base::record::{FingerprintRecord, LogRecord, Place};
use leitong_base::work::Work;
use leitong_cluster::{Clusterer, Decision, Position};
use leitong_fingerprint::relation::Relation;
use leitong_fingerprint::{Detector, Shares};
use leitong_text::extract::{NoContent, PageBlock};
use leitong_text::page::Page;
use leitong_text::segment::Terms;
use shared::marked;

pub use evidence::plain;
pub use shared::{Mark, Piece};

/// Comparer of pages. Dictionaries and detectors are loaded once.
pub struct Comparer {
    config: Config,
    stage: FingerprintStage,
    detectors: Vec<Box<dyn Detector>>,
}

/// One of the two pages, with the results of all stages.
pub struct Side {
    /// Name for the user: a file, an id, or "pasted".
    pub name: String,
    /// Charset by which the page's bytes were decoded; `None` if the page was already decoded.
    pub charset: Option<Charset>,
    /// Title of the page.
    pub title: Option<String>,
    /// All blocks of the page; those of the main text have `kept`.
    pub blocks: Vec<PageBlock>,
    /// Terms of the page's main text.
    pub terms: Terms,
    /// Log record of the page.
    pub record: Box<FingerprintRecord>,
    /// Reason why there is no main text.
    pub refusal: Option<String>,
    /// Kind of page that is shown instead of content.
    pub page_kind: Option<NoContent>,
}

impl Side {
    /// Returns its fingerprint by the configured detector.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&[u8]> {
        self.record.outcome.fingerprint()
    }

    /// Returns the number of paragraphs in its main text.
    #[must_use]
    pub fn paragraphs(&self) -> usize {
        self.blocks.iter().filter(|block| block.kept).count()
    }
}

/// The verdict on the second page if the first one came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairVerdict {
    /// A page has no fingerprint, so they cannot be compared.
    Undecidable,
    /// The texts differ only in white space.
    Exact,
    /// The second page joins the cluster of the first.
    Near,
    /// The pages are not duplicates, but have passages in common.
    Related,
    /// The pages are in different corpora, which are never compared.
    OtherCorpora,
    /// The texts are different.
    Unique,
}

/// The comparison of two pages by one detector.
pub struct Opinion {
    /// Name of the detector.
    pub name: &'static str,
    /// Result; `None` if there is too little text for the detector.
    pub compared: Option<Compared>,
}

/// The comparison of two fingerprints of one detector.
pub struct Compared {
    /// True if the fingerprints are near, so the pages count as one text.
    pub near: bool,
    /// Distance, as verdicts show it.
    pub distance: f64,
    /// Similarity from 0 to 1, as verdicts show it.
    pub similarity: f64,
    /// Evidence, as verdicts show it.
    pub evidence: Map<String, Value>,
}

/// The relation of the second page's text to the first one's, by the configured detector.
#[derive(Debug, Clone, Copy)]
pub struct Related {
    /// Kind of relation.
    pub relation: Relation,
    /// Share of the second page in the first, and the reverse.
    pub shares: Shares,
}

/// The whole comparison of two pages.
pub struct Comparison {
    /// The pages; the first one is assumed to have come first.
    pub sides: [Side; 2],
    /// Marked pieces of each block of each page; empty for blocks that extraction dropped.
    pub pieces: [Vec<Vec<Piece>>; 2],
    /// Share of the words that both pages have in the same order.
    pub shared: f64,
    /// True if only the beginnings of the texts were compared word by word.
    pub cut: bool,
    /// Name of the configured detector.
    pub detector: &'static str,
    /// Relation of the pages, if the detector can tell.
    pub related: Option<Related>,
    /// Verdict on the second page.
    pub verdict: PairVerdict,
    /// Comparisons by all detectors.
    pub opinions: Vec<Opinion>,
}

impl Comparer {
    /// Loads dictionaries and builds all detectors.
    ///
    /// # Errors
    /// [`ConfigError`] if a file or a setting cannot be used.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let resources = config.resources()?;
        let build = |(_, build): &(_, crate::config::detectors::Build)| build(&config, &resources);
        let detectors = DETECTORS.iter().map(build).collect::<Result<_, _>>()?;
        Ok(Self { stage: FingerprintStage::new(config.clone())?, config, detectors })
    }

    /// Returns the settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configured detector.
    #[must_use]
    pub fn detector(&self) -> &Arc<dyn Detector> {
        self.stage.detector()
    }

    /// Reads a page, which is shown as `name`.
    #[must_use]
    pub fn side(&self, name: String, page: Page) -> Side {
        let mut workspace = self.stage.workspace();
        let mut work = Work::up_to(self.config.page.work_max);
        let read = document::read_blocks(&page, workspace.extractor(), &mut work);
        let place = Place::Line { input: name.as_str().into(), line: 1 };
        let Ok(LogRecord::Page(record)) = self.stage.process_page(place, page, &mut workspace).record else {
            unreachable!("a page is never skipped")
        };
        let terms = workspace.into_terms();
        let (charset, title, page_kind, blocks, refusal) = match read {
            Ok((DecodedDocument { document, charset, .. }, blocks)) => {
                (charset, document.title, document.page_kind, blocks, None)
            }
            Err(refusal) => (None, None, None, Vec::new(), Some(refusal.message)),
        };
        Side { name, charset, title, blocks, terms, record, refusal, page_kind }
    }

    /// Compares two pages in every respect.
    #[must_use]
    pub fn compare(&self, sides: [Side; 2]) -> Comparison {
        let (pieces, alignment) = marked(&sides, self.stage.segmenter());
        Comparison {
            pieces,
            shared: alignment.shared,
            cut: alignment.cut,
            detector: self.detector().name(),
            related: self.related(&sides),
            verdict: self.verdict(&sides),
            opinions: self.opinions(&sides),
            sides,
        }
    }

    /// Returns the marked pieces of each block of two pages, as in [`Comparison::pieces`].
    #[must_use]
    pub fn pieces(&self, sides: &[Side; 2]) -> [Vec<Vec<Piece>>; 2] {
        marked(sides, self.stage.segmenter()).0
    }

    /// Compares two pages by every detector.
    #[must_use]
    pub fn opinions(&self, [a, b]: &[Side; 2]) -> Vec<Opinion> {
        let opinion = |detector: &dyn Detector| {
            let fingerprints = detector.fingerprint(&a.terms).zip(detector.fingerprint(&b.terms));
            let compared = fingerprints.map(|(of_a, of_b)| {
                let comparison = detector.compare(&of_b, &of_a);
                Compared {
                    near: comparison.near,
                    distance: detector.distance(comparison.distance),
                    similarity: detector.similarity(&of_b, &of_a),
                    evidence: detector.evidence(&of_b, &of_a),
                }
            });
            Opinion { name: detector.name(), compared }
        };
        self.detectors.iter().map(|detector| opinion(&**detector)).collect()
    }

    /// Returns the relation of the second page to the first, if the detector can tell.
    #[must_use]
    pub fn related(&self, [a, b]: &[Side; 2]) -> Option<Related> {
        let detector = self.detector();
        let (of_a, of_b) = a.fingerprint().zip(b.fingerprint())?;
        let relation = detector.relation(of_b, of_a, detector.compare(of_b, of_a).near)?;
        Some(Related { relation, shares: detector.shares(of_b, of_a)? })
    }

    /// Clusters both pages, the first one first, and returns the decision on the second.
    #[must_use]
    pub fn verdict(&self, [a, b]: &[Side; 2]) -> PairVerdict {
        if a.fingerprint().and(b.fingerprint()).is_none() {
            return PairVerdict::Undecidable;
        }
        let detector = Arc::clone(self.detector());
        let mut clusterer = Clusterer::new(detector, self.config.cluster_rules(), Position::default());
        let mut decide =
            |side: &Side| clusterer.decide(Some(&side.record)).expect("a table in memory does not fail");
        decide(a);
        match decide(b) {
            Decision::Joined(centroid) if centroid.exact => PairVerdict::Exact,
            Decision::Joined(_) => PairVerdict::Near,
            Decision::Founded(_, Some(_)) => PairVerdict::Related,
            _ if a.record.corpus != b.record.corpus => PairVerdict::OtherCorpora,
            _ => PairVerdict::Unique,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shared::Mark;
    use super::*;

    fn page(html: &str) -> Page {
        Page::html("https://a.example/1", html)
    }

    /// Returns the text of a page's kept blocks, with `[` and `]` around parts that both pages have.
    fn shown(comparison: &Comparison, side: usize) -> Vec<String> {
        let blocks = comparison.sides[side].blocks.iter().zip(&comparison.pieces[side]);
        let kept = blocks.filter(|(block, _)| block.kept);
        kept.map(|(block, pieces)| {
            let piece = |piece: &Piece| match piece.mark {
                Mark::Shared(_) => format!("[{}]", &block.text[piece.text.clone()]),
                _ => block.text[piece.text.clone()].to_owned(),
            };
            pieces.iter().map(piece).collect::<Vec<_>>().join(" ")
        })
        .collect()
    }

    #[test]
    fn kept_shared_and_dropped_text_is_marked_in_its_place() {
        let comparer = Comparer::new(Config::default()).expect("the default settings");
        let article = |says: &str| {
            format!(
                "<title>Harbour</title><nav><a href=/1>Home</a> <a href=/2>News</a></nav><article><p>{says}</p>\
                 <p>The lighthouse keeper writes down the weather of each day, as his father did before him, and \
                 nobody has ever read these books but the rain.</p></article><footer>© 2026 Harbour</footer>"
            )
        };
        let first = "Ships come in at noon, when the tide is high and the whole village stands on the quay.";
        let second = "Ships come in at dusk, when the tide is high and the whole village stands on the quay.";
        let sides = [first, second].map(|says| comparer.side("pasted".to_owned(), page(&article(says))));
        let comparison = comparer.compare(sides);
        let dropped = |side: &Side| {
            let dropped = side.blocks.iter().filter(|block| !block.kept);
            dropped.map(|block| (block.text.clone(), block.region)).collect::<Vec<_>>()
        };
        for side in &comparison.sides {
            assert_eq!(
                dropped(side),
                [("Home News".to_owned(), Some("nav")), ("© 2026 Harbour".to_owned(), Some("footer"))]
            );
        }
        let shown = [0, 1].map(|side| shown(&comparison, side));
        assert_eq!(
            shown[0][0],
            "[Ships come in at] noon [, when the tide is high and the whole village stands on the quay.]"
        );
        assert!(shown[1][0].starts_with("[Ships come in at] dusk [, when"), "{shown:?}");
        assert_eq!(comparison.opinions.len(), DETECTORS.len());
        assert_eq!(comparison.verdict, PairVerdict::Near);
    }

    #[test]
    fn chinese_scripts_make_no_difference_and_pages_without_text_are_undecidable() {
        let comparer = Comparer::new(Config::default()).expect("the default settings");
        let text = |says: &str| Page::text("https://a.example/1", says);
        let [simplified, traditional] = [
            "办公室的旧电脑变慢了，先别急着换新机。关掉开机时自己启动的东西，再看看还剩多少空间，多半就够了。要是仍然很慢，加一条内存比买一台新的省钱。",
            "辦公室的舊電腦變慢了，先別急著換新機。關掉開機時自己啟動的東西，再看看還剩多少空間，多半就夠了。要是仍然很慢，加一條內存比買一台新的省錢。",
        ];
        let comparison =
            comparer.compare([simplified, traditional].map(|says| comparer.side(String::new(), text(says))));
        assert_eq!(shown(&comparison, 1), [format!("[{traditional}]")]);
        // Only a word of another length differs, and not the whole paragraph.
        let [desktop, longer] =
            [simplified.replace("旧电脑", "台式机"), traditional.replace("舊電腦", "桌上型電腦")];
        let sides = [desktop, longer].map(|says| comparer.side(String::new(), text(&says)));
        let shown_longer = &shown(&comparer.compare(sides), 1)[0];
        assert!(
            shown_longer.starts_with("[辦公室的] 桌上型電腦 [變慢了，先別急著換新機。"),
            "{shown_longer}"
        );
        let sides = [text(simplified), Page { status: Some(404), ..text(simplified) }];
        let comparison = comparer.compare(sides.map(|page| comparer.side(String::new(), page)));
        assert_eq!(shown(&comparison, 0), [simplified]);
        assert_eq!(comparison.sides[1].refusal.as_deref(), Some("the HTTP status is 404"));
        assert_eq!((comparison.verdict, comparison.sides[1].blocks.len()), (PairVerdict::Undecidable, 0));
    }
}
