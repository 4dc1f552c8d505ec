//! A disk in memory that crashes at a chosen step and then forgets, by chance, what was not synced: names of files in folders, and bytes of
//! files that were being written. Renames are atomic, as they are on every journaling file system; whether one that was not synced has
//! happened is as open as for any other name.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Disk, Listed, NewFile, OpenFile};

/// The disk.
#[derive(Debug)]
pub(crate) struct FakeDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    random: Random,
    names: Names,
    /// What a crash leaves for sure.
    durable: Names,
    /// Changes of names that may or may not be on disk, oldest first.
    pending: Vec<Change>,
    steps: u64,
    crash_at: u64,
    has_crashed: bool,
}

#[derive(Clone, Debug, Default)]
struct Names {
    files: BTreeMap<PathBuf, Arc<Mutex<Vec<u8>>>>,
    folders: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug)]
enum Change {
    Folder(PathBuf),
    NoFolder(PathBuf),
    Put(PathBuf, Arc<Mutex<Vec<u8>>>),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

/// A sequence of numbers that a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

impl Names {
    fn has_parent(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| parent == Path::new("/") || self.folders.contains(parent))
    }
}

impl Change {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Folder(path) => drop(names.folders.insert(path.clone())),
            // It was empty: nobody can reach what a crash might have brought back into it.
            Self::NoFolder(path) => {
                names.folders.remove(path);
                names.files.retain(|inside, _| inside.parent() != Some(path));
            }
            Self::Put(path, file) => {
                if names.has_parent(path) {
                    names.files.insert(path.clone(), file.clone());
                }
            }
            Self::Remove(path) => drop(names.files.remove(path)),
            Self::Rename(from, to) => {
                if names.has_parent(to)
                    && let Some(file) = names.files.remove(from)
                {
                    names.files.insert(to.clone(), file);
                }
            }
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        let is_inside = |path: &PathBuf| path.parent() == Some(folder);
        match self {
            Self::Folder(path) | Self::NoFolder(path) | Self::Put(path, _) | Self::Remove(path) => is_inside(path),
            Self::Rename(from, to) => is_inside(from) || is_inside(to),
        }
    }
}

fn crashed() -> io::Error {
    io::Error::other("the machine has crashed")
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, path.display().to_string())
}

impl State {
    /// One more step of the history: at the chosen one the machine crashes.
    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        self.has_crashed |= self.steps >= self.crash_at;
        if self.has_crashed { Err(crashed()) } else { Ok(()) }
    }

    /// Changes names; the machine may crash before it and after it.
    fn change(&mut self, change: Change) -> io::Result<()> {
        self.step()?;
        if let Change::Put(path, _) | Change::Rename(_, path) = &change
            && !self.names.has_parent(path)
        {
            return Err(missing(path));
        }
        change.apply(&mut self.names);
        self.pending.push(change);
        self.step()
    }
}

impl FakeDisk {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self(Arc::new(Mutex::new(State {
            random: Random(seed),
            names: Names::default(),
            durable: Names::default(),
            pending: Vec::new(),
            steps: 0,
            crash_at: u64::MAX,
            has_crashed: false,
        }))))
    }

    /// Lets the machine crash after so many more steps.
    pub(crate) fn crash_after(&self, steps: u64) {
        let mut state = self.0.lock();
        state.crash_at = state.steps + steps;
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.0.lock().has_crashed
    }

    /// The machine starts again: what was not synced is there or not.
    pub(crate) fn start_again(&self) {
        let mut state = self.0.lock();
        let state = &mut *state;
        if state.has_crashed {
            for change in std::mem::take(&mut state.pending) {
                if state.random.below(2) == 0 {
                    change.apply(&mut state.durable);
                }
            }
            state.names = state.durable.clone();
        }
        (state.has_crashed, state.crash_at) = (false, u64::MAX);
    }
}

struct Opened(Arc<Mutex<Vec<u8>>>);

