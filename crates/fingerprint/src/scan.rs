//! Finds numbers of 64 bits within a Hamming distance, by comparing all of them: about a nanosecond for two.

use std::collections::VecDeque;

/// Centroids with 64 bits each, and something else, ordered by number.
#[derive(Debug)]
pub(crate) struct Column<T> {
    numbers: VecDeque<u64>,
    bits: VecDeque<u64>,
    rest: VecDeque<T>,
}

impl<T> Column<T> {
    pub(crate) fn new() -> Self {
        Self { numbers: VecDeque::new(), bits: VecDeque::new(), rest: VecDeque::new() }
    }

    pub(crate) fn insert(&mut self, number: u64, bits: u64, rest: T) {
        let at = self.place(number);
        self.numbers.insert(at, number);
        self.bits.insert(at, bits);
        self.rest.insert(at, rest);
    }

    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.place(number);
        if self.numbers.get(at) == Some(&number) {
            self.numbers.remove(at);
            self.bits.remove(at);
            self.rest.remove(at);
        }
        if self.numbers.len() * 4 < self.numbers.capacity() {
            self.numbers.shrink_to(self.numbers.len() * 2);
            self.bits.shrink_to(self.bits.len() * 2);
            self.rest.shrink_to(self.rest.len() * 2);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Calls `found` with the numbers of those within the distance, with their distances, lowest number first, until it
    /// returns false.
    pub(crate) fn scan(&self, bits: u64, max_distance: u32, found: &mut dyn FnMut(u64, u32, &T) -> bool) {
        let (first, second) = self.bits.as_slices();
        let mut is_open = true;
        for (some, from) in [(first, 0), (second, first.len())] {
            if is_open {
                within(some, bits, max_distance, &mut |at| {
                    let number = self.numbers[from + at];
                    let distance = (some[at] ^ bits).count_ones();
                    is_open = found(number, distance, &self.rest[from + at]);
                    is_open
                });
            }
        }
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        (self.numbers.capacity() + self.bits.capacity()) * size_of::<u64>()
            + self.rest.capacity() * size_of::<T>()
    }

    /// Returns the place of a number, which is mostly the last or the first one.
    fn place(&self, number: u64) -> usize {
        match (self.numbers.front(), self.numbers.back()) {
            (Some(first), _) if *first == number => 0,
            (_, Some(last)) if *last >= number => self.numbers.partition_point(|other| *other < number),
            _ => self.numbers.len(),
        }
    }
}

/// Calls `found` with the places of those of `some` that are within the distance of `bits`, until it returns false.
pub(crate) fn within(some: &[u64], bits: u64, max_distance: u32, found: &mut dyn FnMut(usize) -> bool) {
    // Uses the machine's own instructions for counting bits, if it has them.
    pulp::Arch::new().dispatch(Within { some, bits, max_distance, found });
}

/// A search. It is a separate type because the compiler would not use the machine's own instructions in all of a
/// closure.
struct Within<'a> {
    some: &'a [u64],
    bits: u64,
    max_distance: u32,
    found: &'a mut dyn FnMut(usize) -> bool,
}

impl pulp::NullaryFnOnce for Within<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { some, bits, max_distance, found } = self;
        for (number, some) in some.chunks(16).enumerate() {
            // One branch for all 16 instead of one for each.
            let mut any = false;
            for other in some {
                any |= (other ^ bits).count_ones() <= max_distance;
            }
            if !any {
                continue;
            }
            for (at, other) in (16 * number..).zip(some) {
                if (other ^ bits).count_ones() <= max_distance && !found(at) {
                    return;
                }
            }
        }
    }
}
