//! Recognises threads: posts of several people on one question.
//!
//! In: the tree and the chosen blocks. Out: whether they are posts. Cost: linear in blocks and nodes.

use std::collections::BTreeMap;

use crate::extract::parse::hints::{COMMENT, POST};
use crate::extract::parse::tree::{Tree, declared};

/// Minimum number of posts in a thread.
const POSTS_MIN: u32 = 3;

/// Returns true if linked data says so, or if most of the text is in several nodes with the same structural signature
/// that are named as posts or comments. `bytes` is the length of the `chosen` text.
pub(in crate::extract) fn is_thread(tree: &Tree, chosen: &[u32], bytes: u64) -> bool {
    if tree.head.declares(declared::FORUM) {
        return true;
    }
    let mut sums = vec![0_u64; tree.blocks.len() + 1];
    for &block in chosen {
        sums[block as usize + 1] = u64::from(tree.blocks[block as usize].counts.bytes);
    }
    for at in 1..sums.len() {
        sums[at] += sums[at - 1];
    }
    let mut signatures: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    for node in tree.nodes.iter().filter(|node| node.hints & (POST | COMMENT) != 0) {
        let within = sums[node.end_block as usize] - sums[node.first_block as usize];
        if within > 0 {
            let signature = signatures.entry(node.signature).or_default();
            *signature = (signature.0 + 1, signature.1 + within);
        }
    }
    signatures.values().any(|&(nodes, within)| nodes >= POSTS_MIN && within * 2 > bytes && within < bytes * 2)
}
