//! Inverse document frequencies (how rare a term is), from a versioned, read-only table.
//!
//! The file has a line `# leitong idf 1`, a line `documents<TAB>N`, then lines `term<TAB>n` in any order: the
//! term as the segmentation writes it, and in how many of the N documents it occurs. Further lines that begin
//! with `#` are comments. `leitong idf build` builds such a file from pages; the built-in `default.tsv`
//! states its sources. A term that is not in the table counts as occurring in one document.
//!
//! Integer arithmetic: IDF = ln N − ln n with 16 fractional bits.

mod build;

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::resources::{ResourceError, shortened};
use super::term_weight::{FRACTION_BITS, ln};
use leitong_base::hashed::HashedMap;
use leitong_text::segment::DistinctTerm;

pub use build::IdfBuilder;

/// The first line of the file.
pub(crate) const HEADER: &str = "# leitong idf 1";
const DEFAULT: &str = include_str!("default.tsv");
/// The number of documents, of a million, that have each word of the built-in table, by the word's XXH3-64.
static COMMON: LazyLock<HashedMap<u32>> = LazyLock::new(|| {
    let lines = DEFAULT.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| line.split_once('\t'));
    entries.filter_map(|(word, n)| Some((xxh3_64(word.as_bytes()), n.parse().ok()?))).collect()
});
const SETTING: &str = "idf.file";

/// Returns true if the built-in table has the word with this XXH3-64. Fingerprints depend on the answer: it
/// may change only with a detector's version.
#[must_use]
pub(crate) fn is_common(hash: u64) -> bool {
    LazyLock::force(&COMMON).contains_key(&hash)
}

/// Returns how many documents of a million have the word with this XXH3-64, by the built-in table; 0 if it is not in the
/// table.
#[must_use]
pub fn documents_with(hash: u64) -> u32 {
    LazyLock::force(&COMMON).get(&hash).copied().unwrap_or(0)
}

/// A table of inverse document frequencies.
#[derive(Debug)]
pub(crate) struct IdfTable {
    /// IDF with [`FRACTION_BITS`] fractional bits, by the XXH3-64 of the term.
    idf: HashedMap<u32>,
    /// IDF of a term that is not in the table: the largest possible.
    unknown: u32,
    /// XXH3-64 of the file's contents.
    contents: u64,
}

impl IdfTable {
    /// Reads the table from the contents of `file`, or the built-in table if they are empty.
    ///
    /// # Errors
    /// [`ResourceError`], with the line that cannot be read.
    pub(crate) fn new(file: &str) -> Result<Self, ResourceError> {
        let file = if file.is_empty() { DEFAULT } else { file };
        let mut lines = (1..).zip(file.lines());
        let first = lines.next().map_or("", |(_, line)| line);
        if first != HEADER {
            let found = shortened(first);
            return Err(ResourceError::WrongHeader { setting: SETTING, expected: HEADER, found });
        }
        let mut documents = None;
        let mut table = Self { idf: HashedMap::default(), unknown: 0, contents: xxh3_64(file.as_bytes()) };
        for (line, text) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let wrong = |expected| ResourceError::WrongLine {
                setting: SETTING,
                line,
                found: shortened(text),
                expected,
            };
            let entry = text.rsplit_once('\t').and_then(|(term, n)| Some((term, n.parse::<u32>().ok()?)));
            match (documents, entry) {
                (None, Some(("documents", n @ 1..))) => {
                    documents = Some(n);
                    table.unknown = idf(n, 1);
                }
                (None, _) => return Err(wrong("`documents<TAB>N` before all terms, N from 1 to 4294967295")),
                (Some(documents), Some((term, n @ 1..))) if n <= documents => {
                    table.idf.insert(xxh3_64(term.as_bytes()), idf(documents, n));
                }
                _ => return Err(wrong("`term<TAB>n`, n from 1 to the number of documents")),
            }
        }
        match documents {
            Some(_) => Ok(table),
            None => Err(ResourceError::WrongLine {
                setting: SETTING,
                line: 2,
                found: String::new(),
                expected: "`documents<TAB>N`",
            }),
        }
    }

    /// Returns ln(N / n) of a term, with 16 fractional bits.
    #[must_use]
    #[inline]
    pub(crate) fn idf(&self, term: DistinctTerm) -> u32 {
        self.idf.get(&term.hash).copied().unwrap_or(self.unknown)
    }

    /// Returns the hash of the file's contents, which is part of the fingerprint hash.
    #[must_use]
    pub(crate) fn contents(&self) -> u64 {
        self.contents
    }
}

fn idf(documents: u32, n: u32) -> u32 {
    u32::try_from(ln(documents) - ln(n)).unwrap_or(0)
}

/// Converts `decades` (a logarithm to base 10) to an IDF: natural logarithm, with 16 fractional bits.
pub(crate) fn from_decades(decades: f64) -> u32 {
    (decades * std::f64::consts::LN_10 * f64::from(1 << FRACTION_BITS)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(word: &str) -> DistinctTerm {
        DistinctTerm { hash: xxh3_64(word.as_bytes()), frequency: 1, first: 0 }
    }

    #[test]
    fn reads_a_table() {
        let table =
            IdfTable::new("# leitong idf 1\n# mine\ndocuments\t1000\n雷同\t10\nthe\t1000\n").expect("right");
        let idf = |word| f64::from(table.idf(term(word))) / 65_536.0;
        assert!((idf("雷同") - 100_f64.ln()).abs() < 1e-4);
        assert!((idf("the") - 0.0).abs() < 1e-4);
        assert!((idf("unheard-of") - 1_000_f64.ln()).abs() < 1e-4);
        assert_eq!(from_decades(0.5), 75_451);
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let message = |file: &str| IdfTable::new(file).expect_err("wrong").to_string();
        assert_eq!(
            message("雷同\t10\n"),
            "idf.file: line 1: \"雷同\\t10\"; the file must begin with \"# leitong idf 1\""
        );
        assert!(
            message("# leitong idf 1\n雷同\t10\n").contains("line 2: \"雷同\\t10\"; write `documents<TAB>N`")
        );
        for bad in ["雷同", "雷同\t0", "雷同\t1001", "雷同\tmany"] {
            let file = format!("# leitong idf 1\ndocuments\t1000\n{bad}\n");
            assert!(message(&file).starts_with("idf.file: line 3: "), "{bad}");
        }
        assert!(message("# leitong idf 1\n").contains("documents"));
    }

    #[test]
    fn the_built_in_table_covers_chinese_and_english() {
        let table = IdfTable::new("").expect("the default is right");
        for (common, rare) in [("问题", "雷同"), ("time", "duplicate")] {
            assert!(table.idf(term(common)) < table.idf(term(rare)), "{common} is commoner than {rare}");
        }
        assert!(table.idf(term("雷同")) <= table.unknown);
    }
}
