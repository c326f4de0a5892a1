//! The hits of a look-up on their way to whoever compares them.
//!
//! A page that shares a key with every other one has as many hits as
//! there are pages. They are never collected whole: when [`HITS_MAX`]
//! have gathered, they are compared, and the room is used again.

/// Hits that gather, on each core, before they are handed on: 256 KB. An ordinary
/// batch has fewer, so that all of it is put in order and compared at once.
pub const HITS_MAX: usize = 32_768;

/// What a look-up found: the query's number in its batch, and a slot. Ordered by query, then by slot.
///
/// One number, query above slot: an owner that drains its log, of whose time sorting hits was 13 %, takes 4 to 8 %
/// more records a second than with pairs (`cargo bench --bench kafka -- owner`).
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

/// Where a look-up puts its hits.
pub(crate) struct Hits<'a> {
    gathered: &'a mut Vec<Hit>,
    /// Empties it.
    hand_on: &'a mut dyn FnMut(&mut Vec<Hit>),
}

impl<'a> Hits<'a> {
    /// Hits gather in `gathered`, which `hand_on` empties when it
    /// is full. What is left in it at the end is the caller's.
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