impl OpenFile for Opened {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.0.lock();
        let found = file.get(offset as usize..offset as usize + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}

/// A new file: what a crash leaves of it, and all that was appended.
struct Growing {
    state: Arc<Mutex<State>>,
    file: Arc<Mutex<Vec<u8>>>,
    bytes: Vec<u8>,
}

impl NewFile for Growing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        let mut state = self.state.lock();
        // Torn by a crash before the sync.
        let torn = state.random.below(self.bytes.len() as u64 + 1) as usize;
        *self.file.lock() = self.bytes.get(..torn).unwrap_or_default().to_vec();
        state.step()
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.step()?;
        *self.file.lock() = self.bytes.clone();
        state.step()
    }
}

impl Disk for FakeDisk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        if state.names.folders.contains(path) { Ok(()) } else { state.change(Change::Folder(path.to_path_buf())) }
    }

    fn begin(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut state = self.0.lock();
        if state.names.files.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(Mutex::new(Vec::new()));
        state.change(Change::Put(path.to_path_buf(), file.clone()))?;
        Ok(Box::new(Growing { state: self.0.clone(), file, bytes: Vec::new() }))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        state.step()?;
        let (now, later): (Vec<Change>, Vec<Change>) =
            std::mem::take(&mut state.pending).into_iter().partition(|change| change.is_in(path));
        now.iter().for_each(|change| change.apply(&mut state.durable));
        state.pending = later;
        state.step()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        if !state.has_crashed && !state.names.files.contains_key(from) {
            return Err(missing(from));
        }
        state.change(Change::Rename(from.to_path_buf(), to.to_path_buf()))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        let file = state.names.files.get(from).cloned().ok_or_else(|| missing(from))?;
        if state.names.files.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.change(Change::Put(to.to_path_buf(), file))
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = super::read_all(self, from)?;
        self.create(to, &mut std::iter::once(&bytes[..]))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        if !state.has_crashed && !state.names.files.contains_key(path) {
            return Err(missing(path));
        }
        state.change(Change::Remove(path.to_path_buf()))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock();
        if state.names.files.keys().chain(&state.names.folders).any(|inside| inside.parent() == Some(path)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if !state.names.folders.contains(path) {
            return Err(missing(path));
        }
        state.change(Change::NoFolder(path.to_path_buf()))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let state = self.0.lock();
        if state.has_crashed {
            return Err(crashed());
        }
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_inside = |inside: &PathBuf| inside.parent() == Some(path);
        let files = state.names.files.iter().filter(|(file, _)| is_inside(file));
        let mut listed: Vec<Listed> = files
            .map(|(file, bytes)| Listed { name: name(file), is_folder: false, bytes: bytes.lock().len() as u64 })
            .collect();
        let folders = state.names.folders.iter().filter(|folder| is_inside(folder));
        listed.extend(folders.map(|folder| Listed { name: name(folder), is_folder: true, bytes: 0 }));
        listed.sort_unstable();
        Ok(listed)
    }

    fn bytes(&self, path: &Path) -> io::Result<u64> {
        let state = self.0.lock();
        if state.names.folders.contains(path) {
            return Ok(0);
        }
        Ok(state.names.files.get(path).ok_or_else(|| missing(path))?.lock().len() as u64)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>> {
        let state = self.0.lock();
        Ok(Box::new(Opened(state.names.files.get(path).ok_or_else(|| missing(path))?.clone())))
    }

    fn commit(&self, commit: &mut dyn FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        let failed = |_| {
            let error = rusqlite::ffi::Error { code: rusqlite::ErrorCode::SystemIoFailure, extended_code: 10 };
            rusqlite::Error::SqliteFailure(error, Some("the machine has crashed".to_owned()))
        };
        self.0.lock().step().map_err(failed)?;
        commit()?;
        self.0.lock().step().map_err(failed)
    }
}
