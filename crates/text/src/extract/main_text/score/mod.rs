//! Scores each block by sums of small oblivious decision trees, learned from pages whose main text is known.
//!
//! In: columns of features. Out: for each block the probability, in thousandths, that it is main text. A tree has
//! [`DEPTH`] questions of the form "is this feature above that value?". The answers, as bits, are the index of a
//! weight, and the weights of all trees are added up. All blocks get the same questions, so the code processes columns,
//! which the compiler vectorises. A second set of trees uses the results of the first one for the neighbours of a block
//! and the nodes around it ([`crate::extract::main_text::features::context`]). `docs/extraction.md` explains how the
//! weights are learned, and has results on pages that were not learned from; [`writing`] selects the weights for a
//! page. Invariant: integers only. Cost: about 1 ns per block and tree.

mod trees;
mod writing;

use crate::extract::main_text::features::{Columns, LANES, Tile};
pub(super) use trees::Weights;
use trees::{DEPTH, PROBABILITIES, Scoring, Tree};
pub(super) use writing::Writing;

/// Thousandths of log-odds per entry of [`PROBABILITIES`].
const STEP: i32 = 50;

/// Replaces `probabilities` by those of `blocks` blocks with the features in `columns`.
pub(in crate::extract) fn score(
    scoring: Scoring,
    columns: &Columns,
    blocks: usize,
    probabilities: &mut Vec<u16>,
) {
    probabilities.clear();
    for tile in &columns.tiles {
        let sums = sums(scoring, tile);
        let known = LANES.min(blocks - probabilities.len());
        probabilities.extend(sums[..known].iter().map(|sum| probability(*sum)));
    }
}

/// Returns the log-odds of the blocks of one tile.
fn sums(scoring: Scoring, tile: &Tile) -> [i32; LANES] {
    let mut sums = [scoring.bias; LANES];
    for tree in scoring.trees {
        let answers = answers(tree, tile);
        for (sum, answer) in sums.iter_mut().zip(answers) {
            // The mask has no effect on answers; it saves the bounds check.
            *sum += i32::from(tree.weights[usize::from(answer) & ((1 << DEPTH) - 1)]);
        }
    }
    sums
}

/// Returns the answers of each block to all questions of `tree`. The compiler vectorises one pass over six columns of
/// fixed length, in words of their own width.
#[inline]
fn answers(tree: &Tree, tile: &Tile) -> [u16; LANES] {
    let [a, b, c, d, e, f] = tree.questions.map(|(column, _)| &tile[usize::from(column)]);
    let limits = tree.questions.map(|(_, limit)| limit);
    let mut answers = [0; LANES];
    // A loop, since a closure for `from_fn` may be left as a function, which costs a quarter of extraction.
    for (at, answer) in answers.iter_mut().enumerate() {
        *answer = u16::from(a[at] > limits[0])
            | u16::from(b[at] > limits[1]) << 1
            | u16::from(c[at] > limits[2]) << 2
            | u16::from(d[at] > limits[3]) << 3
            | u16::from(e[at] > limits[4]) << 4
            | u16::from(f[at] > limits[5]) << 5;
    }
    answers
}

/// Returns the logistic function, in thousandths.
fn probability(sum: i32) -> u16 {
    let middle = PROBABILITIES.len() as i32 / 2;
    let place = (sum.div_euclid(STEP) + middle).clamp(0, PROBABILITIES.len() as i32 - 1);
    PROBABILITIES[place as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_indexed_by_answer_bits() {
        let mut weights = [0; 1 << DEPTH];
        weights[1] = 2000;
        let mut questions = [(0, i16::MAX); DEPTH];
        questions[0] = (0, 10);
        let tree = Tree { questions, weights };
        let mut probabilities = Vec::new();
        let mut columns = Columns::default();
        columns.clear(3);
        for (at, value) in [5, 11, 10].into_iter().enumerate() {
            columns.row(at).put(0, value);
        }
        let scoring = Scoring { bias: 0, trees: vec![tree].leak() };
        score(scoring, &columns, 3, &mut probabilities);
        assert!(
            probabilities[1] > 850
                && probabilities[0] == probabilities[2]
                && probabilities[0].abs_diff(500) < 15
        );
        assert!(probability(i32::MAX) > 990 && probability(i32::MIN) < 10);
    }
}
