//! Document → terms: normalise each paragraph, cut it into words, drop stop words.
//!
//! ```text
//! paragraph → normalize (NFKC, lower case) → script (traditional → simplified) → runs (by script)
//!           → words (chinese | ascii_words | ICU) → stop_words → terms
//! ```
//! Invariants: what a paragraph yields depends on this paragraph and the settings alone; every
//! term is a range of the normalised text. Cost: linear; three quarters of a text's time
//! (`make bench`). It is counted as [work](leitong_base::work) before it is done, by the kind of text.

mod ascii_words;
mod chinese;
mod config;
mod fold;
mod normalize;
mod runs;
mod script;
pub mod sentences;
mod stop_words;
mod vocabulary;
mod words;

use std::ops::Range;

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

pub use config::SegmentConfig;
pub use runs::{is_ideographic, is_punctuation};
pub use vocabulary::DistinctTerm;
use vocabulary::Vocabulary;
use words::{DictionaryError, WordCutter, Workspace};

use crate::extract::{Document, ParagraphKind, Place};
use crate::page::address::Address;
use leitong_base::work::{TooMuchWork, Work};

/// Part of the fingerprint hash: raised whenever the same text may give other terms than before.
pub const VERSION: u32 = 3;

/// A document's text as terms. Reused from page to page, so that its buffers are allocated once.
#[derive(Debug, Default)]
pub struct Terms {
    /// The normalised paragraphs, each followed by a line feed.
    text: String,
    terms: Vec<Term>,
    paragraphs: Vec<ParagraphTerms>,
    vocabulary: Vocabulary,
    workspace: Workspace,
    address: Address,
}

/// What one paragraph of the document yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParagraphTerms {
    /// What it is on its page.
    pub kind: ParagraphKind,
    /// Where it stands in the page's structure.
    pub place: Place,
    /// Byte offsets in the normalised text.
    pub text: Range<usize>,
    /// Numbers of its terms.
    pub terms: Range<usize>,
}

/// One term of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Byte offsets in the normalised text.
    start: u32,
    end: u32,
    /// Its number in [`Terms::distinct`].
    pub distinct: u32,
}

impl Term {
    /// Where it begins in the normalised text, in bytes.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }
}

impl Terms {
    /// The normalised text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the page stands.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// All terms in the order of the text, without stop words.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The paragraphs in order, those without terms as well.
    #[must_use]
    pub fn paragraphs(&self) -> &[ParagraphTerms] {
        &self.paragraphs
    }

    /// The distinct terms in order of first occurrence.
    #[must_use]
    pub fn distinct(&self) -> &[DistinctTerm] {
        self.vocabulary.distinct()
    }

    /// The characters of `term`.
    #[must_use]
    pub fn term(&self, term: Term) -> &str {
        &self.text[term.start as usize..term.end as usize]
    }

    /// The characters of a distinct term.
    #[must_use]
    pub fn first(&self, distinct: DistinctTerm) -> &str {
        self.term(self.terms[distinct.first as usize])
    }

    fn clear(&mut self) {
        self.text.clear();
        self.terms.clear();
        self.paragraphs.clear();
        self.vocabulary.clear();
    }
}

/// Why a segmenter cannot be built.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// A line of the user dictionary is not `word [frequency [tag]]`.
    #[error(
        "segment.user_dictionary: line {line}: {text:?}; write `word`, `word frequency` or `word frequency tag`"
    )]
    BadDictionaryLine {
        /// From 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// There is no room for all words of a user dictionary.
    #[error(
        "segment.user_dictionary: no room for line {line} ({text:?}): some 60,000 words of three and more characters \
         fit; leave out the rarest"
    )]
    DictionaryFull {
        /// From 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// There is no list of stop words for a language.
    #[error("segment.stop_word_languages: no stop words for {language:?}; there are lists for {known}")]
    UnknownLanguage {
        /// The code as given.
        language: String,
        /// All codes.
        known: String,
    },
}

/// Cuts documents into terms. Built once and shared by all threads.
pub struct Segmenter {
    script: Option<script::ScriptFolder>,
    words: WordCutter,
    stop_words: stop_words::StopWords,
}

