//! What tells an INSERT from others, so that one that comes again is recognised: a token that its client gave, or a hash of its rows in their
//! order. Tables remember the ids of the last INSERTs (`non_replicated_deduplication_window`).

use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::{Block, Result, checkpoint};
use twox_hash::XxHash3_128;

use crate::key_index::row_bytes;
use crate::merge_tree::PreparedParts;
use crate::table::{InsertPlace, InsertWriter, Insertion, PartWork};

/// Rows that are hashed between two looks at the limits.
const HASHED_ROWS: usize = 8192;

/// The id of an INSERT, which may be known only once all of its rows have come.
pub struct InsertId(IdKind);

enum IdKind {
    Token(String),
    Rows(Box<Mutex<XxHash3_128>>),
}

impl InsertId {
    /// The client's token; without one, what a hash of the rows will be.
    pub fn new(token: &str) -> Arc<Self> {
        Arc::new(Self(match token {
            "" => IdKind::Rows(Box::new(Mutex::new(XxHash3_128::new()))),
            token => IdKind::Token(token.to_owned()),
        }))
    }

    /// Whether the rows make the id, and their order with them.
    fn is_of_rows(&self) -> bool {
        matches!(self.0, IdKind::Rows(_))
    }

    fn add(&self, block: &Block) -> Result<()> {
        let IdKind::Rows(hash) = &self.0 else { return Ok(()) };
        let mut hash = hash.lock();
        for first in (0..block.rows()).step_by(HASHED_ROWS) {
            let rows = HASHED_ROWS.min(block.rows() - first);
            let arrays = block.columns().iter().map(|column| column.slice(first, rows).to_array());
            let bytes = row_bytes(arrays.collect::<Result<Vec<_>>>()?.iter(), rows)?;
            checkpoint(bytes.value_data().len())?;
            (0..rows).for_each(|row| hash.write(bytes.value(row)));
        }
        Ok(())
    }

    /// The id as it is remembered. A client can give no token that is the hash of some rows.
    pub(crate) fn text(&self) -> String {
        match &self.0 {
            IdKind::Token(token) => format!("token {token}"),
            IdKind::Rows(hash) => format!("rows {:032x}", hash.lock().finish_128()),
        }
    }
}

/// An INSERT whose rows make its id as they come.
pub struct IdentifiedInsertion {
    insertion: Arc<dyn Insertion>,
    id: Arc<InsertId>,
}

impl IdentifiedInsertion {
    /// The same INSERT.
    pub fn of(insertion: Arc<dyn Insertion>, id: Arc<InsertId>) -> Arc<dyn Insertion> {
        if id.is_of_rows() { Arc::new(Self { insertion, id }) } else { insertion }
    }
}

impl Insertion for IdentifiedInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(HashingWriter { writer: self.insertion.writer()?, id: self.id.clone() }))
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn commit(&self) -> Result<()> {
        self.insertion.commit()
    }

    fn prepare(&self) -> Result<Option<PreparedParts>> {
        self.insertion.prepare()
    }
}

struct HashingWriter {
    writer: Box<dyn InsertWriter>,
    id: Arc<InsertId>,
}

impl InsertWriter for HashingWriter {
    fn set_place(&mut self, place: InsertPlace) {
        self.writer.set_place(place);
    }

    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        self.id.add(&block)?;
        self.writer.write(block)
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        self.writer.finish()
    }
}

#[cfg(test)]
mod tests {
    use squall_types::Column;

    use super::*;

    fn id(blocks: &[&[&str]]) -> String {
        let id = InsertId::new("");
        for block in blocks {
            let column = Column::from_strings(block.iter());
            id.add(&Block::from_columns([("x", column)]).unwrap()).unwrap();
        }
        id.text()
    }

    #[test]
    fn rows_make_the_id_however_they_come() {
        assert_eq!(id(&[&["a", "b"], &["c"]]), id(&[&["a"], &["b", "c"]]));
        assert_ne!(id(&[&["a", "b"]]), id(&[&["b", "a"]]));
        assert_ne!(id(&[&["ab", "c"]]), id(&[&["a", "bc"]]));
        assert_eq!(InsertId::new("rows").text(), "token rows");
    }
}
