//! Synonyms from two kinds of files, identified by name:
//!
//! * WordNet's database files: `data.noun`, `data.verb`, `data.adj`, `data.adv` (each line a synset; all
//!   senses of a word are united, as in the paper; collocations are skipped, since terms are single words),
//!   and `noun.exc`, … (irregular forms);
//! * any other name: synonym lists, the words of each line separated by tabs. Lines that begin with `#` are
//!   comments.
//!
//! An English word that is not in the lexicon is looked up by WordNet's rules of detachment (*clusters* →
//! *cluster*).
//!
//! Memory: 8 bytes per synonym of each word. WordNet 3.0 takes some 10 MB.

use std::collections::HashMap;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::resources::{ConceptFile, ResourceError, shortened};
use leitong_base::hashed::HashedMap;

/// Synonyms by word.
#[derive(Debug, Default)]
pub(super) struct ConceptLexicon {
    /// Synonyms of a word, including itself, as ascending hashes. The key is the XXH3-64 of the word.
    synonyms: HashedMap<Box<[u64]>>,
    /// Irregular forms: the hash of the form → the hash of its base.
    bases: HashedMap<u64>,
    /// The smallest synonym of each word in byte order, which names its meaning.
    names: HashedMap<Box<str>>,
    /// Hash of the contents of all files.
    contents: u64,
}

impl ConceptLexicon {
    /// Reads the lexicon from these files.
    ///
    /// # Errors
    /// [`ResourceError::WrongLine`].
    pub(super) fn new(files: &[ConceptFile]) -> Result<Self, ResourceError> {
        let mut hash = Xxh3Default::new();
        let mut lexicon = Self::default();
        let mut sets: HashMap<String, Vec<u32>> = HashMap::new();
        let mut synsets: Vec<Vec<String>> = Vec::new();
        for file in files {
            hash.update(&file.contents);
            let text = String::from_utf8_lossy(&file.contents);
            for (line, text) in (1..).zip(text.lines()) {
                let words = if file.name.starts_with("data.") {
                    if text.starts_with("  ") {
                        continue;
                    } // the licence
                    synset(text).ok_or_else(|| wrong(line, text, "a line of a WordNet data file"))?
                } else if file.name.ends_with(".exc") {
                    let mut words = text.split_whitespace();
                    let (Some(form), Some(base)) = (words.next(), words.next()) else {
                        return Err(wrong(line, text, "`form base`, as in WordNet's exception lists"));
                    };
                    lexicon.bases.insert(xxh3_64(form.as_bytes()), xxh3_64(base.as_bytes()));
                    continue;
                } else if text.starts_with('#') {
                    continue;
                } else {
                    text.split('\t')
                        .map(|word| word.trim().to_lowercase())
                        .filter(|word| !word.is_empty())
                        .collect()
                };
                let number = synsets.len() as u32;
                words.iter().for_each(|word| sets.entry(word.clone()).or_default().push(number));
                synsets.push(words);
            }
        }
        for (word, numbers) in sets {
            let mut all: Vec<&str> =
                numbers.iter().flat_map(|number| &synsets[*number as usize]).map(String::as_str).collect();
            all.sort_unstable();
            all.dedup();
            let key = xxh3_64(word.as_bytes());
            lexicon.names.insert(key, all[0].into());
            let mut hashes: Vec<u64> = all.iter().map(|synonym| xxh3_64(synonym.as_bytes())).collect();
            hashes.sort_unstable();
            lexicon.synonyms.insert(key, hashes.into());
        }
        lexicon.contents = hash.digest();
        Ok(lexicon)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.synonyms.is_empty()
    }

    /// Returns the hash of the contents, which is part of the fingerprint hash.
    pub(super) fn contents(&self) -> u64 {
        self.contents
    }

