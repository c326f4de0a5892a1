//! One small value a centroid, which is mostly the same for all of a block.

/// Values in a row; where all are the same, one is kept.
#[derive(Debug)]
pub(super) enum Column {
    /// So many times this value.
    Same(u32, usize),
    /// Each its own.
    Each(Vec<u32>),
}

impl Default for Column {
    fn default() -> Self {
        Self::Same(0, 0)
    }
}

impl Column {
    pub(super) fn push(&mut self, value: u32) {
        match self {
            Self::Same(_, 0) => *self = Self::Same(value, 1),
            Self::Same(same, count) if *same == value => *count += 1,
            Self::Same(same, count) => {
                let mut each = vec![*same; *count];
                each.push(value);
                *self = Self::Each(each);
            }
            Self::Each(each) => each.push(value),
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> u32 {
        match self {
            Self::Same(value, _) => *value,
            Self::Each(each) => each[at],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Same(..) => 0,
            Self::Each(each) => each.capacity() * 4,
        }
    }
}
