//! Texts as they come back: changed in the ways in which near-duplicates arise, by a seed.
//!
//! Shares are of the text's characters. What is put in comes from *donors*, sentences of other texts (paper 002 takes
//! 50 other texts).

use std::fmt;

use opencc_fmmseg::OpenCC;
use serde::Serialize;

use super::random::Random;
use crate::segment::sentences::sentences;

/// A way to change a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Sentences of other texts at random places.
    Added,
    /// Text gone at random places.
    Deleted,
    /// Sentences replaced by sentences of other texts.
    Rewritten,
    /// Words replaced by synonyms, where a list is given.
    Synonyms,
    /// Sentences moved to random places.
    SentencesMoved,
    /// Paragraphs moved to random places.
    ParagraphsMoved,
    /// A run of sentences alone.
    Excerpt,
    /// Other texts put before and behind it.
    Merged,
    /// Lines of navigation and footers round it.
    Furniture,
    /// Another headline, and a line of date and editor.
    Headline,
    /// Traditional script with the vocabulary of Taiwan.
    Traditional,
    /// Full-width forms in place of half-width ones, and the other way round.
    Width,
}

/// A family and how much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Condition {
    /// In which way.
    pub family: Family,
    /// A share, or a number of texts or lines.
    pub level: f64,
}

impl Condition {
    /// All that an evaluation looks at.
    #[must_use]
    pub fn all(with_synonyms: bool) -> Vec<Self> {
        const CHANGED: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2];
        const MOVED: &[f64] = &[0.1, 0.25, 0.5, 1.0];
        const KEPT: &[f64] = &[0.2, 0.4, 0.6, 0.8];
        let families: [(Family, &[f64]); 12] = [
            (Family::Added, CHANGED),
            (Family::Deleted, CHANGED),
            (Family::Rewritten, CHANGED),
            (Family::Synonyms, CHANGED),
            (Family::SentencesMoved, MOVED),
            (Family::ParagraphsMoved, MOVED),
            (Family::Excerpt, KEPT),
            (Family::Merged, &[2.0, 3.0]),
            (Family::Furniture, &[4.0, 12.0]),
            (Family::Headline, &[1.0]),
            (Family::Traditional, &[1.0]),
            (Family::Width, &[1.0]),
        ];
        let wanted = families.into_iter().filter(|(family, _)| with_synonyms || *family != Family::Synonyms);
        wanted
            .flat_map(|(family, levels)| levels.iter().map(move |level| Self { family, level: *level }))
            .collect()
    }
}

impl Family {
    /// In words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Added => "text added",
            Self::Deleted => "text deleted",
            Self::Rewritten => "sentences rewritten",
            Self::Synonyms => "words replaced by synonyms",
            Self::SentencesMoved => "sentences moved",
            Self::ParagraphsMoved => "paragraphs moved",
            Self::Excerpt => "excerpt of the text",
            Self::Merged => "articles merged",
            Self::Furniture => "lines of page furniture",
            Self::Headline => "other headline and editor's line",
            Self::Traditional => "traditional script",
            Self::Width => "full and half width swapped",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::Merged => write!(f, "{} {}", self.level, self.family.title()),
            Family::Furniture => write!(f, "{} {}", self.level, self.family.title()),
            Family::Headline | Family::Traditional | Family::Width => f.write_str(self.family.title()),
            _ => write!(f, "{:.0} % {}", self.level * 100.0, self.family.title()),
        }
    }
}

/// Changes texts.
pub struct Perturber<'a> {
    /// Sentences of other texts.
    pub donors: Vec<&'a str>,
    /// Other texts.
    pub others: Vec<&'a str>,
    synonyms: Option<Synonyms>,
    opencc: OpenCC,
}

/// Words, and what may stand in their place.
struct Synonyms {
    words: aho_corasick::AhoCorasick,
    /// For each word the others of its line.
    replacements: Vec<Vec<String>>,
}

