//! Turns a document into terms: normalises each paragraph, splits it into words and drops stop words.
//!
//! ```text
//! paragraph → normalize (NFKC, lower case) → script (traditional → simplified) → runs (by script)
//!           → words (chinese | ascii_words | ICU) → stop_words → terms
//! ```
//! Invariants: the terms of a paragraph depend only on that paragraph and the settings; every term is a range of the
//! normalised text. Cost: linear; three quarters of the time that a text takes (`make bench`). The cost of each run is
//! counted as [work](leitong_base::work) before the run is split.

mod ascii_words;
mod chinese;
mod config;
mod fold;
mod normalize;
mod quotes;
mod runs;
mod script;
pub(crate) mod sentences;
mod stop_words;
mod vocabulary;
mod words;

use std::ops::Range;

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

pub use config::SegmentConfig;
pub use runs::{is_ideographic, is_punctuation};
pub use sentences::sentences;
pub use vocabulary::DistinctTerm;
use vocabulary::Vocabulary;
use words::{DictionaryError, WordSegmenter, Workspace};

use crate::extract::{Document, ParagraphKind, ParagraphPlace};
use crate::page::address::Address;
use leitong_base::work::{TooMuchWork, Work};

/// Version of these rules, part of the fingerprint hash. Raise it whenever the same text may give other terms than
/// before.
pub const VERSION: u32 = 5;

/// A document's text as terms. Reused from page to page to avoid allocations.
#[derive(Debug, Default)]
pub struct Terms {
    /// The normalised paragraphs, each followed by a line feed. Quoted lines are empty.
    text: String,
    /// The normalised title; empty if there is none.
    title: String,
    terms: Vec<Term>,
    paragraphs: Vec<ParagraphTerms>,
    vocabulary: Vocabulary,
    workspace: Workspace,
    address: Address,
}

/// The text and terms of one paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParagraphTerms {
    /// The role of the paragraph on its page.
    pub kind: ParagraphKind,
    /// The position of the paragraph in the page's structure.
    pub place: ParagraphPlace,
    /// The byte range of the paragraph in the normalised text.
    pub text: Range<usize>,
    /// The range of the paragraph's terms in [`Terms::terms`].
    pub terms: Range<usize>,
}

/// One term of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// Byte offset of the term in the normalised text.
    start: u32,
    /// Byte offset of the end of the term.
    end: u32,
    /// The term's index in [`Terms::distinct`].
    pub distinct: u32,
}

impl Term {
    /// Returns the byte offset of the term in the normalised text.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }
}

impl Terms {
    /// Returns the normalised text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the normalised title, which is no part of the text; empty if the page has none.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the page's address.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns all terms in the order of the text, without stop words.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns all paragraphs in order, including those without terms.
    #[must_use]
    pub fn paragraphs(&self) -> &[ParagraphTerms] {
        &self.paragraphs
    }

    /// Returns the distinct terms in order of first occurrence.
    #[must_use]
    pub fn distinct(&self) -> &[DistinctTerm] {
        self.vocabulary.distinct()
    }

    /// Returns the text of `term`.
    #[must_use]
    pub fn term(&self, term: Term) -> &str {
        &self.text[term.start as usize..term.end as usize]
    }

    /// Returns the text of a distinct term.
    #[must_use]
    pub fn first(&self, distinct: DistinctTerm) -> &str {
        self.term(self.terms[distinct.first as usize])
    }

    fn clear(&mut self) {
        self.text.clear();
        self.title.clear();
        self.terms.clear();
        self.paragraphs.clear();
        self.vocabulary.clear();
    }
}

/// An error in the settings or files of a segmenter.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// A line of the user dictionary is not `word [frequency [tag]]`.
    #[error(
        "segment.user_dictionary: line {line}: {text:?}; write `word`, `word frequency` or `word frequency tag`"
    )]
    BadDictionaryLine {
        /// The line number, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// The user dictionary has more words than fit.
    #[error(
        "segment.user_dictionary: no room for line {line} ({text:?}): about 60,000 words of three or more characters \
         fit; leave out the rarest"
    )]
    DictionaryFull {
        /// The line number, from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// There is no stop word list for a language.
    #[error("segment.stop_word_languages: no stop words for {language:?}; there are lists for {known}")]
    UnknownLanguage {
        /// The language code from the settings.
        language: String,
        /// All languages with a list.
        known: String,
    },
}

