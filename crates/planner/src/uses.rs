//! What a query uses by name: tables, columns, functions. Gathered while it is planned, told by the query log.

use std::collections::BTreeSet;

use squall_functions::{aggregate_name_parts, canonical_name};
use squall_types::DataType;

use crate::plan::Plan;

/// Something that a query uses, as planning meets it.
#[derive(Clone, Copy, Debug)]
pub enum Used<'a> {
    /// A scalar function.
    Function(&'a str),
    /// An aggregate function, perhaps with combinators, or one of windows.
    AggregateFunction(&'a str),
    /// A table function.
    TableFunction(&'a str),
    /// A table, by its database and name.
    Table(&'a str, &'a str),
    /// A view, by its database and name.
    View(&'a str, &'a str),
    /// A type that the query names.
    DataType(&'a DataType),
    /// The engine of a table that it creates.
    Storage(&'a str),
}

/// All that a query uses; each list is in order, without repetition.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct QueryUses {
    /// Databases.
    pub databases: BTreeSet<String>,
    /// Tables, as `database.table`.
    pub tables: BTreeSet<String>,
    /// Columns that are read or written, as `database.table.column`.
    pub columns: BTreeSet<String>,
    /// Projections that are read, as `database.table.projection`.
    pub projections: BTreeSet<String>,
    /// Views, as `database.view`.
    pub views: BTreeSet<String>,
    /// Scalar functions by their own names.
    pub functions: BTreeSet<String>,
    /// Aggregate functions by their own names, without combinators.
    pub aggregate_functions: BTreeSet<String>,
    /// Combinators of aggregate functions.
    pub aggregate_function_combinators: BTreeSet<String>,
    /// Table functions.
    pub table_functions: BTreeSet<String>,
    /// Families of types: `Nullable(DateTime('UTC'))` is `DateTime` and `Nullable`.
    pub data_type_families: BTreeSet<String>,
    /// Engines of tables that are created.
    pub storages: BTreeSet<String>,
    /// Whether it may ask a dictionary's source while it runs, and wait for the answer.
    pub asks_sources: bool,
}

impl QueryUses {
    /// Takes note of something.
    pub fn note(&mut self, used: Used<'_>) {
        match used {
            Used::Function(name) => {
                self.functions.insert(canonical_name(name).unwrap_or(name).to_owned());
            }
            Used::AggregateFunction(name) => match aggregate_name_parts(name) {
                Some((name, combinators)) => {
                    self.aggregate_functions.insert(name.to_owned());
                    self.aggregate_function_combinators.extend(combinators.into_iter().map(str::to_owned));
                }
                None => {
                    self.aggregate_functions.insert(canonical_name(name).unwrap_or(name).to_owned());
                }
            },
            Used::TableFunction(name) => {
                self.table_functions.insert(name.to_owned());
            }
            Used::Table(database, table) => {
                self.databases.insert(database.to_owned());
                self.tables.insert(format!("{database}.{table}"));
            }
            Used::View(database, view) => {
                self.databases.insert(database.to_owned());
                self.views.insert(format!("{database}.{view}"));
            }
            Used::DataType(data_type) => self.note_type(data_type),
            Used::Storage(engine) => {
                self.storages.insert(engine.to_owned());
            }
        }
    }

    fn note_type(&mut self, data_type: &DataType) {
        let text = data_type.to_string();
        self.data_type_families.insert(text.split('(').next().unwrap_or_default().to_owned());
        match data_type {
            DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
                self.note_type(inner)
            }
            DataType::Map(key, value) => {
                self.note_type(key);
                self.note_type(value);
            }
            DataType::Tuple(elements) => elements.iter().for_each(|element| self.note_type(&element.data_type)),
            _ => {}
        }
    }

    /// Takes note of all that another part of the query uses.
    pub fn add(&mut self, other: Self) {
        let Self {
            mut databases,
            mut tables,
            mut columns,
            mut projections,
            mut views,
            mut functions,
            mut aggregate_functions,
            mut aggregate_function_combinators,
            mut table_functions,
            mut data_type_families,
            mut storages,
            asks_sources,
        } = other;
        self.asks_sources |= asks_sources;
        self.databases.append(&mut databases);
        self.tables.append(&mut tables);
        self.columns.append(&mut columns);
        self.projections.append(&mut projections);
        self.views.append(&mut views);
        self.functions.append(&mut functions);
        self.aggregate_functions.append(&mut aggregate_functions);
        self.aggregate_function_combinators.append(&mut aggregate_function_combinators);
        self.table_functions.append(&mut table_functions);
        self.data_type_families.append(&mut data_type_families);
        self.storages.append(&mut storages);
    }

    /// Takes note of the columns that a plan reads.
    pub fn note_columns(&mut self, plan: &Plan) {
        if let Plan::Scan(scan) = plan {
            let (database, table) = (scan.table.database(), scan.table.name());
            self.columns.extend(scan.schema.fields.iter().map(|(name, _)| format!("{database}.{table}.{name}")));
        }
        plan.inputs().for_each(|input| self.note_columns(input));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let mut uses = QueryUses::default();
        uses.note(Used::AggregateFunction("sumOrNullIf"));
        uses.note(Used::AggregateFunction("row_number"));
        uses.note(Used::Function("SUBSTR"));
        let data_type =
            DataType::parse("Map(LowCardinality(String), Nullable(DateTime64(3, 'Europe/Berlin')))").unwrap();
        uses.note(Used::DataType(&data_type));
        uses.note(Used::Table("d", "t"));
        let list = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(list(&uses.aggregate_functions), "row_number sum");
        assert_eq!(list(&uses.aggregate_function_combinators), "If OrNull");
        assert_eq!(list(&uses.functions), "substring");
        assert_eq!(list(&uses.data_type_families), "DateTime64 LowCardinality Map Nullable String");
        assert_eq!((list(&uses.databases), list(&uses.tables)), ("d".to_owned(), "d.t".to_owned()));
    }
}
