//! Input that several threads read at once. A [`Cutter`] cuts it where rows seem to end. Each piece is read by a reader of its own, which
//! takes for granted that the piece begins with a row. [`SplitInput`] looks at the pieces in their order: it takes the rows of a piece whose
//! predecessor did end with a row, and has all others read again, by the one reader that has read everything before. So rows and errors are
//! those of input that is read from its beginning to its end, wherever it was cut.

use squall_types::{Result, grow};

use crate::input::{InputBlock, InputFormat};

/// Bytes of a piece: about a millisecond's work.
pub const PIECE_BYTES: usize = 256 << 10;
/// A piece in which no row seems to end is read with those before it once it is so large.
const PIECE_BYTES_MAX: usize = 4 * PIECE_BYTES;
/// After so many more wrong guesses than right ones, nothing is guessed any more.
const WRONG_GUESSES_MAX: usize = 4;

/// Where rows seem to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowEnds {
    /// At the end of each line.
    Lines,
    /// At the end of a line before which there is an even number of double quotes.
    LinesOutsideQuotes,
    /// After the second of these bytes, where the first comes next: on the next line, or if no line ends so, on the same one. Commas may
    /// stand between.
    Brackets(u8, u8),
}

impl RowEnds {
    /// The place behind the last row that ends in bytes that begin with one.
    pub fn last(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
            Self::LinesOutsideQuotes => {
                let mut is_inside = memchr::memchr_iter(b'"', bytes).count() % 2 == 1;
                for at in memchr::memrchr2_iter(b'"', b'\n', bytes) {
                    match bytes.get(at) {
                        Some(b'"') => is_inside = !is_inside,
                        _ if !is_inside => return Some(at + 1),
                        _ => {}
                    }
                }
                None
            }
            Self::Brackets(open, close) => {
                let separates = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
                let end_before = |at: usize| {
                    let before = bytes.get(..at)?;
                    let end = before.iter().rposition(|byte| !separates(byte))?;
                    (before.get(end) == Some(&close)).then_some(end + 1)
                };
                let begins = |at: &usize| bytes.iter().skip(*at).find(|byte| !separates(byte)) == Some(&open);
                let mut lines = memchr::memrchr_iter(b'\n', bytes).filter(begins);
                lines.find_map(end_before).or_else(|| memchr::memrchr_iter(open, bytes).find_map(end_before))
            }
        }
    }
}

/// What a reader of rows can do besides, once it has read what stands before the first of them.
pub trait SplitReader {
    /// Where its rows seem to end, and a reader of bytes that begin with a row. That one skips no row that cannot be read.
    ///
    /// # Errors
    /// As of making any reader.
    fn fork(&self) -> Result<(RowEnds, Box<dyn InputFormat>)>;

    /// Whether all bytes so far are read, and another row may follow.
    fn is_between_rows(&self) -> bool;

    /// Gives its own rows, before as many that others have read, which count for the numbers of rows in errors.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn give_way(&mut self, rows: u64, blocks: &mut Vec<InputBlock>) -> Result<()>;
}

/// A piece of input.
#[derive(Debug)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the piece before ended where a row seems to end, so that this one may be read on its own.
    pub begins_with_row: bool,
}

/// Cuts bytes that come into pieces.
#[derive(Debug)]
pub struct Cutter {
    row_ends: Option<RowEnds>,
    piece_bytes: usize,
    pending: Vec<u8>,
    begins_with_row: bool,
}

impl Cutter {
    /// Pieces of at least [`PIECE_BYTES`] that end where rows do, where that can be told.
    pub fn new(row_ends: Option<RowEnds>) -> Self {
        Self { row_ends, piece_bytes: PIECE_BYTES, pending: Vec::new(), begins_with_row: false }
    }

    /// Cuts where rows seem to end from now on.
    pub fn cut_at(&mut self, ends: RowEnds) {
        self.row_ends = Some(ends);
    }

