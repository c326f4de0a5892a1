//! Tables that hold data, as opposed to layout, and their cells.

use crate::extract::markdown::outline::Part;
use crate::extract::parse::structure::Property;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Tree;

/// Maximum number of columns of a table that is written as a table.
const COLUMNS_MAX: u32 = 40;

/// Maximum number of blocks in a cell of data. A cell with more blocks holds a part of the page.
const CELL_BLOCKS_MAX: u32 = 8;

/// The rows of a table.
#[derive(Debug, Default)]
pub(super) struct Grid {
    rows: Vec<Vec<String>>,
    /// The column of the next cell in the current row.
    column: u32,
    /// For each column, the number of further rows that a cell above covers.
    covered: Vec<u32>,
    /// The last cell that text was added to.
    last: Option<(u32, u32)>,
    /// True if all cells of the first row are headers.
    has_header: bool,
}

impl Grid {
    /// Begins a row.
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
        self.column = 0;
        if self.rows.len() > 1 {
            self.covered.iter_mut().for_each(|rows| *rows = rows.saturating_sub(1));
        }
    }

    /// Begins a cell that covers this many columns and rows. Returns its row and first column.
    pub(super) fn begin_cell(&mut self, is_header: bool, (columns, rows): (u32, u32)) -> (u32, u32) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        let is_covered = |column: &u32| self.covered.get(*column as usize).is_some_and(|rows| *rows > 0);
        let first = (self.column..).find(|column| !is_covered(column)).unwrap_or(self.column);
        if self.rows.len() == 1 {
            self.has_header = is_header && (first == 0 || self.has_header);
        }
        self.column = first.saturating_add(columns);
        let end = self.column.min(COLUMNS_MAX) as usize;
        if self.covered.len() < end {
            self.covered.resize(end, 0);
        }
        let from = (first as usize).min(end);
        self.covered[from..end].fill(rows);
        (u32::try_from(self.rows.len() - 1).unwrap_or(0), first.min(COLUMNS_MAX - 1))
    }

    /// Adds text to `cell`, or to the last cell with text if it is `None`, so text between cells keeps its order.
    pub(super) fn add(&mut self, cell: Option<(u32, u32)>, text: &str) {
        let (row, column) = cell.or(self.last).unwrap_or((0, 0));
        self.last = Some((row, column));
        if self.rows.is_empty() {
            self.begin_row();
        }
        let Some(row) = self.rows.get_mut(row as usize) else { return };
        if row.len() <= column as usize {
            row.resize(column as usize + 1, String::new());
        }
        let cell = &mut row[column as usize];
        if !cell.is_empty() {
            cell.push(' ');
        }
        cell.push_str(text);
    }

    /// Returns the table as a part of the outline. If only one row or only one column has chosen text, its cells are
    /// paragraphs.
    pub(super) fn into_parts(mut self) -> Vec<Part> {
        let is_first_chosen = self.rows.first().is_some_and(|row| row.iter().any(|cell| !cell.is_empty()));
        self.has_header &= is_first_chosen;
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = (0..width)
            .filter(|at| self.rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty())));
        if self.rows.len() < 2 || columns.count() < 2 {
            let cells = self.rows.into_iter().flatten().filter(|cell| !cell.is_empty());
            return cells.map(|cell| Part::Paragraph(vec![cell])).collect();
        }
        self.rows.iter_mut().for_each(|row| row.resize(width, String::new()));
        vec![Part::Table(self)]
    }

    /// Returns the table's lines. Markdown requires a header, so a table without one gets a header of empty cells.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let width = self.rows.first().map_or(0, Vec::len);
        let empty = vec![String::new(); width];
        let (header, rows) = match self.rows.split_first() {
            Some((header, rows)) if self.has_header => (header, rows),
            _ => (&empty, &*self.rows),
        };
        let rule = format!("|{}", " --- |".repeat(width));
        [line(header), rule].into_iter().chain(rows.iter().map(|row| line(row))).collect()
    }
}

/// The properties of a table that decide whether it holds data.
#[derive(Debug, Clone, Default)]
struct Shape {
    node: u32,
    /// Number of columns of each row.
    rows: Vec<u32>,
    has_headers: bool,
    is_layout: bool,
}

/// Returns the nodes of tables that hold data. Such a table has at least two rows with two columns. It has header
/// cells, or at least half of its rows have all columns. Its cells hold a few lines of text each, and no headings,
/// programs, quotations or other tables. Tables whose rows are the lines of a program are layout, too.
pub(super) fn data_tables(tree: &Tree) -> Vec<u32> {
    let mut shapes: Vec<Shape> = Vec::new();
    // For each node, the innermost table around it, as an index into the shapes counted from 1, and the innermost cell
    // of that table. 0 for none.
    let mut places: Vec<(u32, u32)> = Vec::with_capacity(tree.nodes.len());
    for (number, node) in (0_u32..).zip(&tree.nodes) {
        let mut place = if number == 0 { (0, 0) } else { places[node.parent as usize] };
        let shape = place.0.checked_sub(1).and_then(|at| shapes.get_mut(at as usize));
        match (node.tag, shape) {
            (Tag::Table, shape) => {
                if let Some(outer) = shape.filter(|_| node.end_block > node.first_block) {
                    outer.is_layout = true;
                }
                let is_layout =
                    tree.structure.of_node(number).any(|property| property == Property::Presentation);
                shapes.push(Shape { node: number, is_layout, ..Shape::default() });
                place = (u32::try_from(shapes.len()).unwrap_or(0), 0);
            }
            (Tag::Tr, Some(shape)) => {
                shape.rows.push(0);
                // A cell without end tag holds the next row.
                place.1 = 0;
            }
            (Tag::Td, Some(shape))
                if tree.structure.of_node(number).any(|property| property == Property::ProgramLine) =>
            {
                shape.is_layout = true;
                place.1 = number;
            }
            (Tag::Td | Tag::Th, Some(shape)) => {
                if shape.rows.is_empty() {
                    shape.rows.push(0);
                }
                if let Some(row) = shape.rows.last_mut() {
                    *row += tree.structure.size_of_cell(number).0;
                }
                shape.has_headers |= node.tag == Tag::Th;
                place.1 = number;
            }
            (Tag::Pre | Tag::Blockquote | Tag::Xmp | Tag::Listing, Some(shape)) => shape.is_layout = true,
            (tag, Some(shape)) if tag.heading_level() != 0 => shape.is_layout = true,
            _ => {}
        }
        places.push(place);
    }
    let mut in_cell = (0, 0);
    for block in &tree.blocks {
        let (table, cell) = places[block.node as usize];
        in_cell = if cell == in_cell.0 { (cell, in_cell.1 + 1) } else { (cell, 1) };
        if cell != 0 && in_cell.1 > CELL_BLOCKS_MAX {
            shapes[table as usize - 1].is_layout = true;
        }
    }
    shapes.into_iter().filter(Shape::is_data).map(|shape| shape.node).collect()
}

impl Shape {
    fn is_data(&self) -> bool {
        let width = self.rows.iter().copied().max().unwrap_or(0);
        let rows = self.rows.iter().filter(|columns| **columns > 0).count();
        let wide = self.rows.iter().filter(|columns| **columns >= 2).count();
        let full = self.rows.iter().filter(|columns| **columns == width).count();
        !self.is_layout
            && (2..=COLUMNS_MAX).contains(&width)
            && wide >= 2
            && (self.has_headers || full * 2 >= rows)
    }
}
