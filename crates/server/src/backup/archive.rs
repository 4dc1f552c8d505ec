//! Backups in one file: a tar archive, plain or compressed, by the file's ending.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use squall_types::{Error, Result};

/// How an archive is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArchiveKind {
    /// `.tar`.
    Tar,
    /// `.tar.gz`, `.tgz`.
    TarGzip,
    /// `.tar.zst`, `.tzst`.
    TarZstd,
}

impl ArchiveKind {
    /// By the name's ending; `None` is a folder.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for archives that are not written here.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".zip", ".zipx", ".tar.bz2", ".tar.xz", ".tar.lzma"]) {
            return Err(Error::not_implemented("Backups in archives other than .tar, .tar.gz and .tar.zst"));
        }
        Ok(if ends(&[".tar"]) {
            Some(Self::Tar)
        } else if ends(&[".tar.gz", ".tgz"]) {
            Some(Self::TarGzip)
        } else if ends(&[".tar.zst", ".tzst"]) {
            Some(Self::TarZstd)
        } else {
            None
        })
    }

    /// Makes an archive of a folder's files, durable on return.
    ///
    /// # Errors
    /// Where files cannot be read or written.
    pub fn pack(self, folder: &Path, file: &Path) -> io::Result<()> {
        let target = BufWriter::new(File::create_new(file)?);
        let target = match self {
            Self::Tar => append(folder, target)?,
            Self::TarGzip => append(folder, GzEncoder::new(target, Compression::fast()))?.finish()?,
            Self::TarZstd => append(folder, zstd::Encoder::new(target, 1)?)?.finish()?,
        };
        target.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Unpacks an archive into an empty folder. Nothing is written outside of it.
    ///
    /// # Errors
    /// Where the archive cannot be read or files cannot be written.
    pub fn unpack(self, file: &Path, folder: &Path) -> io::Result<()> {
        let source = BufReader::new(File::open(file)?);
        let source: Box<dyn Read> = match self {
            Self::Tar => Box::new(source),
            Self::TarGzip => Box::new(GzDecoder::new(source)),
            Self::TarZstd => Box::new(zstd::Decoder::new(source)?),
        };
        let mut archive = tar::Archive::new(source);
        archive.set_preserve_permissions(false);
        archive.unpack(folder)
    }
}

fn append<W: Write>(folder: &Path, target: W) -> io::Result<W> {
    let mut builder = tar::Builder::new(target);
    builder.follow_symlinks(false);
    builder.append_dir_all("", folder)?;
    builder.into_inner()
}
