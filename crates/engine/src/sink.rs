//! Sinks without a place of their own: the end of pipelines whose work is done by their source.

use squall_types::{Block, Result};

use crate::pipeline::{LocalSink, Sequence, Sink};

/// Takes nothing: the pipeline's source does the work.
pub(crate) struct Nothing;

impl Sink for Nothing {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(Self))
    }

    fn finish(&self, _: Vec<Box<dyn LocalSink>>) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &'static str {
        "Nothing"
    }
}

impl LocalSink for Nothing {
    fn consume(&mut self, _: Sequence, _: Block) -> Result<()> {
        Ok(())
    }
}
