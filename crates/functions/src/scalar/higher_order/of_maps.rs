//! The same functions over maps: a map is an array of entries, of which the lambda takes key and value.

use std::sync::Arc;

use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::flat::without_dictionaries;
use super::{OverArrays, wrong_lambda};
use crate::function::{Argument, FunctionContext};
use crate::higher_order::{BoundHigherOrder, HigherOrderFunction, Lambda};
use crate::scalar::tuple::elements;

/// A function of the entries of a map.
pub(super) struct OverMap {
    pub name: &'static str,
    /// What it is over an array of the entries; arrays that come out are maps again.
    pub of_entries: &'static OverArrays,
}

impl OverMap {
    /// The arguments with the map as an array of its entries, and the map's type.
    fn with_entries(&self, arguments: &[Argument]) -> Result<(Vec<Argument>, DataType)> {
        let map = self.of_entries.after_limit(arguments).first().map(|map| &map.data_type);
        let Some(map @ DataType::Map(..)) = map else {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Function {} requires at least one argument of type Map", self.name),
            ));
        };
        let mut arguments = arguments.to_vec();
        if let Some(last) = arguments.last_mut() {
            *last = Argument::of(DataType::array(map.map_entry_type()));
        }
        Ok((arguments, map.clone()))
    }
}

impl HigherOrderFunction for OverMap {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parameters(&self, count: usize, arguments: &[Argument]) -> Result<Vec<DataType>> {
        self.of_entries.check_limit(arguments)?;
        let (arguments, _) = self.with_entries(arguments)?;
        let entry = self.of_entries.parameters(1, &arguments)?;
        match (count, &entry[..]) {
            (1, _) => Ok(entry),
            (2, [DataType::Tuple(parts)]) => Ok(parts.iter().map(|part| part.data_type.clone()).collect()),
            _ => Err(wrong_lambda(self.name, 2, count)),
        }
    }

    fn resolve(
        &self,
        result: &DataType,
        arguments: &[Argument],
        context: &FunctionContext,
    ) -> Result<Arc<dyn BoundHigherOrder>> {
        let (arguments, map) = self.with_entries(arguments)?;
        let of_entries = self.of_entries.resolve(result, &arguments, context)?;
        let return_type = match of_entries.return_type() {
            // Some of the map's own entries: dictionaries stay.
            DataType::Array(entry) if **entry == without_dictionaries(&map.map_entry_type()) => map,
            DataType::Array(entry) => match &**entry {
                DataType::Tuple(parts) if parts.len() == 2 => {
                    DataType::Map(Arc::new(parts[0].data_type.clone()), Arc::new(parts[1].data_type.clone()))
                }
                _ => {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!("Expected Array(Tuple(key, value)) type, got {}", of_entries.return_type()),
                    ));
                }
            },
            other => other.clone(),
        };
        Ok(Arc::new(Bound { of_entries, return_type }))
    }
}

#[derive(Debug)]
struct Bound {
    of_entries: Arc<dyn BoundHigherOrder>,
    return_type: DataType,
}

impl BoundHigherOrder for Bound {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn may_throw(&self) -> bool {
        false
    }

    fn execute(&self, lambda: &dyn Lambda, arguments: &[Column], rows: usize) -> Result<Column> {
        let mut arguments = arguments.to_vec();
        if let Some(map) = arguments.last_mut() {
            let entries = DataType::array(map.data_type().map_entry_type());
            *map = map.clone().with_type(entries);
        }
        let result = self.of_entries.execute(&OfEntry(lambda), &arguments, rows)?;
        match &self.return_type {
            map @ DataType::Map(..) => {
                let entries = DataType::array(map.map_entry_type());
                let is_plain = without_dictionaries(&entries) == entries;
                let result = if is_plain { result } else { cast(&result, &entries, &CastOptions::default())? };
                Ok(result.with_type(map.clone()))
            }
            _ => Ok(result),
        }
    }
}

/// A lambda of a key and a value as a lambda of an entry.
struct OfEntry<'a>(&'a dyn Lambda);

impl Lambda for OfEntry<'_> {
    fn is_deterministic(&self) -> bool {
        self.0.is_deterministic()
    }

    fn arguments(&self) -> usize {
        1
    }

    fn call(&self, arguments: &[Column], calls: usize, rows: &dyn Fn() -> arrow_array::UInt32Array) -> Result<Column> {
        match arguments {
            [entry] if self.0.arguments() == 2 => self.0.call(&elements(entry)?, calls, rows),
            _ => self.0.call(arguments, calls, rows),
        }
    }
}
