//! A text as paragraphs of sentences, and operations that delete, move or extract some of them.

use std::collections::HashSet;

use leitong_base::random::Random;
use leitong_text::segment::sentences;

/// A text as paragraphs of sentences.
pub(super) struct Body {
    pub(super) paragraphs: Vec<Vec<String>>,
    chars: usize,
}

impl Body {
    pub(super) fn new(text: &str) -> Self {
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

    /// Returns `share` of the text as a number of characters, at least one.
    pub(super) fn part(&self, share: f64) -> usize {
        ((self.chars as f64 * share).round() as usize).max(1)
    }

    /// Draws a place between sentences.
    pub(super) fn place(&mut self, random: &mut Random) -> (usize, usize) {
        if self.paragraphs.is_empty() {
            self.paragraphs.push(Vec::new());
        }
        let paragraph = random.below(self.paragraphs.len());
        (paragraph, random.below(self.paragraphs[paragraph].len() + 1))
    }

    /// Returns the place of each sentence.
    fn sentences(&self) -> Vec<(usize, usize)> {
        let places = |(number, paragraph): (usize, &Vec<String>)| {
            (0..paragraph.len()).map(move |at| (number, at)).collect::<Vec<_>>()
        };
        self.paragraphs.iter().enumerate().flat_map(places).collect()
    }

    pub(super) fn text(&self) -> String {
        self.paragraphs.iter().filter(|paragraph| !paragraph.is_empty()).map(|p| p.concat() + "\n").collect()
    }
}

/// Changes sentences in random order until a share of the text is changed. `change` takes a sentence and the
/// number of its characters to change.
pub(super) fn change_sentences(
    body: &mut Body,
    share: f64,
    random: &mut Random,
    mut change: impl FnMut(&mut String, usize, &mut Random),
) {
    let mut left = body.part(share);
    let mut order = body.sentences();
    random.shuffle(&mut order);
    for (paragraph, at) in order {
        if left == 0 {
            break;
        }
        let sentence = &mut body.paragraphs[paragraph][at];
        let part = sentence.chars().count().min(left);
        change(sentence, part, random);
        left -= part;
    }
}

pub(super) fn delete(body: &mut Body, share: f64, random: &mut Random) {
    change_sentences(body, share, random, |sentence, part, random| {
        let from = random.below(sentence.chars().count() - part + 1);
        *sentence = sentence.chars().take(from).chain(sentence.chars().skip(from + part)).collect();
    });
}

pub(super) fn move_sentences(body: &mut Body, share: f64, random: &mut Random) {
    let moves = ((body.sentences().len() as f64 * share).round() as usize).max(1);
    for _ in 0..moves {
        let places = body.sentences();
        let Some((paragraph, at)) = places.get(random.below(places.len())).copied() else { return };
        let sentence = body.paragraphs[paragraph].remove(at);
        let (paragraph, at) = body.place(random);
        body.paragraphs[paragraph].insert(at, sentence);
    }
}

pub(super) fn move_paragraphs(body: &mut Body, share: f64, random: &mut Random) {
    let moves = ((body.paragraphs.len() as f64 * share).round() as usize).max(1);
    for _ in 0..moves.min(body.paragraphs.len()) {
        let paragraph = body.paragraphs.remove(random.below(body.paragraphs.len()));
        let at = random.below(body.paragraphs.len() + 1);
        body.paragraphs.insert(at, paragraph);
    }
}

pub(super) fn excerpt(body: &mut Body, share: f64, random: &mut Random) {
    let wanted = body.part(share);
    let order = body.sentences();
    let length = |place: &(usize, usize)| body.paragraphs[place.0][place.1].chars().count();
    // The last sentence at which an excerpt of this length can begin.
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
    let kept: HashSet<(usize, usize)> = order[first.min(order.len())..end].iter().copied().collect();
    for (number, paragraph) in body.paragraphs.iter_mut().enumerate() {
        let mut at = 0..;
        paragraph.retain(|_| at.next().is_some_and(|at| kept.contains(&(number, at))));
    }
}
