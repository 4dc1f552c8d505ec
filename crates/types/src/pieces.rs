//! Rows computed in pieces: all at once while what comes out is small, fewer at a time where one column of it would pass
//! [`PIECE_BYTES`] or a limit of memory. So what expands its input (`repeat`, `range`) takes the memory of a piece.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::as_i64;
use crate::text::readable::readable_bytes;
use crate::{Error, ErrorCode, Result};

/// Bytes that one reservation may take where the rows can be made fewer.
const PIECE_BYTES: usize = 16 << 20;

thread_local! {
    static BYTES_MAX: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Whether a reservation fits into the piece that the thread computes.
pub(crate) fn fit(bytes: usize) -> Result<()> {
    let most = BYTES_MAX.get();
    if bytes <= most {
        return Ok(());
    }
    let (bytes, most) = (readable_bytes(as_i64(bytes)), readable_bytes(as_i64(most)));
    Err(Error::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, format!("{bytes} for a piece of rows that may take {most}")))
}

/// How many rows were a piece lately, for whoever computes block after block. It may be shared by threads.
#[derive(Debug)]
pub struct PieceRows(AtomicUsize);

impl Default for PieceRows {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl PieceRows {
    /// Computes `rows` rows: `compute` is called for ranges of them, again for a part of the range where it did not fit, and `take` gets
    /// what it gave, in order. `take` may ask to stop. Without rows both are called once.
    ///
    /// # Errors
    /// Those of `compute`, of which `MEMORY_LIMIT_EXCEEDED` counts only for a single row, and of `take`.
    pub fn each<T>(
        &self,
        rows: usize,
        mut compute: impl FnMut(Range<usize>) -> Result<T>,
        mut take: impl FnMut(Range<usize>, T) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let mut start = 0;
        loop {
            let known = self.0.load(Ordering::Relaxed);
            let piece = start..start + known.clamp(1, (rows - start).max(1)).min(rows - start);
            let computed = {
                let _limit = (piece.len() > 1).then(|| Limit(BYTES_MAX.replace(PIECE_BYTES)));
                compute(piece.clone())
            };
            let computed = match computed {
                Err(error) if error.code == ErrorCode::MEMORY_LIMIT_EXCEEDED && piece.len() > 1 => {
                    self.0.store(piece.len() / 2, Ordering::Relaxed);
                    continue;
                }
                Err(error) => return Err(error),
                Ok(computed) => computed,
            };
            start = piece.end;
            if take(piece.clone(), computed)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            if start >= rows {
                return Ok(ControlFlow::Continue(()));
            }
            // Other rows may make less of themselves.
            self.0.store(piece.len() + piece.len() / 8 + 1, Ordering::Relaxed);
        }
    }
}

/// Restores the bound of whoever computes around this piece.
struct Limit(usize);

impl Drop for Limit {
    fn drop(&mut self) {
        BYTES_MAX.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reserve;

    /// The pieces in which rows of so many bytes are computed.
    fn pieces_of(bytes: &[usize]) -> Result<Vec<usize>> {
        let mut pieces = Vec::new();
        let compute = |piece: Range<usize>| reserve(bytes[piece].iter().sum());
        let flow = PieceRows::default().each(bytes.len(), compute, |piece, ()| {
            pieces.push(piece.len());
            Ok(ControlFlow::Continue(()))
        });
        flow.map(|_| pieces)
    }

    #[test]
    fn rows_that_fit_are_one_piece() {
        assert_eq!(pieces_of(&[1_000; 1_000]).unwrap(), [1_000]);
        assert_eq!(pieces_of(&[]).unwrap(), [0]);
    }

    #[test]
    fn rows_that_do_not_fit_are_cut() {
        let pieces = pieces_of(&[5 << 20; 100]).unwrap();
        assert_eq!(pieces.iter().sum::<usize>(), 100);
        assert!(pieces.iter().all(|rows| *rows <= 3), "{pieces:?}");
        // A single row may take more than a piece.
        assert_eq!(pieces_of(&[1, 32 << 20, 1]).unwrap().iter().sum::<usize>(), 3);
        assert!(reserve(17 << 20).is_ok());
    }

    #[test]
    fn other_errors_and_those_of_whoever_takes_are_not_tried_again() {
        let mut calls = 0;
        let refuse = |_: Range<usize>| -> Result<()> { Err(Error::logical("no")) };
        assert!(PieceRows::default().each(10, refuse, |_, ()| Ok(ControlFlow::Continue(()))).is_err());
        let taken = PieceRows::default().each(
            10,
            |_| Ok(()),
            |_, ()| {
                calls += 1;
                Err(Error::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, "no"))
            },
        );
        assert!(taken.is_err());
        assert_eq!(calls, 1);
    }
}