    /// Returns the hash under which the lexicon holds a term, or the base form of a term.
    pub(super) fn entry(&self, term: &str, hash: u64) -> Option<u64> {
        if self.synonyms.contains_key(&hash) {
            return Some(hash);
        }
        if self.is_empty() || !term.is_ascii() {
            return None;
        }
        let irregular = self.bases.get(&hash).copied();
        let regular = DETACHMENTS.iter().filter_map(|(suffix, ending)| {
            let stem = term.strip_suffix(suffix).filter(|stem| stem.len() >= 2)?;
            Some(xxh3_64(format!("{stem}{ending}").as_bytes()))
        });
        irregular.into_iter().chain(regular).find(|base| self.synonyms.contains_key(base))
    }

    /// Returns the synonyms of an entry, including itself, as ascending hashes.
    pub(super) fn synonyms(&self, entry: u64) -> &[u64] {
        self.synonyms.get(&entry).map_or(&[], |synonyms| synonyms)
    }

    /// Returns the smallest of an entry's synonyms.
    pub(super) fn name(&self, entry: u64) -> Option<&str> {
        self.names.get(&entry).map(|name| &**name)
    }
}

/// WordNet's rules of detachment (morphy), the longer suffixes first.
const DETACHMENTS: [(&str, &str); 16] = [
    ("ches", "ch"),
    ("shes", "sh"),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("men", "man"),
    ("ies", "y"),
    ("s", ""),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("est", "e"),
    ("er", "e"),
];

/// Parses the words of `offset lex_filenum ss_type w_cnt word lex_id …`; `w_cnt` is hexadecimal.
fn synset(line: &str) -> Option<Vec<String>> {
    let mut fields = line.split(' ').skip(3);
    let count = usize::from_str_radix(fields.next()?, 16).ok()?;
    let words: Vec<&str> = fields.step_by(2).take(count).collect();
    let plain = |word: &&str| word.split('(').next().unwrap_or_default().to_lowercase();
    let is_one_word = |word: &&&str| !word.contains('_');
    (words.len() == count).then(|| words.iter().filter(is_one_word).map(plain).collect())
}

fn wrong(line: usize, text: &str, expected: &'static str) -> ResourceError {
    let setting = "concept-network.lexicon_files";
    ResourceError::WrongLine { setting, line, found: shortened(text), expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, contents: &str) -> ConceptFile {
        ConceptFile { name: name.to_owned(), contents: contents.as_bytes().to_vec() }
    }

    fn name<'l>(lexicon: &'l ConceptLexicon, term: &str) -> Option<&'l str> {
        lexicon.name(lexicon.entry(term, xxh3_64(term.as_bytes()))?)
    }

    #[test]
    fn reads_wordnet_and_lists() {
        let lexicon = ConceptLexicon::new(&[
            file(
                "data.noun",
                "  1 This software and database\n\
                 02958343 06 n 05 car 0 auto 0 automobile 0 machine 6 motor_car 0 002 @ 03791235 n 0000 | a vehicle\n",
            ),
            file("data.adj", "00001740 00 a 01 able(p) 0 005 = 05200169 n 0000 | having means\n"),
            file("noun.exc", "children child\n"),
            file("synonyms.tsv", "# ours\n电脑\t计算机\nchild\tKid\n"),
        ])
        .expect("right");
        for (term, expected) in [
            ("automobile", Some("auto")),
            ("cars", Some("auto")),
            ("able", Some("able")),
            ("children", Some("child")),
            ("kids", Some("child")),
            ("计算机", Some("电脑")),
            ("电脑", Some("电脑")),
            ("unknown", None),
            ("motor_car", None),
        ] {
            assert_eq!(name(&lexicon, term), expected, "{term}");
        }
    }

    #[test]
    fn an_error_names_the_wrong_line() {
        let error = ConceptLexicon::new(&[file("data.noun", "02958343 06 n 09 car 0 | a vehicle\n")])
            .expect_err("wrong");
        assert!(error.to_string().starts_with("concept-network.lexicon_files: line 1: "), "{error}");
        assert!(ConceptLexicon::new(&[file("noun.exc", "alone\n")]).is_err());
    }
}
