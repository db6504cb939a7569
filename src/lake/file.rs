//! The rows of a table as Parquet files, `part-00000.parquet` and so on in a folder.
//!
//! The bytes depend on the rows alone: they are cut into row groups and files by their number, and by their size where
//! they are wide.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use rusqlite::types::ValueRef;

use super::batch::{Batch, Values};
use super::manifest::{FileEntry, RunRows};
use crate::output::made::{Made, Making};
use crate::store::lake::{ColumnType, LakeColumn, Table};
use crate::text::PathText;

/// The rows of a group: what an engine reads at once, and what is held here in memory.
const GROUP_ROWS: usize = 128 << 10;

/// A group of wide rows ends earlier, at so many bytes in memory.
const GROUP_BYTES: usize = 56 << 20;

/// A file has so many groups, and so up to 655,360 rows.
const FILE_GROUPS: usize = 5;

/// A dictionary of more bytes than this is given up for its column: it saves nothing, and is held in memory.
const DICTIONARY_BYTES: usize = 64 << 10;

/// Writes the rows of a table into a folder.
pub(super) struct Writer<'w> {
    table: Table,
    columns: &'w [LakeColumn],
    schema: TypePtr,
    properties: WriterPropertiesPtr,
    /// Where the files are made, and what the lake calls that folder.
    folder: PathBuf,
    place: String,
    batch: Batch,
    batch_bytes: usize,
    open: Option<Open>,
    files: Vec<FileEntry>,
}

/// The file that is being written.
struct Open {
    writer: SerializedFileWriter<Digested>,
    runs: Vec<RunRows>,
    rows: u64,
    groups: usize,
}

impl<'w> Writer<'w> {
    /// Writes into `folder`, which is there; in the lake it will be called `place`.
    pub(super) fn new(table: Table, columns: &'w [LakeColumn], folder: &Path, place: &str) -> Result<Self> {
        Ok(Self {
            table,
            columns,
            schema: schema(table, columns)?,
            properties: properties(columns)?,
            folder: folder.to_owned(),
            place: place.to_owned(),
            batch: Batch::new(columns),
            batch_bytes: 0,
            open: None,
            files: Vec::new(),
        })
    }

    /// Takes a row, which belongs to a run in the tables by day.
    pub(super) fn row(&mut self, run: Option<&str>, row: &[ValueRef<'_>]) -> Result<()> {
        self.batch_bytes += self.batch.push(self.columns, row)?;
        let open = self.open()?;
        open.rows += 1;
        if let Some(run) = run {
            match open.runs.last_mut() {
                Some(last) if last.run == run => last.rows += 1,
                _ => open.runs.push(RunRows { run: run.to_owned(), rows: 1 }),
            }
        }
        if self.batch.rows == GROUP_ROWS || self.batch_bytes >= GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    /// The files, at least one, which are on the disk.
    pub(super) fn finish(mut self) -> Result<Vec<FileEntry>> {
        if self.files.is_empty() {
            self.open()?;
        }
        if self.batch.rows > 0 {
            self.end_group()?;
        }
        self.end_file()?;
        Ok(self.files)
    }

    fn open(&mut self) -> Result<&mut Open> {
        if self.open.is_none() {
            let file = File::create_new(self.folder.join(self.name()))?;
            let out = Digested { file, making: Making::default() };
            let writer =
                SerializedFileWriter::new(out, Arc::clone(&self.schema), Arc::clone(&self.properties))?;
            self.open = Some(Open { writer, runs: Vec::new(), rows: 0, groups: 0 });
        }
        Ok(self.open.as_mut().expect("it was opened"))
    }

    fn name(&self) -> String {
        format!("part-{:05}.parquet", self.files.len())
    }

    fn end_group(&mut self) -> Result<()> {
        let open = self.open.as_mut().expect("a row opened it");
        let mut group = open.writer.next_row_group()?;
        for (cells, column) in self.batch.columns.iter_mut().zip(self.columns) {
            let levels: Option<Vec<i16>> = column
                .is_nullable
                .then(|| cells.present.iter().map(|is_present| i16::from(*is_present)).collect());
            let levels = levels.as_deref();
            let mut writer = group.next_column()?.context("the schema has fewer columns")?;
            match (&mut cells.values, writer.untyped()) {
                (Values::Int(ints), ColumnWriter::Int64ColumnWriter(out)) => {
                    out.write_batch(ints, levels, None)?
                }
                (Values::Real(reals), ColumnWriter::DoubleColumnWriter(out)) => {
                    out.write_batch(reals, levels, None)?
                }
                (Values::Text(texts), ColumnWriter::ByteArrayColumnWriter(out)) => {
                    let bytes = Bytes::from(std::mem::take(&mut texts.bytes));
                    let mut start = 0;
                    let texts: Vec<ByteArray> = texts
                        .ends
                        .iter()
                        .map(|end| ByteArray::from(bytes.slice(std::mem::replace(&mut start, *end)..*end)))
                        .collect();
                    out.write_batch(&texts, levels, None)?
                }
                _ => unreachable!("the schema is made of the columns"),
            };
            writer.close()?;
        }
        group.close()?;
        open.groups += 1;
        let is_full = open.groups == FILE_GROUPS;
        self.batch.clear();
        self.batch_bytes = 0;
        if is_full { self.end_file() } else { Ok(()) }
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let Digested { file, making } = open.writer.into_inner()?;
        file.sync_all()?;
        let made = making.made();
        self.files.push(FileEntry {
            path: format!("{}/{}", self.place, self.name()),
            table: self.table.name().to_owned(),
            rows: open.rows,
            bytes: made.bytes,
            xxh128: made.digest_text(),
            runs: open.runs,
        });
        Ok(())
    }
}

/// The Parquet schema of a table.
fn schema(table: Table, columns: &[LakeColumn]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnType::Int => (Physical::INT64, None),
            ColumnType::Real => (Physical::DOUBLE, None),
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Wall => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        };
        let repetition = if column.is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(&column.name, physical);
        Ok(Arc::new(field.with_repetition(repetition).with_logical_type(logical).build()?))
    });
    let fields = fields.collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name()).with_fields(fields).build()?))
}

fn properties(columns: &[LakeColumn]) -> Result<WriterPropertiesPtr> {
    let pandas = KeyValue::new("pandas".to_owned(), pandas_types(columns));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_key_value_metadata(Some(vec![pandas]))
        .build();
    Ok(Arc::new(properties))
}

/// What has pandas read integers with nulls among them as integers, not as floats.
fn pandas_types(columns: &[LakeColumn]) -> String {
    let columns: Vec<serde_json::Value> = columns
        .iter()
        .filter(|column| column.kind == ColumnType::Int)
        .map(|column| {
            serde_json::json!({
                "name": column.name, "field_name": column.name,
                "pandas_type": "int64", "numpy_type": "Int64", "metadata": null,
            })
        })
        .collect();
    serde_json::json!({ "index_columns": [], "column_indexes": [], "columns": columns }).to_string()
}

/// A file, and what was written to it.
struct Digested {
    file: File,
    making: Making,
}

impl Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.file.write(bytes)?;
        self.making.take(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a file of a lake is now.
///
/// # Errors
/// When it cannot be read.
pub(super) fn made(path: &Path) -> Result<Made> {
    let file = File::open(path).and_then(|file| Made::of(&file));
    file.with_context(|| format!("cannot read {}", path.as_text()))
}
