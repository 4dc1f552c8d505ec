//! A column chunk of pages that are made here: compresses them, and puts them with their description into a row group. What is in the
//! pages is the business of `dictionary_chunk` and `value_chunk`.

use std::io::Write;

use bytes::Bytes;
use parquet::basic::{Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use squall_runtime::Pieces;
use zstd::bulk::Compressor;
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

use super::lz4_block::BlockEncoder;
use super::packing::PageCodec;

/// Bytes that are compressed before others may run. In debug builds they are few, so that tests meet several pieces.
const PIECE_BYTES: usize = if cfg!(debug_assertions) { 1 << 10 } else { 128 << 10 };
/// So many bytes take LZ4 and ZSTD a moment.
const FAST_BYTES: usize = if cfg!(debug_assertions) { 8 << 10 } else { 1 << 20 };

/// A chunk whose pages come one after the other.
pub(in crate::merge_tree) struct ColumnChunk<'a> {
    leaf: &'a ColumnDescPtr,
    codec: PageCodec,
    /// ZSTD's state, once a page was compressed so.
    zstd: Option<Compressor<'static>>,
    /// How the values of data pages are encoded.
    encoding: Encoding,
    dictionary: Option<CompressedPage>,
    pages: Vec<CompressedPage>,
    entries: usize,
    /// Memory for what a page is compressed into.
    compressed: Vec<u8>,
}

impl<'a> ColumnChunk<'a> {
    /// A chunk without pages.
    pub(in crate::merge_tree) fn new(leaf: &'a ColumnDescPtr, codec: PageCodec) -> Self {
        Self {
            leaf,
            codec,
            zstd: None,
            encoding: Encoding::PLAIN,
            dictionary: None,
            pages: Vec::new(),
            entries: 0,
            compressed: Vec::new(),
        }
    }

    /// Sets how the values of the pages to come are encoded.
    pub(in crate::merge_tree) fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Whether pages are compressed.
    pub(in crate::merge_tree) fn is_compressed(&self) -> bool {
        self.codec != PageCodec::None
    }

    /// Leaves the pages to come as they are. Pages of a chunk have one codec, so none was added before.
    pub(in crate::merge_tree) fn leave_uncompressed(&mut self) {
        self.codec = PageCodec::None;
    }

    /// Sets the dictionary: so many values in plain encoding.
    ///
    /// # Errors
    /// Those of the compressor.
    pub(in crate::merge_tree) async fn set_dictionary(
        &mut self,
        plain: &[u8],
        values: usize,
        pieces: &mut Pieces,
    ) -> Result<(), ParquetError> {
        let buf = self.compress(plain, pieces).await?;
        let page = Page::DictionaryPage { buf, num_values: values as u32, encoding: Encoding::PLAIN, is_sorted: false };
        self.dictionary = Some(CompressedPage::new(page, plain.len()));
        self.encoding = Encoding::RLE_DICTIONARY;
        Ok(())
    }