    /// Takes bytes; gives a piece once they suffice for one.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Piece>> {
        grow(&mut self.pending, bytes.len())?;
        self.pending.extend_from_slice(bytes);
        if self.pending.len() < self.piece_bytes {
            return Ok(None);
        }
        let end = self.row_ends.and_then(|ends| ends.last(&self.pending));
        if end.is_none() && self.row_ends.is_some() && self.pending.len() < PIECE_BYTES_MAX {
            self.piece_bytes = 2 * self.pending.len();
            return Ok(None);
        }
        self.piece_bytes = PIECE_BYTES;
        let rest = self.pending.split_off(end.unwrap_or(self.pending.len()));
        let bytes = std::mem::replace(&mut self.pending, rest);
        Ok(Some(Piece { bytes, begins_with_row: std::mem::replace(&mut self.begins_with_row, end.is_some()) }))
    }

    /// What is left, if anything.
    pub fn finish(self) -> Option<Piece> {
        let Self { pending: bytes, begins_with_row, .. } = self;
        (!bytes.is_empty()).then_some(Piece { bytes, begins_with_row })
    }
}

/// What a reader of its own has made of a piece: its rows; `None` where it is not made of whole rows without an error.
pub type PieceRows = Option<(Vec<InputBlock>, Box<dyn InputFormat>)>;

/// Ends the reading of a piece.
pub fn end_piece(mut fork: Box<dyn InputFormat>, mut blocks: Vec<InputBlock>) -> PieceRows {
    let is_whole = fork.split().is_some_and(|reader| reader.is_between_rows());
    (is_whole && fork.finish(&mut blocks).is_ok()).then_some((blocks, fork))
}

/// Joins what the readers of pieces have read.
pub struct SplitInput {
    /// The one that has read everything that was taken.
    reader: Box<dyn InputFormat>,
    idle: Vec<Box<dyn InputFormat>>,
    wrong_guesses: usize,
}

impl SplitInput {
    /// Goes on where a reader is.
    pub fn new(reader: Box<dyn InputFormat>) -> Self {
        Self { reader, idle: Vec::new(), wrong_guesses: 0 }
    }

    /// Where rows seem to end; `None` where pieces are to be read in their order.
    ///
    /// # Errors
    /// As of making any reader.
    pub fn row_ends(&mut self) -> Result<Option<RowEnds>> {
        let Some(split) = self.reader.split() else { return Ok(None) };
        let (ends, reader) = split.fork()?;
        self.idle.push(reader);
        Ok(Some(ends))
    }

    /// A reader for a piece of its own; `None` where pieces are to be read in their order.
    ///
    /// # Errors
    /// As of making any reader.
    pub fn fork(&mut self) -> Result<Option<Box<dyn InputFormat>>> {
        if self.wrong_guesses > WRONG_GUESSES_MAX {
            return Ok(None);
        }
        match self.idle.pop() {
            Some(reader) => Ok(Some(reader)),
            None => Ok(self.reader.split().map(|reader| reader.fork()).transpose()?.map(|(_, fork)| fork)),
        }
    }

