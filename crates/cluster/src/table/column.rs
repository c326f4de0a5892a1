//! A column of values, one for each centroid of a block. If all are equal, as in most blocks, only one is stored.

/// A sequence of values; if all are the same, only one is stored.
#[derive(Debug)]
pub(super) enum Column {
    /// One value, and the number of times that it occurs.
    Same(u32, usize),
    /// One value for each centroid.
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