impl<'a> Perturber<'a> {
    /// A perturber with texts to take from; `synonyms` holds lines of words parted by tabs, or nothing.
    ///
    /// # Errors
    /// What is wrong with the synonyms.
    pub fn new(others: Vec<&'a str>, synonyms: &str) -> Result<Self, String> {
        let donors = others.iter().flat_map(|text: &&'a str| sentences(text).map(|range| &text[range]));
        let donors = donors.filter(|sentence| sentence.chars().count() >= 8).collect();
        let synonyms = (!synonyms.is_empty()).then(|| Synonyms::new(synonyms)).transpose()?;
        Ok(Self { donors, others, synonyms, opencc: OpenCC::new() })
    }

    /// `text` changed as `condition` says.
    #[must_use]
    pub fn perturb(&self, text: &str, condition: Condition, random: &mut Random) -> String {
        let mut body = Body::new(text);
        match condition.family {
            Family::Added => self.add(&mut body, condition.level, random),
            Family::Deleted => delete(&mut body, condition.level, random),
            Family::Rewritten => self.rewrite(&mut body, condition.level, random),
            Family::Synonyms => return self.replace_words(text, condition.level, random),
            Family::SentencesMoved => move_sentences(&mut body, condition.level, random),
            Family::ParagraphsMoved => move_paragraphs(&mut body, condition.level, random),
            Family::Excerpt => excerpt(&mut body, condition.level, random),
            Family::Merged => return self.merge(text, condition.level as usize, random),
            Family::Furniture => return furniture(text, condition.level as usize, random),
            Family::Headline => self.change_headline(&mut body, random),
            Family::Traditional => return self.opencc.s2twp(text, false),
            Family::Width => return text.chars().map(swap_width).collect(),
        }
        body.text()
    }

    fn donor(&self, random: &mut Random) -> String {
        self.donors.get(random.below(self.donors.len())).map_or_else(String::new, |donor| (*donor).to_owned())
    }

    fn add(&self, body: &mut Body, share: f64, random: &mut Random) {
        let mut left = body.part(share);
        while left > 0 && !self.donors.is_empty() {
            let sentence: String = self.donor(random).chars().take(left).collect();
            left -= sentence.chars().count().max(1).min(left);
            let (paragraph, at) = body.place(random);
            body.paragraphs[paragraph].insert(at, sentence);
        }
    }

    fn rewrite(&self, body: &mut Body, share: f64, random: &mut Random) {
        let mut left = body.part(share);
        let mut order = body.sentences();
        random.shuffle(&mut order);
        for (paragraph, at) in order {
            let sentence = &mut body.paragraphs[paragraph][at];
            let chars = sentence.chars().count();
            if left == 0 || self.donors.is_empty() {
                break;
            }
            // As much of the sentence as is still to be rewritten, by as much of others.
            let new_chars = chars.min(left);
            let mut new = String::new();
            while new.chars().count() < new_chars {
                new.push_str(&self.donor(random));
            }
            *sentence = new.chars().take(new_chars).chain(sentence.chars().skip(new_chars)).collect();
            left -= new_chars;
        }
    }

    fn replace_words(&self, text: &str, share: f64, random: &mut Random) -> String {
        let Some(synonyms) = &self.synonyms else { return text.to_owned() };
        let mut found: Vec<_> = synonyms.words.find_iter(text).collect();
        random.shuffle(&mut found);
        // As many words as hold this share of the text, as far as there are words with synonyms.
        let mut left = (text.len() as f64 * share).ceil() as usize;
        found.retain(|word| {
            let take = left > 0;
            left = left.saturating_sub(word.len());
            take
        });
        found.sort_unstable_by_key(aho_corasick::Match::start);
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for word in found {
            let replacements = &synonyms.replacements[word.pattern().as_usize()];
            out.push_str(&text[at..word.start()]);
            out.push_str(&replacements[random.below(replacements.len())]);
            at = word.end();
        }
        out.push_str(&text[at..]);
        out
    }

    fn merge(&self, text: &str, texts: usize, random: &mut Random) -> String {
        let mut parts = vec![text];
        for _ in 1..texts {
            let other = self.others.get(random.below(self.others.len())).copied().unwrap_or_default();
            parts.insert(random.below(parts.len() + 1), other);
        }
        parts.join("\n")
    }

    fn change_headline(&self, body: &mut Body, random: &mut Random) {
        let headline = self.donor(random).chars().take(24).collect();
        let editor = format!(
            "2026-0{}-{} 来源：本站 编辑：小{}",
            1 + random.below(9),
            10 + random.below(18),
            random.below(9)
        );
        match body.paragraphs.first_mut() {
            Some(first) if body_is_headline(first) => *first = vec![headline],
            _ => body.paragraphs.insert(0, vec![headline]),
        }
        body.paragraphs.insert(1, vec![editor]);
    }
}

fn body_is_headline(paragraph: &[String]) -> bool {
    paragraph.iter().map(|sentence| sentence.chars().count()).sum::<usize>() <= 60
}

impl Synonyms {
    fn new(lines: &str) -> Result<Self, String> {
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
            return Err("no line with two words parted by a tab".to_owned());
        }
        let words = aho_corasick::AhoCorasick::builder()
            .match_kind(aho_corasick::MatchKind::LeftmostLongest)
            .build(words)
            .map_err(|error| error.to_string())?;
        Ok(Self { words, replacements })
    }
}

