//! Random rows: the table function `generateRandom(['structure'[, seed[, max_string_length[, max_array_length]]]])`. They are made in
//! blocks of as many rows as ClickHouse makes at once, each by a generator of its own, so that many threads make the rows of one scan;
//! those of the first block are ClickHouse's of the same seed.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use rand::Rng;
use squall_functions::{Argument, FunctionContext, resolve_scalar, sip_hash64};
use squall_planner::{ColumnDescription, TableMetadata};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value};

use super::pcg64::Pcg64;
use super::random_values::{self, Lengths, estimated_bytes};
use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, Table, TableScan};

/// The most rows of a block, and its most bytes.
const BLOCK_ROWS: u64 = 65_409;
const BLOCK_BYTES: u64 = 1_000_000;
/// The longest strings and arrays that are made, as in ClickHouse.
const LENGTH_MAX: u64 = 0xFF_FFFF;

/// An endless table of random rows.
#[derive(Debug)]
pub(super) struct Random {
    columns: Vec<ColumnDescription>,
    seed: u64,
    lengths: Lengths,
}

impl Random {
    /// The table of a call.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `BAD_ARGUMENTS`; `NOT_IMPLEMENTED` for types that no values are made of.
    pub(super) fn new(
        arguments: &[Value],
        columns_of: &dyn Fn(&Value) -> Result<Vec<ColumnDescription>>,
        functions: &FunctionContext,
    ) -> Result<Self> {
        let bad = |message: &str| Error::new(ErrorCode::BAD_ARGUMENTS, message.to_owned());
        let (structure, numbers) = match arguments.split_first() {
            Some((structure @ Value::String(_), numbers)) => (Some(structure), numbers),
            _ => (None, arguments),
        };
        if numbers.len() > 3 {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Table function 'generateRandom' requires at most four (or three if structure is missing) arguments: [structure, \
                 random_seed, max_string_length, max_array_length]",
            ));
        }
        let number = |at: usize, name: &str, default: u64| match numbers.get(at) {
            None => Ok(default),
            Some(Value::Null) if name == SEED => Ok(default),
            Some(value) => value.as_u64().ok_or_else(|| {
                let given = value.literal_type();
                bad(&format!("Argument '{name}' must be a literal with type UInt64, got {given}"))
            }),
        };
        let seed = number(0, SEED, rand::rng().next_u64())?;
        let lengths =
            Lengths { string: number(1, "max_string_length", 10)?, array: number(2, "max_array_length", 10)? };
        let columns = match structure {
            Some(structure) => columns_of(structure)?,
            None => columns_of(&random_structure(seed, functions)?)?,
        };
        if lengths.string > LENGTH_MAX || lengths.array > LENGTH_MAX {
            return Err(bad("The lengths of strings and arrays of generateRandom are limited to 16777215"));
        }
        columns.iter().try_for_each(|column| estimated_bytes(&column.data_type, lengths).map(|_| ()))?;
        Ok(Self { columns, seed, lengths })
    }
}

/// The name of the argument that may be NULL: then every table is another.
const SEED: &str = "random_seed";

/// Names and types of columns where the call tells none.
fn random_structure(seed: u64, functions: &FunctionContext) -> Result<Value> {
    let arguments = [Value::Null, Value::UInt64(seed)].map(|value| {
        let data_type = value.literal_type();
        Argument { data_type, constant: Some(value) }
    });
    let function = resolve_scalar("generateRandomStructure", &arguments, functions)?;
    let constant = |argument: &Argument| {
        let value = argument.constant.as_ref().unwrap_or(&Value::Null);
        Column::constant(argument.data_type.clone(), value, 1)
    };
    let columns = arguments.iter().map(constant).collect::<Result<Vec<_>>>()?;
    Ok(function.execute(&columns, 1)?.value(0))
}

impl TableMetadata for Random {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        "generateRandom"
    }
    fn engine(&self) -> &str {
        "GenerateRandom"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for Random {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let rows = request.limited(u64::MAX);
        let row_bytes = request.schema.types().map(|data_type| estimated_bytes(data_type, self.lengths));
        let row_bytes = row_bytes.sum::<Result<u64>>()?;
        let mut block_rows = rows.clamp(1, BLOCK_ROWS);
        let block_bytes = block_rows.saturating_mul(row_bytes);
        if block_bytes > BLOCK_BYTES {
            block_rows = ((block_rows as f64 * (BLOCK_BYTES as f64 / block_bytes as f64)) as u64).max(1);
        }
        Ok(Arc::new(RandomScan {
            schema: request.schema.clone(),
            claims: RowClaims::new(rows.div_ceil(block_rows)),
            rows,
            block_rows,
            is_endless: request.limit.is_none(),
            seed: self.seed,
            lengths: self.lengths,
        }))
    }
}

/// Its morsels are blocks.
struct RandomScan {
    schema: Arc<Schema>,
    claims: RowClaims,
    rows: u64,
    block_rows: u64,
    is_endless: bool,
    seed: u64,
    lengths: Lengths,
}

impl RandomScan {
    /// The columns of a block. Those of a nested structure have arrays of the same lengths and come last.
    fn block(&self, block: u64, rows: usize) -> Result<Block> {
        // The generator of the scan gives each block's its seed.
        let begin = sip_hash64(&self.seed.to_le_bytes()).wrapping_add(block);
        let mut random = Pcg64::new(Pcg64::new(begin).next());
        let mut columns: Vec<Option<Column>> = vec![None; self.schema.len()];
        let nested = self.nested();
        for (at, data_type) in self.schema.types().enumerate() {
            if !nested.values().any(|group| group.contains(&at)) {
                columns[at] = Some(random_values::column(data_type, rows, self.lengths, &mut random)?);
            }
        }
        for group in nested.values() {
            let types: Vec<&DataType> = group.iter().filter_map(|at| self.schema.types().nth(*at)).collect();
            let filled = random_values::nested_columns(&types, rows, self.lengths, &mut random)?;
            group.iter().zip(filled).for_each(|(at, column)| columns[*at] = Some(column));
        }
        let columns = columns.into_iter().flatten().collect();
        Ok(Block::new(self.schema.clone(), columns, rows))
    }

    /// The columns of each nested structure: arrays whose names begin alike up to a dot.
    fn nested(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut nested: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, (name, data_type)) in self.schema.fields.iter().enumerate() {
            if let (DataType::Array(_), Some((structure, _))) = (data_type, name.split_once('.')) {
                nested.entry(structure).or_default().push(at);
            }
        }
        nested
    }
}

impl TableScan for RandomScan {
    fn rows_total(&self) -> Option<u64> {
        (!self.is_endless).then_some(self.rows)
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows.div_ceil(self.block_rows))
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        for block in morsel.first..morsel.first.saturating_add(morsel.rows) {
            let rows = self.block_rows.min(self.rows.saturating_sub(block.saturating_mul(self.block_rows)));
            if consume(self.block(block, rows as usize)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
