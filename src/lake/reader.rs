//! The rows of a table in a lake, read back run by run, forwards.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::batch::{Batch, Cells, Values};
use super::manifest::{FileEntry, RunRows};
use crate::store::lake::{LakeColumn, Take};
use crate::text::PathText;

/// So many rows are in memory at once.
const BATCH_ROWS: u64 = 8 << 10;

/// Reads the files of a table in their order.
pub(super) struct Reader<'r> {
    columns: &'r [LakeColumn],
    /// What was not read yet: a file, and the rows of a run in it.
    parts: VecDeque<(PathBuf, RunRows)>,
    open: Option<Open>,
}

/// The file that is being read.
struct Open {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// Where each column stands in the file, if it does.
    places: Vec<Option<usize>>,
    next_group: usize,
    /// A reader a column, and the rows that they have left.
    group: Vec<Option<ColumnReader>>,
    left: u64,
}

impl<'r> Reader<'r> {
    /// Reads files that lie under `lake`.
    pub(super) fn new<'f>(
        lake: &Path,
        columns: &'r [LakeColumn],
        files: impl Iterator<Item = &'f FileEntry>,
    ) -> Self {
        let parts = files.flat_map(|file| {
            let path = lake.join(&file.path);
            file.runs.iter().map(move |run| (path.clone(), run.clone()))
        });
        Self { columns, parts: parts.collect(), open: None }
    }

    /// Gives the rows of a run, and leaves out what stands before them. Runs are asked for in the order of their
    /// names.
    ///
    /// # Errors
    /// When a file cannot be read, or a row is not taken.
    pub(super) fn each_row_of(&mut self, run: &str, take: Take<'_>) -> Result<()> {
        while let Some((path, _)) = self.parts.front().filter(|(_, part)| part.run.as_str() <= run) {
            let cannot = format!("cannot read {}", path.as_text());
            let (path, part) = self.parts.pop_front().expect("it is the first");
            let columns = self.columns;
            let open = self.open(path).with_context(|| cannot.clone())?;
            if part.run == run {
                open.each_row(columns, part.rows, take).with_context(|| cannot)?;
            } else {
                open.skip(part.rows).with_context(|| cannot)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, path: PathBuf) -> Result<&mut Open> {
        if self.open.as_ref().is_none_or(|open| open.path != path) {
            self.open = Some(Open::new(path, self.columns)?);
        }
        Ok(self.open.as_mut().expect("it was opened"))
    }
}

impl Open {
    fn new(path: PathBuf, columns: &[LakeColumn]) -> Result<Self> {
        let file = SerializedFileReader::new(File::open(&path)?)?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let place =
            |column: &LakeColumn| schema.columns().iter().position(|there| there.name() == column.name);
        let places = columns.iter().map(place).collect();
        Ok(Self { path, file, places, next_group: 0, group: Vec::new(), left: 0 })
    }

    /// Rows that can be read without going to another group, up to `rows`.
    fn ready(&mut self, rows: u64) -> Result<u64> {
        while self.left == 0 {
            if self.next_group == self.file.num_row_groups() {
                bail!("it has fewer rows than the manifest says");
            }
            let group = self.file.get_row_group(self.next_group)?;
            self.next_group += 1;
            self.left = group.metadata().num_rows().cast_unsigned();
            let reader = |place: &Option<usize>| place.map(|at| group.get_column_reader(at)).transpose();
            self.group = self.places.iter().map(reader).collect::<parquet::errors::Result<_>>()?;
        }
        Ok(rows.min(self.left))
    }

    fn skip(&mut self, mut rows: u64) -> Result<()> {
        while rows > 0 {
            let now = self.ready(rows)?;
            // A whole group is left out without a look.
            if now < self.left {
                for column in self.group.iter_mut().flatten() {
                    skip(column, usize::try_from(now)?)?;
                }
            }
            self.left -= now;
            rows -= now;
        }
        Ok(())
    }

    fn each_row(&mut self, columns: &[LakeColumn], mut rows: u64, take: Take<'_>) -> Result<()> {
        let mut batch = Batch::new(columns);
        while rows > 0 {
            let now = self.ready(rows.min(BATCH_ROWS))?;
            batch.clear();
            batch.rows = usize::try_from(now)?;
            for ((column, cells), reader) in columns.iter().zip(&mut batch.columns).zip(&mut self.group) {
                read(reader.as_mut(), cells, batch.rows)
                    .with_context(|| format!("the column {}", column.name))?;
            }
            batch.each_row(take)?;
            self.left -= now;
            rows -= now;
        }
        Ok(())
    }
}

/// Reads so many cells; one that an older release did not write is null.
fn read(reader: Option<&mut ColumnReader>, cells: &mut Cells, rows: usize) -> Result<()> {
    let Some(reader) = reader else {
        cells.present.resize(rows, false);
        return Ok(());
    };
    let levels = match (reader, &mut cells.values) {
        (ColumnReader::Int64ColumnReader(reader), Values::Int(ints)) => read_typed(reader, ints, rows)?,
        (ColumnReader::DoubleColumnReader(reader), Values::Real(reals)) => read_typed(reader, reals, rows)?,
        (ColumnReader::ByteArrayColumnReader(reader), Values::Text(texts)) => {
            let mut read: Vec<ByteArray> = Vec::new();
            let levels = read_typed(reader, &mut read, rows)?;
            for text in &read {
                std::str::from_utf8(text.data())?;
                texts.push(text.data());
            }
            levels
        }
        _ => bail!("its values are of another kind"),
    };
    cells.present.extend(levels.iter().map(|level| *level == 1));
    // Of a column without nulls there are no levels.
    if levels.is_empty() {
        cells.present.resize(rows, true);
    }
    Ok(())
}

fn read_typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
    rows: usize,
) -> Result<Vec<i16>> {
    let mut levels = Vec::new();
    let mut read = 0;
    while read < rows {
        let (now, _, _) = reader.read_records(rows - read, Some(&mut levels), None, values)?;
        if now == 0 {
            bail!("it has fewer values than rows");
        }
        read += now;
    }
    Ok(levels)
}

fn skip(reader: &mut ColumnReader, rows: usize) -> Result<()> {
    let skipped = match reader {
        ColumnReader::Int64ColumnReader(reader) => reader.skip_records(rows)?,
        ColumnReader::DoubleColumnReader(reader) => reader.skip_records(rows)?,
        ColumnReader::ByteArrayColumnReader(reader) => reader.skip_records(rows)?,
        _ => bail!("its values are of another kind"),
    };
    if skipped < rows {
        bail!("it has fewer values than rows");
    }
    Ok(())
}