/// The contents of the files that a segment configuration names; empty where it names none.
#[derive(Debug, Clone, Default)]
pub struct Lexicons {
    /// Lines of `word [frequency [tag]]`.
    pub user_dictionary: String,
    /// One stop word a line.
    pub stop_words: String,
}

impl Segmenter {
    /// Loads dictionaries and stop words: takes some 200 ms.
    /// `lexicons` holds the contents of the files that `config` names.
    ///
    /// # Errors
    /// [`SegmentError`], where a setting or a line of a file cannot be followed.
    pub fn new(config: &SegmentConfig, lexicons: &Lexicons) -> Result<Self, SegmentError> {
        let script = config.fold_script.then(script::ScriptFolder::new);
        let normalize = |word: &str| {
            let mut normalized = String::new();
            // Without a bound it cannot fail.
            let _ = normalize_paragraph(word, script.as_ref(), &mut normalized, &mut Work::unbounded());
            normalized
        };
        let words = WordCutter::new(config.hmm, &lexicons.user_dictionary, normalize).map_err(
            |(error, line, text)| match error {
                DictionaryError::BadLine => SegmentError::BadDictionaryLine { line, text },
                DictionaryError::Full => SegmentError::DictionaryFull { line, text },
            },
        )?;
        let stop_words =
            stop_words::StopWords::new(&config.stop_word_languages, &lexicons.stop_words, normalize)?;
        Ok(Self { script, words, stop_words })
    }

    /// `text`, of bounded length, as terms see it: in one script, one width and small letters.
    #[must_use]
    pub fn normalized(&self, text: &str) -> String {
        let mut normalized = String::new();
        // Without a bound it cannot fail.
        let _ = normalize_paragraph(text, self.script.as_ref(), &mut normalized, &mut Work::unbounded());
        normalized
    }

    /// Cuts `document` into `terms`, whose former contents go, whatever it costs.
    pub fn segment(&self, document: &Document, terms: &mut Terms) {
        // Without a bound it cannot fail.
        let _ = self.segment_within(document, terms, &mut Work::unbounded());
    }

    /// The same, and gives up where it costs more than is left of `work`.
    ///
    /// # Errors
    /// [`TooMuchWork`]; then `terms` hold a part of the document.
    pub fn segment_within(
        &self,
        document: &Document,
        terms: &mut Terms,
        work: &mut Work,
    ) -> Result<(), TooMuchWork> {
        terms.clear();
        terms.address.clone_from(&document.address);
        for paragraph in &document.paragraphs {
            let (start, first_term) = (terms.text.len(), terms.terms.len());
            normalize_paragraph(&paragraph.text, self.script.as_ref(), &mut terms.text, work)?;
            let Terms { text, terms, paragraphs, vocabulary, workspace, .. } = terms;
            self.words.cut(&text[start..], workspace, work, |word: Range<usize>| {
                let hash = xxh3_64(&text.as_bytes()[start + word.start..start + word.end]);
                let is_term = || !self.stop_words.contains(hash);
                if let Some(distinct) = vocabulary.count(hash, offset(terms.len()), is_term) {
                    let (start, end) = (offset(start + word.start), offset(start + word.end));
                    terms.push(Term { start, end, distinct });
                }
            })?;
            paragraphs.push(ParagraphTerms {
                kind: paragraph.kind,
                place: paragraph.place,
                text: start..text.len(),
                terms: first_term..terms.len(),
            });
            text.push('\n');
        }
        Ok(())
    }
}

/// Appends `paragraph` to `out` as terms and sketches see it.
fn normalize_paragraph(
    paragraph: &str,
    script: Option<&script::ScriptFolder>,
    out: &mut String,
    work: &mut Work,
) -> Result<(), TooMuchWork> {
    let start = out.len();
    normalize::normalize(paragraph, out, work)?;
    let folded = script.map_or(Ok(None), |script| script.fold(&out[start..], work))?;
    if let Some(folded) = folded {
        out.truncate(start);
        out.push_str(&folded);
    }
    Ok(())
}

/// Pages are far below 4 GiB, so that offsets fit; a longer text would only lose its tail's terms.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
