//! The weight of each block: sums of small decision tables, learned from pages whose main text is known.
//!
//! In: columns of facts. Out: for each block the likelihood, in thousandths, that it is main text. A table asks
//! [`DEPTH`] questions "is this fact above that value?"; the answers, as bits, are the place of a weight; the
//! weights of all tables are added up. The same questions are asked of every block, so the work goes down whole
//! columns, which the compiler vectorises. A second set of tables sees what the first one made of the
//! neighbours and of the nodes round a block ([`super::context`]). `docs/extraction.md` says how the weights are
//! learned and what each half of the pages scores with the weights of the other half. Invariant: integers only.
//! Cost: about 1 ns a block and table.

use super::weights::{DEPTH, LIKELIHOODS, Table};

/// Weights are thousandths of a unit of log-odds; [`LIKELIHOODS`] has one entry for each 50 of them.
const STEP: i32 = 50;

/// Buffers of [`weigh`], kept from page to page.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    answers: Vec<u16>,
    sums: Vec<i32>,
}

/// Replaces `likelihoods` by those of `blocks` blocks whose facts stand in `columns`.
pub(super) fn weigh(
    tables: &[Table],
    bias: i32,
    columns: &[i16],
    blocks: usize,
    scratch: &mut Scratch,
    likelihoods: &mut Vec<u16>,
) {
    scratch.sums.clear();
    scratch.sums.resize(blocks, bias);
    scratch.answers.resize(blocks, 0);
    for table in tables {
        answer(table, columns, blocks, &mut scratch.answers);
        for (sum, answer) in scratch.sums.iter_mut().zip(&scratch.answers) {
            // The mask is what the questions give anyway; it spares the bounds check.
            *sum += i32::from(table.weights[usize::from(*answer) & ((1 << DEPTH) - 1)]);
        }
    }
    likelihoods.clear();
    likelihoods.extend(scratch.sums.iter().map(|sum| likelihood(*sum)));
}

/// Asks all questions of `table` of each block. One pass over the six columns in words of their own width is what the
/// compiler makes vector code of.
fn answer(table: &Table, columns: &[i16], blocks: usize, answers: &mut [u16]) {
    let column = |question: usize| {
        let start = usize::from(table.questions[question].0) * blocks;
        &columns[start..start + blocks]
    };
    let [a, b, c, d, e, f]: [&[i16]; DEPTH] = std::array::from_fn(column);
    let limits = table.questions.map(|(_, limit)| limit);
    let answers = &mut answers[..blocks];
    for at in 0..blocks {
        answers[at] = u16::from(a[at] > limits[0])
            | u16::from(b[at] > limits[1]) << 1
            | u16::from(c[at] > limits[2]) << 2
            | u16::from(d[at] > limits[3]) << 3
            | u16::from(e[at] > limits[4]) << 4
            | u16::from(f[at] > limits[5]) << 5;
    }
}

/// The logistic function, in thousandths.
fn likelihood(sum: i32) -> u16 {
    let middle = LIKELIHOODS.len() as i32 / 2;
    let place = (sum.div_euclid(STEP) + middle).clamp(0, LIKELIHOODS.len() as i32 - 1);
    LIKELIHOODS[place as usize]
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
        let mut likelihoods = Vec::new();
        weigh(&[table], 0, &[5, 11, 10], 3, &mut Scratch::default(), &mut likelihoods);
        assert!(
            likelihoods[1] > 850 && likelihoods[0] == likelihoods[2] && likelihoods[0].abs_diff(500) < 15
        );
        assert!(likelihood(i32::MAX) > 990 && likelihood(i32::MIN) < 10);
    }
}