/// A splitter of documents into terms. Built once and shared by all threads.
pub struct Segmenter {
    script: Option<script::ScriptFolder>,
    words: WordSegmenter,
    stop_words: stop_words::StopWords,
}

/// The contents of the files named in the segment settings; empty if none is named.
#[derive(Debug, Clone, Default)]
pub struct Lexicons {
    /// Lines of `word [frequency [tag]]`.
    pub user_dictionary: String,
    /// One stop word per line.
    pub stop_words: String,
}

impl Segmenter {
    /// Loads dictionaries and stop words, which takes about 200 ms. `lexicons` holds the contents of the files that
    /// `config` names.
    ///
    /// # Errors
    /// Returns a [`SegmentError`] if a setting or a line of a file is not valid.
    pub fn new(config: &SegmentConfig, lexicons: &Lexicons) -> Result<Self, SegmentError> {
        let script = config.fold_script.then(script::ScriptFolder::new);
        let normalize = |word: &str| {
            let mut normalized = String::new();
            // Cannot fail: the work is unbounded.
            let _ = normalize_paragraph(word, script.as_ref(), &mut normalized, &mut Work::unbounded());
            normalized
        };
        let words = WordSegmenter::new(config.hmm, &lexicons.user_dictionary, normalize).map_err(
            |(error, line, text)| match error {
                DictionaryError::BadLine => SegmentError::BadDictionaryLine { line, text },
                DictionaryError::Full => SegmentError::DictionaryFull { line, text },
            },
        )?;
        let stop_words =
            stop_words::StopWords::new(&config.stop_word_languages, &lexicons.stop_words, normalize)?;
        Ok(Self { script, words, stop_words })
    }

    /// Returns `text` normalised as terms are: one script, one width, lower case. Meant for short texts.
    #[must_use]
    pub fn normalized(&self, text: &str) -> String {
        let mut normalized = String::new();
        // Cannot fail: the work is unbounded.
        let _ = normalize_paragraph(text, self.script.as_ref(), &mut normalized, &mut Work::unbounded());
        normalized
    }

    /// Returns the paragraphs of `document`, normalised, each followed by a line feed, as [`Terms::text`] has them:
    /// quoted lines are empty.
    ///
    /// # Errors
    /// Returns [`TooMuchWork`] if it would cost more than is left of `work`.
    pub fn normalized_document(&self, document: &Document, work: &mut Work) -> Result<String, TooMuchWork> {
        let mut text = String::new();
        let without_quotes = quotes::are_left_out(&document.paragraphs);
        for paragraph in &document.paragraphs {
            if !(without_quotes && quotes::is_quoted(paragraph)) {
                normalize_paragraph(&paragraph.text, self.script.as_ref(), &mut text, work)?;
            }
            text.push('\n');
        }
        Ok(text)
    }

    /// Splits `document` into terms and replaces the contents of `terms`, without a limit on work.
    pub fn segment(&self, document: &Document, terms: &mut Terms) {
        // Cannot fail: the work is unbounded.
        let _ = self.segment_within(document, terms, &mut Work::unbounded());
    }

    /// Does the same as [`Self::segment`], but stops when it would cost more than is left of `work`.
    ///
    /// # Errors
    /// Returns [`TooMuchWork`]; `terms` then holds only a part of the document.
    pub fn segment_within(
        &self,
        document: &Document,
        terms: &mut Terms,
        work: &mut Work,
    ) -> Result<(), TooMuchWork> {
        terms.clear();
        terms.address.clone_from(&document.address);
        let title = document.title.as_deref().unwrap_or_default();
        normalize_paragraph(title, self.script.as_ref(), &mut terms.title, work)?;
        let without_quotes = quotes::are_left_out(&document.paragraphs);
        for paragraph in &document.paragraphs {
            let (start, first_term) = (terms.text.len(), terms.terms.len());
            if !(without_quotes && quotes::is_quoted(paragraph)) {
                normalize_paragraph(&paragraph.text, self.script.as_ref(), &mut terms.text, work)?;
            }
            let Terms { text, terms, paragraphs, vocabulary, workspace, .. } = terms;
            self.words.segment(&text[start..], workspace, work, |word: Range<usize>| {
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

/// Appends `paragraph` to `out`, normalised and folded into simplified script.
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

/// Converts an offset. Pages are far below 4 GiB; a longer text would only lose the terms at its end.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