/// A text in paragraphs of sentences.
struct Body {
    paragraphs: Vec<Vec<String>>,
    chars: usize,
}

impl Body {
    fn new(text: &str) -> Self {
        let paragraph = |line: &str| sentences(line).map(|range| line[range].to_owned()).collect();
        Self {
            paragraphs: text
                .lines()
                .map(paragraph)
                .filter(|paragraph: &Vec<String>| !paragraph.is_empty())
                .collect(),
            chars: text.chars().filter(|c| !c.is_whitespace()).count(),
        }
    }

    /// So many characters, one at least.
    fn part(&self, share: f64) -> usize {
        ((self.chars as f64 * share).round() as usize).max(1)
    }

    /// A place between sentences.
    fn place(&mut self, random: &mut Random) -> (usize, usize) {
        if self.paragraphs.is_empty() {
            self.paragraphs.push(Vec::new());
        }
        let paragraph = random.below(self.paragraphs.len());
        (paragraph, random.below(self.paragraphs[paragraph].len() + 1))
    }

    /// Where each sentence stands.
    fn sentences(&self) -> Vec<(usize, usize)> {
        let of = |(number, paragraph): (usize, &Vec<String>)| {
            (0..paragraph.len()).map(move |at| (number, at)).collect::<Vec<_>>()
        };
        self.paragraphs.iter().enumerate().flat_map(of).collect()
    }

    fn text(&self) -> String {
        self.paragraphs.iter().filter(|paragraph| !paragraph.is_empty()).map(|p| p.concat() + "\n").collect()
    }
}

fn delete(body: &mut Body, share: f64, random: &mut Random) {
    let mut left = body.part(share);
    let mut order = body.sentences();
    random.shuffle(&mut order);
    for (paragraph, at) in order {
        let sentence = &mut body.paragraphs[paragraph][at];
        let chars = sentence.chars().count();
        let gone = chars.min(left);
        let from = random.below(chars - gone + 1);
        *sentence = sentence.chars().take(from).chain(sentence.chars().skip(from + gone)).collect();
        left -= gone;
        if left == 0 {
            break;
        }
    }
}

fn move_sentences(body: &mut Body, share: f64, random: &mut Random) {
    let moves = ((body.sentences().len() as f64 * share).round() as usize).max(1);
    for _ in 0..moves {
        let places = body.sentences();
        let Some((paragraph, at)) = places.get(random.below(places.len())).copied() else { return };
        let sentence = body.paragraphs[paragraph].remove(at);
        let (paragraph, at) = body.place(random);
        body.paragraphs[paragraph].insert(at, sentence);
    }
}

fn move_paragraphs(body: &mut Body, share: f64, random: &mut Random) {
    let moves = ((body.paragraphs.len() as f64 * share).round() as usize).max(1);
    for _ in 0..moves.min(body.paragraphs.len()) {
        let paragraph = body.paragraphs.remove(random.below(body.paragraphs.len()));
        let at = random.below(body.paragraphs.len() + 1);
        body.paragraphs.insert(at, paragraph);
    }
}

fn excerpt(body: &mut Body, share: f64, random: &mut Random) {
    let wanted = body.part(share);
    let order = body.sentences();
    let length = |place: &(usize, usize)| body.paragraphs[place.0][place.1].chars().count();
    // The last sentence at which a run of this length may begin.
    let mut tail = 0;
    let last = order.iter().rposition(|place| {
        tail += length(place);
        tail >= wanted
    });
    let first = random.below(last.map_or(1, |last| last + 1));
    let mut taken = 0;
    let end = order[first.min(order.len())..].iter().position(|place| {
        taken += length(place);
        taken >= wanted
    });
    let end = end.map_or(order.len(), |length| first + length + 1);
    let kept: std::collections::HashSet<(usize, usize)> =
        order[first.min(order.len())..end].iter().copied().collect();
    for (number, paragraph) in body.paragraphs.iter_mut().enumerate() {
        let mut at = 0..;
        paragraph.retain(|_| at.next().is_some_and(|at| kept.contains(&(number, at))));
    }
}

