//! The oblivious decision trees, one set for each kind of writing.
//!
//! Pages in Chinese, Japanese and Korean keep weights that were learned before there were many pages in alphabets to
//! learn from. With weights learned from all pages together, teasers below short Chinese articles stay in the text.

mod file;

use super::writing::Writing;

/// Number of questions per tree.
pub(in crate::extract) const DEPTH: usize = 6;

/// One oblivious decision tree.
#[derive(Debug)]
pub(in crate::extract) struct Tree {
    /// Column of a feature, and the value that it must exceed for a 1.
    pub(in crate::extract) questions: [(u8, i16); DEPTH],
    /// Thousandths of log-odds, by the bits of the answers; the first question has the lowest bit.
    pub(in crate::extract) weights: [i16; 1 << DEPTH],
}

/// The logistic function in thousandths, for every 50 thousandths of log-odds from -6 to 6.
#[rustfmt::skip]
pub(in crate::extract) static PROBABILITIES: [u16; 240] = [3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 14, 14, 15, 16, 17, 18, 18, 19, 20, 21, 22, 24, 25, 26, 27, 29, 30, 32, 33, 35, 36, 38, 40, 42, 44, 46, 49, 51, 53, 56, 59, 62, 64, 68, 71, 74, 78, 81, 85, 89, 93, 98, 102, 107, 112, 117, 122, 127, 133, 139, 145, 151, 158, 165, 172, 179, 186, 194, 202, 210, 218, 227, 236, 245, 254, 264, 274, 284, 294, 305, 315, 326, 337, 349, 360, 372, 383, 395, 407, 419, 432, 444, 456, 469, 481, 494, 506, 519, 531, 544, 556, 568, 581, 593, 605, 617, 628, 640, 651, 663, 674, 685, 695, 706, 716, 726, 736, 746, 755, 764, 773, 782, 790, 798, 806, 814, 821, 828, 835, 842, 849, 855, 861, 867, 873, 878, 883, 888, 893, 898, 902, 907, 911, 915, 919, 922, 926, 929, 932, 936, 938, 941, 944, 947, 949, 951, 954, 956, 958, 960, 962, 964, 965, 967, 968, 970, 971, 973, 974, 975, 976, 978, 979, 980, 981, 982, 982, 983, 984, 985, 986, 986, 987, 988, 988, 989, 989, 990, 990, 991, 991, 992, 992, 992, 993, 993, 993, 994, 994, 994, 995, 995, 995, 995, 996, 996, 996, 996, 996, 997, 997, 997, 997, 997, 997, 997];

/// The trees of one scoring.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Scoring {
    /// The initial sum, in thousandths of log-odds.
    pub(in crate::extract) bias: i32,
    pub(in crate::extract) trees: &'static [Tree],
}

/// The learned values for one kind of writing.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Weights {
    pub(in crate::extract) first: Scoring,
    /// The second scoring, which uses the results of the first one in the neighbourhood.
    pub(in crate::extract) second: Scoring,
    /// Mean probability, in thousandths, from which comments are kept.
    pub(in crate::extract) comments_min: u64,
    /// True if blocks that names and words both mark as boilerplate are left out, whatever their score.
    pub(in crate::extract) named_out: bool,
}

impl Weights {
    /// Returns the weights for pages of `writing`.
    pub(in crate::extract) fn for_writing(writing: Writing) -> Self {
        match writing {
            Writing::EastAsian => EAST_ASIAN,
            Writing::Alphabet => ALPHABETS,
        }
    }
}

/// Reads the two scorings of weights from a file.
macro_rules! weights {
    ($file:literal, $comments_min:expr, $named_out:literal) => {{
        const BYTES: &[u8] = include_bytes!($file);
        const SECOND: usize = file::end(BYTES, 0);
        static FIRST_TREES: [Tree; file::count(BYTES, 0)] = file::trees(BYTES, 0);
        static SECOND_TREES: [Tree; file::count(BYTES, SECOND)] = file::trees(BYTES, SECOND);
        const { assert!(file::end(BYTES, SECOND) == BYTES.len(), "bytes are left over") };
        Weights {
            first: Scoring { bias: file::bias(BYTES, 0), trees: &FIRST_TREES },
            second: Scoring { bias: file::bias(BYTES, SECOND), trees: &SECOND_TREES },
            comments_min: $comments_min,
            named_out: $named_out,
        }
    }};
}

static ALPHABETS: Weights = weights!("alphabets.bin", COMMENTS_MIN_ALPHABET, true);
static EAST_ASIAN: Weights = weights!("east_asian.bin", COMMENTS_MIN_EAST_ASIAN, false);

/// Mean probability, in thousandths, from which comments are kept. On pages that were not learned from, comment
/// sections that annotators left out had .46 to .75 in two runs; posts of forums and weblogs that they kept had .80 to
/// .96.
const COMMENTS_MIN_EAST_ASIAN: u64 = 720;

/// Like [`COMMENTS_MIN_EAST_ASIAN`], for alphabets: the highest value from .40 to .72 with which the threads that were
/// not learned from keep their comments. Other pages hardly change.
const COMMENTS_MIN_ALPHABET: u64 = 600;
