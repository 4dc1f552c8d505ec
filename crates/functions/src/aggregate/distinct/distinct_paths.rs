//! `distinctDynamicTypes`, `distinctJSONPaths` and `distinctJSONPathsAndTypes`: what types and paths there are in a column.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use squall_types::{Alternatives, Column, DataType, Error, ErrorCode, JsonType, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::state_bytes::{put_string, put_varint, take_count, take_string};
use crate::scalar::alternatives::json::{Which, of_rows};

/// What is collected.
#[derive(Clone, Debug)]
enum Of {
    /// The types of a `Dynamic`.
    Types,
    /// The paths of a `JSON`.
    Paths(Arc<JsonType>),
    /// The same with the types of each.
    PathsAndTypes(Arc<JsonType>),
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let of = match (argument, call.name) {
        (DataType::Dynamic(_), "distinctDynamicTypes") => Of::Types,
        (DataType::Json(json), "distinctJSONPaths") => Of::Paths(json.clone()),
        (DataType::Json(json), "distinctJSONPathsAndTypes") => Of::PathsAndTypes(json.clone()),
        (other, name) => {
            let wanted = if name == "distinctDynamicTypes" { "Dynamic" } else { "JSON" };
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Illegal type {other} of argument of aggregate function {name}. Expected type {wanted}"),
            ));
        }
    };
    let names = DataType::array(DataType::String);
    let return_type = match of {
        Of::Types | Of::Paths(_) => names,
        Of::PathsAndTypes(_) => DataType::Map(Arc::new(DataType::String), Arc::new(names)),
    };
    Ok(grouped::function(DistinctNames { of, return_type }))
}

#[derive(Debug)]
struct DistinctNames {
    of: Of,
    return_type: DataType,
}

/// Names, each with those that belong to it.
type Names = BTreeMap<String, BTreeSet<String>>;

impl StateFunction for DistinctNames {
    type State = Names;
    type Rows<'a> = Vec<Vec<(String, String)>>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Names {
        Names::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("distinct names are of one argument")) };
        match &self.of {
            Of::Types => {
                let found = Alternatives::of(column)?;
                let names: Vec<String> = found.columns.iter().map(|column| column.data_type().to_string()).collect();
                let name = |(at, _): (u32, u32)| names.get(at as usize).map(|name| (name.clone(), String::new()));
                Ok(found.rows.into_iter().map(|row| row.and_then(name).into_iter().collect()).collect())
            }
            Of::Paths(json) | Of::PathsAndTypes(json) => of_rows(column, json, Which::All),
        }
    }

    fn add(&self, state: &mut Names, rows: &Self::Rows<'_>, row: usize) {
        for (name, of_it) in &rows[row] {
            match state.get_mut(name) {
                Some(known) if known.contains(of_it) => {}
                Some(known) => {
                    known.insert(of_it.clone());
                }
                None => {
                    state.insert(name.clone(), BTreeSet::from([of_it.clone()]));
                }
            }
        }
    }

    fn merge(&self, into: &mut Names, from: Names) -> Result<()> {
        checkpoint(200 * from.len())?;
        from.into_iter().for_each(|(name, of_it)| into.entry(name).or_default().extend(of_it));
        Ok(())
    }

    fn items(&self, state: &Names) -> usize {
        state.len()
    }

    fn write(&self, state: &Names, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (name, of_it) in state {
            put_string(name.as_bytes(), out);
            if let Of::PathsAndTypes(_) = self.of {
                put_varint(of_it.len() as u64, out);
                of_it.iter().for_each(|name| put_string(name.as_bytes(), out));
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Names> {
        let mut names = Names::new();
        let text = |bytes: &mut &[u8]| Ok::<_, Error>(String::from_utf8_lossy(take_string(bytes)?).into_owned());
        for _ in 0..take_count(bytes)? {
            let name = text(bytes)?;
            let mut of_it = BTreeSet::new();
            if let Of::PathsAndTypes(_) = self.of {
                for _ in 0..take_count(bytes)? {
                    of_it.insert(text(bytes)?);
                }
            }
            names.insert(name, of_it);
        }
        Ok(names)
    }

    fn finish(&self, states: Vec<Names>) -> Result<Column> {
        let strings = |names: &mut dyn Iterator<Item = String>| Value::Array(names.map(Value::string).collect());
        let value = |names: Names| match self.of {
            Of::Types | Of::Paths(_) => strings(&mut names.into_keys()),
            Of::PathsAndTypes(_) => {
                let entry =
                    |(name, of_it): (String, BTreeSet<String>)| (Value::string(name), strings(&mut of_it.into_iter()));
                Value::Map(names.into_iter().map(entry).collect())
            }
        };
        value_column(&self.return_type, states.into_iter().map(value))
    }

    fn heap_bytes(&self, state: &Names) -> usize {
        state
            .iter()
            .map(|(name, of_it)| 96 + name.len() + of_it.iter().map(|name| 48 + name.len()).sum::<usize>())
            .sum()
    }
}
