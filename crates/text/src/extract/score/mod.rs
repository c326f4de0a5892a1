//! The weight of each block: sums of small decision tables,
//! learned from pages whose main text is known.
//!
//! In: columns of features. Out: for each block the probability, in thousandths, that it is main
//! text. A table asks [`DEPTH`] questions "is this flag above that value?"; the answers, as bits,
//! are the place of a weight; the weights of all tables are added up. The same questions are asked
//! of every block, so the work goes down columns, which the compiler vectorises. A second set of
//! tables sees what the first one made of the neighbours and of the nodes round a block
//! ([`crate::extract::features::context`]). `docs/extraction.md` says how the weights are learned
//! and what pages score that were not learned from; which weights score a page, [`writing`].
//! Invariant: integers only. Cost: about 1 ns a block and table.

pub mod training;
mod trees;
mod writing;

use crate::extract::features::{Columns, LANES, Tile};
pub(super) use trees::Weights;
use trees::{DEPTH, PROBABILITIES, Scoring, Table};
pub(super) use writing::Writing;

/// Weights are thousandths of a unit of log-odds;
/// [`PROBABILITIES`] has one entry for each 50 of them.
const STEP: i32 = 50;

/// Replaces `probabilities` by those of `blocks` blocks whose features stand in `columns`.
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

/// The log-odds of the blocks of one tile.
fn sums(scoring: Scoring, tile: &Tile) -> [i32; LANES] {
    let mut sums = [scoring.bias; LANES];
    for table in scoring.tables {
        let answers = answers(table, tile);
        for (sum, answer) in sums.iter_mut().zip(answers) {
            // The mask is what the questions give anyway; it spares the bounds check.
            *sum += i32::from(table.weights[usize::from(answer) & ((1 << DEPTH) - 1)]);
        }
    }
    sums
}

/// The answers of each block to all questions of `table`. One pass over six columns of
/// fixed length, in words of their own width, is what the compiler makes vector code of.
#[inline]
fn answers(table: &Table, tile: &Tile) -> [u16; LANES] {
    let [a, b, c, d, e, f] = table.questions.map(|(column, _)| &tile[usize::from(column)]);
    let limits = table.questions.map(|(_, limit)| limit);
    std::array::from_fn(|at| {
        u16::from(a[at] > limits[0])
            | u16::from(b[at] > limits[1]) << 1
            | u16::from(c[at] > limits[2]) << 2
            | u16::from(d[at] > limits[3]) << 3
            | u16::from(e[at] > limits[4]) << 4
            | u16::from(f[at] > limits[5]) << 5
    })
}

/// The logistic function, in thousandths.
fn probability(sum: i32) -> u16 {
    let middle = PROBABILITIES.len() as i32 / 2;
    let place = (sum.div_euclid(STEP) + middle).clamp(0, PROBABILITIES.len() as i32 - 1);
    PROBABILITIES[place as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_answer_by_bits() {
        let mut weights = [0; 1 << DEPTH];
        weights[1] = 2000;
        let mut questions = [(0, i16::MAX); DEPTH];
        questions[0] = (0, 10);
        let table = Table { questions, weights };
        let mut probabilities = Vec::new();
        let mut columns = Columns::default();
        columns.clear(3);
        for (at, value) in [5, 11, 10].into_iter().enumerate() {
            columns.row(at).put(0, value);
        }
        let scoring = Scoring { bias: 0, tables: vec![table].leak() };
        score(scoring, &columns, 3, &mut probabilities);
        assert!(
            probabilities[1] > 850
                && probabilities[0] == probabilities[2]
                && probabilities[0].abs_diff(500) < 15
        );
        assert!(probability(i32::MAX) > 990 && probability(i32::MIN) < 10);
    }
}
