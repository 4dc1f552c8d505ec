//! Backups in one file: a tar archive, plain or compressed, or a zip archive, perhaps with a password; by the file's ending.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use squall_types::{Error, Result};
use zip::read::ZipReadOptions;
use zip::write::SimpleFileOptions;
use zip::{AesMode, CompressionMethod, ZipArchive, ZipWriter};

/// How an archive is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArchiveKind {
    /// `.tar`.
    Tar,
    /// `.tar.gz`, `.tgz`.
    TarGzip,
    /// `.tar.zst`, `.tzst`.
    TarZstd,
    /// `.zip`, `.zipx`.
    Zip,
}

impl ArchiveKind {
    /// By the name's ending; `None` is a folder.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for archives that are not written here.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if ends(&[".tar.bz2", ".tar.xz", ".tar.lzma", ".7z"]) {
            return Err(Error::not_implemented("Backups in archives other than .zip, .tar, .tar.gz and .tar.zst"));
        }
        Ok(if ends(&[".tar"]) {
            Some(Self::Tar)
        } else if ends(&[".tar.gz", ".tgz"]) {
            Some(Self::TarGzip)
        } else if ends(&[".tar.zst", ".tzst"]) {
            Some(Self::TarZstd)
        } else if ends(&[".zip", ".zipx"]) {
            Some(Self::Zip)
        } else {
            None
        })
    }

    /// Makes an archive of a folder's files, durable on return; those of a zip archive are encrypted (AES-256) where there is a password.
    ///
    /// # Errors
    /// Where files cannot be read or written.
    pub fn pack(self, folder: &Path, file: &Path, password: Option<&str>) -> io::Result<()> {
        let target = BufWriter::new(File::create_new(file)?);
        let target = match self {
            Self::Tar => append(folder, target)?,
            Self::TarGzip => append(folder, GzEncoder::new(target, Compression::fast()))?.finish()?,
            Self::TarZstd => append(folder, zstd::Encoder::new(target, 1)?)?.finish()?,
            Self::Zip => {
                let mut writer = ZipWriter::new(target);
                zip_folder(&mut writer, folder, "", password)?;
                writer.finish()?
            }
        };
        target.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    /// Unpacks an archive into an empty folder. Nothing is written outside of it.
    ///
    /// # Errors
    /// Where the archive cannot be read, as without its password, or files cannot be written.
    pub fn unpack(self, file: &Path, folder: &Path, password: Option<&str>) -> io::Result<()> {
        let source = BufReader::new(File::open(file)?);
        let source: Box<dyn Read> = match self {
            Self::Tar => Box::new(source),
            Self::TarGzip => Box::new(GzDecoder::new(source)),
            Self::TarZstd => Box::new(zstd::Decoder::new(source)?),
            Self::Zip => return unzip(ZipArchive::new(source)?, folder, password),
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

fn zip_folder<W: Write + Seek>(
    writer: &mut ZipWriter<W>,
    folder: &Path,
    name: &str,
    password: Option<&str>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let own = format!("{name}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            zip_folder(writer, &entry.path(), &format!("{own}/"), password)?;
            continue;
        }
        let mut source = File::open(entry.path())?;
        // Parts are compressed already.
        let method = if own.ends_with(".parquet") { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let is_large = source.metadata()?.len() >= u64::from(u32::MAX);
        let options = SimpleFileOptions::default().compression_method(method).large_file(is_large);
        match password {
            Some(password) => writer.start_file(own, options.with_aes_encryption(AesMode::Aes256, password))?,
            None => writer.start_file(own, options)?,
        }
        io::copy(&mut source, writer)?;
    }
    Ok(())
}

fn unzip<R: Read + Seek>(mut archive: ZipArchive<R>, folder: &Path, password: Option<&str>) -> io::Result<()> {
    for at in 0..archive.len() {
        let mut file =
            archive.by_index_with_options(at, ZipReadOptions::new().password(password.map(str::as_bytes)))?;
        if file.is_dir() {
            continue;
        }
        let name = file.enclosed_name().filter(|_| file.is_file());
        let name = name.ok_or_else(|| io::Error::other(format!("{:?} is no file inside of it", file.name())))?;
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        io::copy(&mut file, &mut File::create_new(&path)?)?;
    }
    Ok(())
}
