//! The comparison of two pages by a detector, in one sentence.
//!
//! The sentence names the figures in the evidence that decide. For detectors that are only for comparison, and if the
//! settings leave these figures out, it names the similarity.

use serde_json::{Map, Value};

use super::language::Language;
use leitong_pipeline::comparison::Compared;

/// Describes the features that a detector compares.
#[must_use]
pub(crate) fn looks_at(name: &str, language: Language) -> &'static str {
    match name {
        "simhash" => language.say("all words, a sample of passages, numbers", "全部词语、抽样片段、数字"),
        "paragraph" => language.say("each paragraph on its own", "逐段比较"),
        "agglomerate-term" => language.say("words that occur in clusters", "成簇出现的词"),
        "concept-network" => language.say("concepts that hold the text together", "联结全文的概念"),
        "word-network" => language.say("words that hold the text together", "联结全文的词"),
        "shingle" => language.say("runs of words", "连续的词串"),
        "i-match" => language.say("the set of rare words", "罕见词的集合"),
        "tf-idf" => language.say("words, with more weight on rare ones", "词语，罕见者权重更高"),
        "punctuation" => language.say("the letters around one full stop", "某个句号前后的字"),
        "sentence-ends" => language.say("the beginnings and ends of sentences", "句首与句尾"),
        _ => "",
    }
}

/// Returns the sentence about two pages.
#[must_use]
pub(crate) fn sentence(name: &str, compared: &Compared, language: Language) -> String {
    let figures = Figures { compared, language };
    let sentence = match name {
        "simhash" => figures.simhash(),
        "paragraph" => figures.paragraph(),
        "agglomerate-term" => figures.clusters(),
        "concept-network" | "word-network" => figures.network(),
        _ => None,
    };
    sentence.unwrap_or_else(|| figures.similarity())
}

/// Formats `0.9062` as `90.6 %`.
#[must_use]
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}\u{a0}%", text.strip_suffix(".0").unwrap_or(&text))
}

struct Figures<'a> {
    compared: &'a Compared,
    language: Language,
}

impl Figures<'_> {
    fn evidence(&self) -> &Map<String, Value> {
        &self.compared.evidence
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.evidence().get(name)?.as_u64()
    }

    fn share(&self, name: &str) -> Option<String> {
        self.evidence().get(name)?.as_f64().map(percent)
    }

    fn similarity(&self) -> String {
        let similarity = percent(self.compared.similarity);
        self.language.say(
            format!("The similarity of the pages is {similarity}."),
            format!("两页的相似度为 {similarity}。"),
        )
    }

    fn simhash(&self) -> Option<String> {
        let distance = self.compared.distance;
        let (matches, size) = (self.count("sketch_matches")?, self.count("sketch_size")?);
        let needed = self.count("sketch_matches_needed")?;
        let numbers = self.evidence().get("numbers_replaced").and_then(Value::as_f64).unwrap_or(0.0).round();
        let mut sentence = self.language.say(
            format!(
                "{distance} of 64 bits differ, and {matches} of {size} sampled passages agree, of which {needed} are required."
            ),
            format!("64 位中有 {distance} 位不同；{size} 个抽样片段中有 {matches} 个一致，至少需要 {needed} 个。"),
        );
        if numbers > 0.0 {
            sentence += &self.language.say(
                format!(" Numbers that are replaced: about {numbers}."),
                format!("约有 {numbers} 个数字被替换。"),
            );
        }
        Some(sentence)
    }

    fn paragraph(&self) -> Option<String> {
        let (shared, all) = (self.count("shared_paragraphs")?, self.count("paragraphs")?);
        let (of_b, of_a) = (self.share("shared_share")?, self.share("canonical_shared_share")?);
        let needed = self.share("share_needed")?;
        Some(self.language.say(
            format!(
                "A contains {shared} of B's {all} paragraphs: {of_b} of B's text and {of_a} of A's, where {needed} is \
                 enough."
            ),
            format!("B 的 {all} 个段落中有 {shared} 个见于 A，占 B 的 {of_b}、A 的 {of_a}；达到 {needed} 即可。"),
        ))
    }

    fn above(&self, needed: &str) -> Option<String> {
        let (similarity, needed) = (percent(self.compared.similarity), self.share(needed)?);
        Some(self.language.say(
            format!("Words and their frequencies agree to {similarity}; {needed} is required."),
            format!("词语及其出现次数的一致程度为 {similarity}；要求 {needed}。"),
        ))
    }

    fn clusters(&self) -> Option<String> {
        let none_same = self.evidence().get("same_best_terms")?.as_array()?.is_empty();
        let sentence = self.above("similarity_needed")?;
        let best = match none_same {
            true => self.language.say(" Their best words differ.", "最重要的几个词并不相同。"),
            false => self.language.say(" Their best words are the same.", "最重要的几个词相同。"),
        };
        Some(sentence + best)
    }

    fn network(&self) -> Option<String> {
        let (similarity, needed) = (percent(self.compared.similarity), self.share("similarity_above")?);
        let (spread, below) = (self.share("spread")?, self.share("spread_below")?);
        Some(self.language.say(
            format!(
                "They agree to {similarity} (more than {needed} is required), and their places differ by {spread} (less than \
                 {below} is required)."
            ),
            format!("一致程度为 {similarity}（须超过 {needed}），位置相差 {spread}（须低于 {below}）。"),
        ))
    }
}
