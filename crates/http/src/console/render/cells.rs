//! Shows fingerprint bits and sketches as grids of cells: each cell has the values of both pages, and tells
//! whether they are equal.

use maud::{Markup, html};

/// One position of two fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Values of the two pages, one character each.
    pub values: [char; 2],
}

impl Cell {
    fn is_same(&self) -> bool {
        self.values[0] == self.values[1]
    }
}

/// Returns the 64 bits of two SimHashes, the highest first.
#[must_use]
pub(crate) fn bits([a, b]: [u64; 2]) -> Vec<Cell> {
    let bit = |hash: u64, at: u32| if hash >> at & 1 == 1 { '1' } else { '0' };
    (0..64).rev().map(|at| Cell { values: [bit(a, at), bit(b, at)] }).collect()
}

/// Returns the values of two sketches, each from 0 to 15.
#[must_use]
pub(crate) fn values(a: impl Iterator<Item = u8>, b: impl Iterator<Item = u8>) -> Vec<Cell> {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('?');
    a.zip(b).map(|(a, b)| Cell { values: [digit(a), digit(b)] }).collect()
}

/// Renders a grid. To screen readers it is a picture with the description `says`.
#[must_use]
pub(crate) fn grid(cells: &[Cell], says: &str) -> Markup {
    html! {
        div.cells role="img" aria-label=(says) {
            @for cell in cells {
                span.cell.same[cell.is_same()].differs[!cell.is_same()] aria-hidden="true" {
                    span { (cell.values[0]) }
                    span { (cell.values[1]) }
                }
            }
        }
    }
}

/// Returns the number of cells that differ.
#[must_use]
pub(crate) fn differing(cells: &[Cell]) -> usize {
    cells.iter().filter(|cell| !cell.is_same()).count()
}
