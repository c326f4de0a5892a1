//! Replaces words by synonyms.

use leitong_base::random::Random;

/// Words, and the words that can replace them.
pub(super) struct Synonyms {
    words: aho_corasick::AhoCorasick,
    /// For each word, the other words in its line.
    replacements: Vec<Vec<String>>,
}

impl Synonyms {
    /// Parses lines of words separated by tabs.
    pub(super) fn new(lines: &str) -> Result<Self, String> {
        let (mut words, mut replacements) = (Vec::new(), Vec::new());
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            let set: Vec<&str> =
                line.split('\t').map(str::trim).filter(|word| word.chars().count() >= 2).collect();
            for word in &set {
                let others: Vec<String> =
                    set.iter().filter(|other| *other != word).map(|o| (*o).to_owned()).collect();
                if !others.is_empty() {
                    words.push(*word);
                    replacements.push(others);
                }
            }
        }
        if words.is_empty() {
            let fault = "no line has two words separated by a tab; write one group of synonyms per line";
            return Err(fault.to_owned());
        }
        let words = aho_corasick::AhoCorasick::builder()
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(words)
            .map_err(|error| error.to_string())?;
        Ok(Self { words, replacements })
    }

    /// Replaces randomly chosen words by synonyms until the replaced words make up `share` of the bytes of
    /// `text`, or until no word with a synonym is left.
    pub(super) fn replace(&self, text: &str, share: f64, random: &mut Random) -> String {
        let mut found: Vec<_> = self.words.find_iter(text).collect();
        random.shuffle(&mut found);
        let mut left = (text.len() as f64 * share).ceil() as usize;
        found.retain(|word| {
            let take = left > 0;
            left = left.saturating_sub(word.len());
            take
        });
        found.sort_unstable_by_key(aho_corasick::Match::start);
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for word in found {
            let replacements = &self.replacements[word.pattern().as_usize()];
            out.push_str(&text[at..word.start()]);
            out.push_str(&replacements[random.below(replacements.len())]);
            at = word.end();
        }
        out.push_str(&text[at..]);
        out
    }
}