    /// Takes the next piece's rows, and gives all that there are. `false`: the piece is to be [fed](Self::feed) instead.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn take(&mut self, rows: PieceRows, blocks: &mut Vec<InputBlock>) -> Result<bool> {
        let reader = self.reader.split().filter(|reader| reader.is_between_rows());
        let (Some(reader), Some((read, fork))) = (reader, rows) else {
            self.wrong_guesses += 1;
            return Ok(false);
        };
        reader.give_way(read.iter().map(|input| input.block.rows() as u64).sum(), blocks)?;
        blocks.extend(read);
        self.wrong_guesses = self.wrong_guesses.saturating_sub(1);
        self.idle.push(fork);
        Ok(true)
    }

    /// Reads the next bytes after all that was taken.
    ///
    /// # Errors
    /// As [`InputFormat::feed`].
    pub fn feed(&mut self, bytes: &[u8], blocks: &mut Vec<InputBlock>) -> Result<()> {
        self.reader.feed(bytes, blocks)
    }

    /// The reader of all that was taken.
    pub fn reader(self) -> Box<dyn InputFormat> {
        self.reader
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use squall_types::{Schema, Settings};

    use super::*;
    use crate::{FormatOptions, input_format};

    #[test]
    fn rows_end_outside_of_values() {
        assert_eq!(RowEnds::Lines.last(b"a\nb\nc"), Some(4));
        assert_eq!(RowEnds::Lines.last(b"abc"), None);
        let quoted = RowEnds::LinesOutsideQuotes;
        assert_eq!(quoted.last(b"1,\"a\nb\"\n2,\"c\n"), Some(8));
        assert_eq!(quoted.last(b"1,\"a\nb\n"), None);
        let objects = RowEnds::Brackets(b'{', b'}');
        assert_eq!(objects.last(b"{\"a\":1},\r\n  {\"a\":{\n}}\n"), Some(7));
        assert_eq!(objects.last(b"{\"a\":1}\n"), None);
        assert_eq!(objects.last(b"{\"a\":[{},{}]}\n{\"a\":[{},{}"), Some(13));
        assert_eq!(objects.last(b"[{\"a\":1}, {\"a\":"), Some(8));
    }

    /// Reads it in one go, or in pieces as several threads do. Errors without the text that follows, of which a piece shows what it has.
    fn read(name: &str, text: &[u8], cuts: Option<&[usize]>) -> Result<Vec<String>, String> {
        let schema = Arc::new(Schema::parse("n UInt64, s String").unwrap());
        let mut settings = Settings::default();
        settings.set("input_format_allow_errors_num", "1").unwrap();
        let options = FormatOptions { settings: Arc::new(settings), ..FormatOptions::default() };
        let mut blocks = Vec::new();
        let mut run = || -> Result<()> {
            let mut reader = input_format(name, &schema, &options)?;
            let Some([first, cuts @ ..]) = cuts else {
                reader.feed(text, &mut blocks)?;
                return reader.finish(&mut blocks);
            };
            reader.feed(&text[..*first], &mut blocks)?;
            let mut input = SplitInput::new(reader);
            let ends = cuts.iter().copied().chain([text.len()]);
            let mut begin = *first;
            let mut pieces = Vec::new();
            for end in ends {
                let read = input.fork()?.and_then(|mut fork| {
                    let mut blocks = Vec::new();
                    fork.feed(&text[begin..end], &mut blocks).ok()?;
                    end_piece(fork, blocks)
                });
                pieces.push((begin..end, read));
                begin = end;
            }
            for (piece, read) in pieces {
                if !input.take(read, &mut blocks)? {
                    input.feed(&text[piece], &mut blocks)?;
                }
            }
            input.reader().finish(&mut blocks)
        };
        run().map_err(|error| {
            let (message, place) = error.message.split_once(", before: ").unwrap_or((&error.message, ""));
            format!("{message}{}", place.rsplit_once("': ").map_or("", |(_, place)| place))
        })?;
        let rows = blocks.iter().flat_map(|input| {
            let row = |row| input.block.columns().iter().map(|column| format!("{:?}", column.value(row))).collect();
            (0..input.block.rows()).map(row).collect::<Vec<String>>()
        });
        Ok(rows.collect())
    }

    #[test]
    fn pieces_are_read_as_the_whole_wherever_it_is_cut() {
        let texts: [(&str, &str); 9] = [
            ("TSV", "1\ta\n2\tb\\\nc\n3\td\n"),
            ("TSV", "1\ta\nx\tb\n3\tc\ny\td\n5\te\n"),
            ("CSV", "1,\"a\nb\"\n2,\"\n\n3,c\n\"\n4,d"),
            ("CSVWithNames", "s,n\n\"a\"\"\n\",1\nb\",2\n\",x\nc,3\n"),
            ("JSONEachRow", "[{\"n\":1,\"s\":\"a\n{\"},\n{\"s\":\"b\"}\n,\n {\"n\":3}\n]\n"),
            ("JSONEachRow", "{\"n\":1}\n{\"n\":\n2}\n{\"n\":\"x\"}\n{\"n\":4}\n{\"n\":\"y\"}\n"),
            ("JSONCompactEachRow", "[1, \"a\"]\n[2, \"b\n[\"]\n\n[3, \"\"]"),
            ("Values", "(1, 'a\n(')\n, (2, ')\n'),(3, 'c'),\n(4,\n'd');\n"),
            ("TSKV", "n=1\ts=a\ns=b\n\nn=x\nn=3\n"),
        ];
        for (name, text) in texts {
            let text = text.as_bytes();
            let ends: Vec<usize> = memchr::memchr_iter(b'\n', text).map(|at| at + 1).collect();
            let whole = read(name, text, None);
            assert!(whole.as_ref().map_or(true, |rows| rows.len() > 1), "{name}: {whole:?}");
            for cuts in 1_usize..1 << ends.len() {
                let cuts: Vec<usize> =
                    ends.iter().enumerate().filter(|(at, _)| cuts >> at & 1 == 1).map(|(_, end)| *end).collect();
                assert_eq!(read(name, text, Some(&cuts)), whole, "{name} cut at {cuts:?}");
            }
        }
    }
}
