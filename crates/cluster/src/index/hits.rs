//! Hits of a look-up, on their way to the code that compares them.
//!
//! A page that shares a key with every other page has as many hits as there are pages. They are never
//! collected as a whole: whenever [`HITS_MAX`] have gathered, they are compared, and the memory is reused.

/// Number of hits that each core gathers before it passes them on: 256 KB. An ordinary batch has fewer, so
/// all of them are sorted and compared at once.
pub const HITS_MAX: usize = 32_768;

/// A hit: the query's number in its batch, and a slot. Ordered by query, then by slot.
///
/// Both are packed into one number, query above slot, which is faster to sort than a pair: with pairs, an owner
/// that drains its log decides on 4 to 8 % fewer records per second (`cargo bench --bench kafka -- owner`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit(u64);

impl Hit {
    #[inline(always)]
    pub(crate) fn new(query: u32, slot: u32) -> Self {
        Self(u64::from(query) << 32 | u64::from(slot))
    }

    #[inline(always)]
    pub(crate) fn query(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    pub(crate) fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// The destination of a look-up's hits.
pub(crate) struct Hits<'a> {
    gathered: &'a mut Vec<Hit>,
    /// Empties `gathered`.
    hand_on: &'a mut dyn FnMut(&mut Vec<Hit>),
}

impl<'a> Hits<'a> {
    /// Gathers hits in `gathered`, which `hand_on` empties when it is full. The caller gets the hits that
    /// remain at the end.
    pub(crate) fn new(gathered: &'a mut Vec<Hit>, hand_on: &'a mut dyn FnMut(&mut Vec<Hit>)) -> Self {
        Self { gathered, hand_on }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, hit: Hit) {
        if self.gathered.len() >= HITS_MAX {
            self.hand_on();
        }
        self.gathered.push(hit);
    }

    #[cold]
    #[inline(never)]
    fn hand_on(&mut self) {
        (self.hand_on)(self.gathered);
    }
}