    /// Adds a data page: levels, then values, or keys where there is a dictionary; `entries` are values, and lists without any.
    ///
    /// # Errors
    /// Those of the compressor.
    pub(in crate::merge_tree) async fn add_page(
        &mut self,
        plain: &[u8],
        entries: usize,
        pieces: &mut Pieces,
    ) -> Result<(), ParquetError> {
        let page = Page::DataPage {
            buf: self.compress(plain, pieces).await?,
            num_values: entries as u32,
            encoding: self.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.pages.push(CompressedPage::new(page, plain.len()));
        self.entries += entries;
        Ok(())
    }

    /// The bytes of a page once it is compressed.
    ///
    /// # Errors
    /// Those of the compressor.
    pub(in crate::merge_tree) async fn compressed_bytes(
        &mut self,
        plain: &[u8],
        pieces: &mut Pieces,
    ) -> Result<usize, ParquetError> {
        let failed = |error: lzzzz::Error| ParquetError::External(Box::new(error));
        self.compressed.clear();
        match self.codec {
            PageCodec::None => self.compressed.extend_from_slice(plain),
            PageCodec::Lz4 if plain.len() > FAST_BYTES => {
                self.compressed = lz4_in_pieces(plain, None, pieces).await?;
            }
            PageCodec::Lz4 => {
                lzzzz::lz4::compress_to_vec(plain, &mut self.compressed, lzzzz::lz4::ACC_LEVEL_DEFAULT)
                    .map_err(failed)?;
            }
            PageCodec::Lz4Hc(level) if plain.len() > PIECE_BYTES => {
                self.compressed = lz4_in_pieces(plain, Some(level), pieces).await?;
            }
            PageCodec::Lz4Hc(level) => {
                lzzzz::lz4_hc::compress_to_vec(plain, &mut self.compressed, level).map_err(failed)?;
            }
            PageCodec::Zstd(level) if plain.len() > FAST_BYTES => {
                self.compressed = zstd_in_pieces(plain, level, pieces).await?;
            }
            PageCodec::Zstd(level) => {
                let compressor = match &mut self.zstd {
                    Some(compressor) => compressor,
                    none => none.insert(Compressor::new(level.compression_level())?),
                };
                self.compressed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
                compressor.compress_to_buffer(plain, &mut self.compressed)?;
            }
        }
        Ok(self.compressed.len())
    }

    async fn compress(&mut self, plain: &[u8], pieces: &mut Pieces) -> Result<Bytes, ParquetError> {
        self.compressed_bytes(plain, pieces).await?;
        Ok(Bytes::copy_from_slice(&self.compressed))
    }

    /// Puts the chunk of so many rows into a row group.
    ///
    /// # Errors
    /// Those of the `parquet` crate.
    pub(in crate::merge_tree) fn append<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        rows: usize,
        statistics: Option<Statistics>,
    ) -> Result<(), ParquetError> {
        let mut encodings = vec![Encoding::RLE, Encoding::PLAIN];
        if self.encoding != Encoding::PLAIN {
            encodings.push(self.encoding);
        }
        let room = |page: &CompressedPage| page.compressed_size() + 64;
        let bytes = self.dictionary.iter().chain(&self.pages).map(room).sum();
        let mut sink = TrackedWrite::new(Vec::with_capacity(bytes));
        let mut writer = SerializedPageWriter::new(&mut sink);
        let (mut dictionary_at, mut data_at, mut uncompressed) = (None, None, 0);
        if let Some(page) = self.dictionary {
            let written = writer.write_page(page)?;
            dictionary_at = Some(written.offset as i64);
            uncompressed += written.uncompressed_size;
        }
        for page in self.pages {
            let written = writer.write_page(page)?;
            data_at.get_or_insert(written.offset as i64);
            uncompressed += written.uncompressed_size;
        }
        let bytes = Bytes::from(sink.into_inner()?);
        let mut metadata = ColumnChunkMetaData::builder(self.leaf.clone())
            .set_compression(self.codec.in_parquet())
            .set_encodings(encodings)
            .set_num_values(self.entries as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_dictionary_page_offset(dictionary_at)
            .set_data_page_offset(data_at.unwrap_or(0));
        if let Some(statistics) = statistics {
            metadata = metadata.set_statistics(statistics);
        }
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }
}

/// A block of LZ4, or of a level of LZ4HC.
async fn lz4_in_pieces(plain: &[u8], level: Option<i32>, pieces: &mut Pieces) -> Result<Vec<u8>, ParquetError> {
    let mut encoder = BlockEncoder::new(level)?;
    for piece in plain.chunks(PIECE_BYTES) {
        encoder.add(piece)?;
        pieces.pause().await;
    }
    Ok(encoder.finish())
}

async fn zstd_in_pieces(plain: &[u8], level: ZstdLevel, pieces: &mut Pieces) -> Result<Vec<u8>, ParquetError> {
    let mut encoder = Encoder::new(level.compression_level())?;
    encoder.set_pledged_src_size(Some(plain.len() as u64))?;
    let mut packed = vec![0; zstd::zstd_safe::compress_bound(plain.len())];
    let mut out = OutBuffer::around(&mut packed[..]);
    for piece in plain.chunks(PIECE_BYTES) {
        let mut piece = InBuffer::around(piece);
        while piece.pos() < piece.src.len() {
            encoder.run(&mut piece, &mut out)?;
        }
        pieces.pause().await;
    }
    // There is room for all, so that nothing is left.
    encoder.finish(&mut out, true)?;
    let length = out.pos();
    packed.truncate(length);
    Ok(packed)
}
