//! Checks the index at the end of a Parquet file before the library reads it into memory.
//!
//! The index names all columns and row groups. The library reads it as a whole, keeps the path of each column, and
//! calls itself for each level of nested columns, so a small file could end the process. Memory: the index.

use parquet::file::reader::{ChunkReader, Length};

use super::compact::Compact;
use crate::source::location::Stored;
use crate::table::Fault;

/// The first and last bytes of a Parquet file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// Size of the end of a file: the length of the index, and [`MAGIC`].
const END_BYTES: usize = 8;
/// Maximum size of an index. Files with thousands of columns or row groups have a few megabytes.
const INDEX_BYTES_MAX: u32 = 128 << 20;
/// Maximum number of levels of nested columns.
const LEVELS_MAX: usize = 100;
/// Number of the Thrift field `FileMetaData.schema`, the list of schema elements.
const SCHEMA: i64 = 2;
/// Number of the Thrift field `SchemaElement.num_children`.
const NUM_CHILDREN: i64 = 5;
/// Maximum number of names in the paths of all columns together.
const PATH_NAMES_MAX: usize = 4 << 20;

/// Checks the index of `file`. The library reports an index that it cannot read.
///
/// # Errors
/// The index takes too much memory, or the file cannot be read.
pub(super) fn check(file: &Stored) -> Result<(), Fault> {
    let bytes = file.len();
    let mut end = [0; END_BYTES];
    let Some(end_at) = bytes.checked_sub(END_BYTES as u64) else { return Ok(()) };
    if !file.read_at(&mut end, end_at).map_err(Fault::Machine)? || !end.ends_with(MAGIC) {
        return Ok(());
    }
    let [a, b, c, d, ..] = end;
    let length = u32::from_le_bytes([a, b, c, d]);
    let Some(start) = end_at.checked_sub(length.into()) else { return Ok(()) };
    if length > INDEX_BYTES_MAX {
        return Err(Fault::File(format!(
            "its index has {length} bytes, more than {INDEX_BYTES_MAX}; write it with fewer row groups"
        )));
    }
    let index = file.get_bytes(start, usize::try_from(length).unwrap_or(usize::MAX))?;
    match names_in_paths(&index) {
        Some(names) if names <= PATH_NAMES_MAX => Ok(()),
        Some(_) => Err(Fault::File("its columns are nested too deeply or are too many".to_owned())),
        None => Err(Fault::File("its index is damaged".to_owned())),
    }
}

/// Returns the number of names in the paths of all columns; [`usize::MAX`] if they have too many levels. `None` if
/// the index is damaged.
fn names_in_paths(index: &[u8]) -> Option<usize> {
    let mut input = Compact::new(index);
    let (mut names, mut field) = (0, 0);
    while let Some((number, kind)) = input.field(field)? {
        field = number;
        match number {
            SCHEMA => {
                names = names_in_schema(&mut input)?;
                if names == usize::MAX {
                    return Some(names);
                }
            }
            _ => input.skip(kind)?,
        }
    }
    Some(names)
}

/// Reads the list of schema elements. Returns the result of [`names_in_paths`]. Each element has the number of its
/// children, which follow it.
fn names_in_schema(input: &mut Compact<'_>) -> Option<usize> {
    let (_, count) = input.list()?;
    let mut names = 0_usize;
    // The number of children that are left, on each level.
    let mut left: Vec<i64> = Vec::new();
    for _ in 0..count {
        let children = children(input)?;
        if children > 0 {
            if left.len() >= LEVELS_MAX {
                return Some(usize::MAX);
            }
            left.push(children);
            continue;
        }
        // The library makes room for elements after the last child of the root, too.
        names = names.saturating_add(left.len().max(1));
        while let Some(last) = left.last_mut() {
            *last -= 1;
            if *last > 0 {
                break;
            }
            left.pop();
        }
    }
    Some(names)
}

/// Reads a schema element, and returns the number of its children.
fn children(input: &mut Compact<'_>) -> Option<i64> {
    let (mut children, mut field) = (0, 0);
    while let Some((number, kind)) = input.field(field)? {
        field = number;
        match number {
            NUM_CHILDREN => children = input.integer()?,
            _ => input.skip(kind)?,
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a schema element with one letter as its name.
    fn element(children: u8) -> Vec<u8> {
        vec![0x48, 1, b'a', 0x15, children * 2, 0]
    }

    /// Returns an index with `elements`, at most 127, as a Parquet file.
    fn file(elements: &[Vec<u8>]) -> Vec<u8> {
        let count = u8::try_from(elements.len()).expect("few elements");
        let index = [&[0x29, 0xfc, count][..], &elements.concat(), &[0]].concat();
        let length = u32::try_from(index.len()).expect("a short index").to_le_bytes();
        [MAGIC, &index[..], &length, MAGIC].concat()
    }

    fn problem(file: &[u8]) -> Option<String> {
        let mut stored = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut stored, file).expect("written");
        match check(&Stored::File(stored, 0)) {
            Err(Fault::File(problem)) => Some(problem),
            Err(Fault::Machine(error)) => panic!("{error}"),
            Ok(()) => None,
        }
    }

    /// A schema of 20,000 levels, in a file of 160 KB, must not overflow the stack, which ends the whole run.
    #[test]
    fn columns_that_are_nested_too_deeply_are_refused() {
        let nested = |levels: usize| file(&[vec![element(1); levels], vec![element(0)]].concat());
        assert_eq!(problem(&nested(LEVELS_MAX)), None);
        assert!(
            problem(&nested(LEVELS_MAX + 1)).is_some_and(|problem| problem.contains("nested too deeply"))
        );
    }

    #[test]
    fn names_are_counted_for_each_column() {
        // a, a.a, a.a.a, a.a.a, a.a.
        let elements = [element(3), element(0), element(2), element(0), element(0), element(0)];
        let file = file(&elements);
        assert_eq!(names_in_paths(&file[4..file.len() - 8]), Some(1 + 2 + 2 + 1));
    }

    /// Millions of them fit in an index, and the library stores each in many bytes.
    #[test]
    fn elements_after_the_last_column_count() {
        let file = self::file(&[vec![element(1)], vec![element(0); 100]].concat());
        assert_eq!(names_in_paths(&file[4..file.len() - 8]), Some(100));
    }

    /// A wrong length must not take as much memory as the whole file.
    #[test]
    fn a_large_or_damaged_index_is_refused() {
        let sound = file(&[element(1), element(0)]);
        assert_eq!(problem(&sound), None);
        let mut damaged = sound.clone();
        damaged[6] = 100;
        assert!(problem(&damaged).is_some_and(|problem| problem.contains("damaged")));
        // A list of booleans, which take no room, kept the library busy for hours.
        let booleans = [&[0x99, 0xf1, 0xff, 0xff, 0xff, 0xff, 7][..], &[0]].concat();
        assert_eq!(names_in_paths(&booleans), None);
        let stored = tempfile::tempfile().expect("a file");
        let length = INDEX_BYTES_MAX + 1;
        stored.set_len(u64::from(length) + 100).expect("a sparse file");
        let end = [&length.to_le_bytes()[..], MAGIC].concat();
        std::os::unix::fs::FileExt::write_all_at(&stored, &end, u64::from(length) + 92).expect("written");
        assert!(
            matches!(check(&Stored::File(stored, 0)), Err(Fault::File(problem)) if problem.contains("row groups"))
        );
    }
}
