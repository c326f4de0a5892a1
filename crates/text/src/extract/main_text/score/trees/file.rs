//! Reads the file of a set of decision trees, at compile time.
//!
//! In: the bytes written by `tools/extraction/train.py`, little-endian integers. For each of the two scorings: its bias
//! (4 bytes), the number of its trees (2), and its trees. A tree has six questions, each a column (1) and a limit (2),
//! then 64 weights (2 each). Out: constants. A file that is too short does not compile.

use super::{DEPTH, Tree};

/// Bytes before the trees of a scoring.
const HEAD_BYTES: usize = 6;
/// Bytes of one tree.
const TREE_BYTES: usize = 3 * DEPTH + (2 << DEPTH);

const fn short(bytes: &[u8], at: usize) -> i16 {
    i16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the bias of the scoring that begins at `at`.
pub(super) const fn bias(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the number of trees of the scoring that begins at `at`.
pub(super) const fn count(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]) as usize
}

/// Returns the offset after the scoring that begins at `at`.
pub(super) const fn end(bytes: &[u8], at: usize) -> usize {
    at + HEAD_BYTES + count(bytes, at) * TREE_BYTES
}

/// Returns the trees of the scoring that begins at `at`.
pub(super) const fn trees<const COUNT: usize>(bytes: &[u8], at: usize) -> [Tree; COUNT] {
    let mut trees = [const { Tree { questions: [(0, 0); DEPTH], weights: [0; 1 << DEPTH] } }; COUNT];
    let mut number = 0;
    while number < COUNT {
        let (from, tree) = (at + HEAD_BYTES + number * TREE_BYTES, &mut trees[number]);
        let mut question = 0;
        while question < DEPTH {
            let place = from + 3 * question;
            tree.questions[question] = (bytes[place], short(bytes, place + 1));
            question += 1;
        }
        let mut weight = 0;
        while weight < 1 << DEPTH {
            tree.weights[weight] = short(bytes, from + 3 * DEPTH + 2 * weight);
            weight += 1;
        }
        number += 1;
    }
    trees
}