/// What pages carry round their main text.
const FURNITURE: [&str; 16] = [
    "首页 > 新闻 > 正文",
    "登录 | 注册 | 设为首页 | 加入收藏",
    "字号：大 中 小  打印本页  关闭窗口",
    "分享到：微信 微博 空间",
    "上一篇：没有了  下一篇：返回列表",
    "相关阅读",
    "热门文章排行榜",
    "我要评论 已有 128 人参与",
    "版权声明：本网站内容仅代表作者个人观点，如有侵权请与我们联系，我们将在第一时间处理。",
    "关于我们 | 联系方式 | 广告服务 | 网站地图",
    "Copyright © 2026 All Rights Reserved",
    "沪公网安备 31010102000000 号",
    "Home / Blog / Article",
    "Subscribe to our newsletter",
    "Related posts",
    "扫描二维码，关注官方公众号，获取更多精彩内容。",
];

fn furniture(text: &str, lines: usize, random: &mut Random) -> String {
    let mut before = String::new();
    let mut after = String::new();
    for number in 0..lines {
        let side = if number % 2 == 0 { &mut before } else { &mut after };
        side.push_str(FURNITURE[random.below(FURNITURE.len())]);
        side.push('\n');
    }
    format!("{before}{text}\n{after}")
}

fn swap_width(c: char) -> char {
    let shifted = match c {
        '!'..='~' => u32::from(c) + 0xfee0,
        '\u{ff01}'..='\u{ff5e}' => u32::from(c) - 0xfee0,
        _ => u32::from(c),
    };
    char::from_u32(shifted).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "雷同的标题（A1）b\n第一句话在这里。第二句话也在这里。第三句话还在这里。\n第二段的第一句。第二段的第二句。第二段的第三句。\n";
    const OTHER: &str = "毫不相干的另一篇文章，说的是天气和收成。它还有第二句话。";

    fn perturbed(family: Family, level: f64) -> String {
        let perturber = Perturber::new(vec![OTHER], "句话\t句子\n").expect("right");
        perturber.perturb(TEXT, Condition { family, level }, &mut Random::new(1, 2))
    }

    fn chars(text: &str) -> usize {
        text.chars().filter(|c| !c.is_whitespace()).count()
    }

    #[test]
    fn every_condition_changes_the_text_and_can_be_repeated() {
        let perturber = Perturber::new(vec![OTHER], "句话\t句子\n").expect("right");
        for condition in Condition::all(true) {
            let text = perturber.perturb(TEXT, condition, &mut Random::new(7, 7));
            assert_eq!(text, perturber.perturb(TEXT, condition, &mut Random::new(7, 7)), "{condition}");
            let may_fall_back = matches!(condition.family, Family::SentencesMoved | Family::ParagraphsMoved);
            assert!(text != TEXT || may_fall_back, "{condition}: {text}");
        }
    }

    #[test]
    fn shares_are_those_asked_for() {
        let whole = chars(TEXT);
        assert_eq!(chars(&perturbed(Family::Deleted, 0.2)), whole - whole / 5);
        assert_eq!(chars(&perturbed(Family::Added, 0.2)), whole + whole / 5);
        assert_eq!(chars(&perturbed(Family::Rewritten, 0.5)), whole);
        let half = chars(&perturbed(Family::Excerpt, 0.5));
        assert!(half >= whole / 2 && half < whole, "{half} of {whole}");
        let mut sorted: Vec<char> =
            perturbed(Family::SentencesMoved, 1.0).chars().filter(|c| *c != '\n').collect();
        let mut expected: Vec<char> = TEXT.chars().filter(|c| *c != '\n').collect();
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected, "moving loses nothing");
        assert!(perturbed(Family::Synonyms, 0.05).contains("句子"));
        assert!(perturbed(Family::Traditional, 1.0).contains("標題"));
        assert_eq!(swap_width(swap_width('a')), 'a');
    }

    #[test]
    fn tiny_texts_are_changed_without_a_panic() {
        let perturber = Perturber::new(vec![], "").expect("right");
        for text in ["", "一", "\n\n", "。"] {
            for condition in Condition::all(true) {
                let _ = perturber.perturb(text, condition, &mut Random::new(3, 4));
            }
        }
    }
}
