//! Limits the memory that reading a row group takes.
//!
//! [`Guard`] hands out the pages of columns, one after the other, and adds up how many bytes their values take when
//! they are decoded. Above a limit it fails, and the row group is then read by a [plan](super::plan). A page above
//! [`PAGE_BYTES_MAX`] is refused before it is decompressed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::RowGroups;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::costs::{Column, Dictionary, dictionary, total};
use super::heads::Heads;
use crate::source::location::Stored;

/// Maximum size of a page when it is decompressed. Some writers put a thousand values into a page, however long they
/// are.
pub(super) const PAGE_BYTES_MAX: u64 = 512 << 20;

/// The row group that is being read, with the limit on its values.
pub(super) struct Guard {
    pub(super) file: Stored,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) schema: SchemaRef,
    pub(super) row_group: usize,
    pub(super) budget: Arc<Budget>,
}

/// A limit on the bytes that values take when they are decoded.
#[derive(Debug)]
pub(super) enum Budget {
    /// The limit is for all pages since the last [reset](Self::reset). `left` is its unused part.
    Together { left: AtomicU64, bytes_max: u64, is_exceeded: AtomicBool },
    /// The limit is for each page.
    EachPage(u64),
    /// There is no limit, because only rows are read that were measured before.
    None,
}

impl Budget {
    /// Creates a limit for all pages since the last reset.
    pub(super) fn together(bytes_max: u64) -> Self {
        Self::Together { left: AtomicU64::new(bytes_max), bytes_max, is_exceeded: AtomicBool::new(false) }
    }

    /// Starts again with the full limit.
    pub(super) fn reset(&self) {
        if let Self::Together { left, bytes_max, .. } = self {
            left.store(*bytes_max, Ordering::Relaxed);
        }
    }

    /// Returns true if pages since the last reset exceeded the limit.
    pub(super) fn is_exceeded(&self) -> bool {
        matches!(self, Self::Together { is_exceeded, .. } if is_exceeded.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: u64) -> Result<()> {
        match self {
            Self::Together { left, is_exceeded, .. } => {
                match left.load(Ordering::Relaxed).checked_sub(bytes) {
                    Some(rest) => left.store(rest, Ordering::Relaxed),
                    None => {
                        is_exceeded.store(true, Ordering::Relaxed);
                        return Err(too_much(bytes));
                    }
                }
                Ok(())
            }
            Self::EachPage(bytes_max) if bytes > *bytes_max => Err(too_much(bytes)),
            Self::EachPage(_) | Self::None => Ok(()),
        }
    }
}

fn too_much(bytes: u64) -> ParquetError {
    ParquetError::General(format!(
        "the values of a Parquet page take {bytes} bytes of memory, more than is left of the limit"
    ))
}

impl Guard {
    fn group(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.row_group)
    }

    /// Returns a reader of the pages of a column.
    pub(super) fn pages(&self, column: usize) -> Result<Pages> {
        let chunk = self.group().column(column);
        let root = self.metadata.file_metadata().schema_descr().get_column_root_idx(column);
        let field = self.schema.fields().get(root).map_or(&DataType::Null, |field| field.data_type());
        let file = Arc::new(self.file.try_clone()?);
        let rows = usize::try_from(self.group().num_rows()).unwrap_or(0);
        Ok(Pages {
            pages: SerializedPageReader::new(file, chunk, rows, None)?,
            heads: Heads::new(self.file.try_clone()?, bytes_of(chunk)),
            column: Column::new(chunk.column_descr(), field),
            dictionary: Arc::default(),
            budget: Arc::clone(&self.budget),
        })
    }
}

/// Returns the range of a column chunk in the file.
fn bytes_of(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let start = u64::try_from(start).unwrap_or(0);
    start..start.saturating_add(u64::try_from(chunk.compressed_size()).unwrap_or(0))
}

impl RowGroups for Guard {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group().num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(OneChunk(Some(Box::new(self.pages(column)?)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The only chunk of a column.
struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// The pages of a column chunk.
pub(super) struct Pages {
    pages: SerializedPageReader<Stored>,
    heads: Heads,
    column: Column,
    dictionary: Dictionary,
    budget: Arc<Budget>,
}

impl Pages {
    pub(super) fn column(&self) -> Column {
        self.column
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page_bytes = self.heads.next_bytes().unwrap_or(0);
        if page_bytes > PAGE_BYTES_MAX {
            let problem = format!(
                "a Parquet page has {page_bytes} bytes when it is decompressed, more than {PAGE_BYTES_MAX}"
            );
            return Err(ParquetError::General(problem));
        }
        let page = self.pages.get_next_page()?;
        match &page {
            None => {}
            Some(page) if page.is_dictionary_page() => {
                // The library allocates memory for all values that the page claims to have.
                if u64::from(page.num_values()) > self.column.values_max(page.buffer().len() as u64) {
                    let problem = format!(
                        "a dictionary claims {} values, more than it has bytes for",
                        page.num_values()
                    );
                    return Err(ParquetError::General(problem));
                }
                self.dictionary = dictionary(self.column, page);
                self.budget.take(page_bytes)?;
            }
            Some(page) => {
                self.budget.take(total(self.column, page, &self.dictionary).max(page_bytes))?;
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.heads.next_bytes();
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
