//! DESCRIBE and EXISTS.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{Catalog, ColumnDescription, TableMetadata, describe_query, describe_table_function};
use squall_sql::ast::{self, DescribeTarget, DescribedObject};
use squall_storage::{TEMPORARY_DATABASE, TableHandle};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value};

use super::show;
use crate::access::Privilege;
use crate::query::Answer;
use crate::query::plan::catalog::QueryCatalog;
use crate::query::plan::planning;
use crate::query::statement::{identifier, stored_table_name, table_name, temporary_table_name};
use crate::session::Session;
use crate::system::{default_expression, default_kind, quote};

/// A result of one block.
pub(in crate::query) fn answer<'a>(columns: impl IntoIterator<Item = (&'a str, Column)>) -> Result<Answer> {
    let block = Block::from_columns(columns)?;
    let schema = block.schema().clone();
    Ok(Answer::Blocks(vec![block], schema))
}

/// Runs DESCRIBE.
pub(in crate::query) async fn describe(
    session: &Session,
    statement: &ast::Describe,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let columns = match &statement.target {
        DescribeTarget::Table(name) if is_file(session, name)? => {
            let query = show::query(&format!("SELECT * FROM {}", quote(&identifier(session, &name.table)?)))?;
            columns_of(&*planning::with_planner(session, context, &query, describe_query).await?)
        }
        DescribeTarget::Table(name) => {
            let (database, table) = table_name(session, name)?;
            session.access.check_show_columns(&database, &table)?;
            let table = if database == TEMPORARY_DATABASE {
                let own: Arc<dyn TableMetadata> =
                    Arc::new(TableHandle(session.databases_of(&database).table(&database, &table)?));
                own
            } else {
                QueryCatalog::new(session).table(Some(&database), &table)?
            };
            if table.view_query().is_some() && table.columns().is_empty() {
                return Err(Error::new(
                    ErrorCode::UNSUPPORTED_METHOD,
                    "Cannot infer table schema for the parameterized view when no query parameters are provided",
                ));
            }
            let columns = table.columns();
            columns[..columns.len() - table.virtual_columns()].to_vec()
        }
        DescribeTarget::Query(query) => {
            columns_of(&*planning::with_planner(session, context, &**query, describe_query).await?)
        }
        DescribeTarget::Function(function) => {
            planning::with_planner(session, context, function, describe_table_function).await?
        }
        DescribeTarget::FilesystemCache(_) => return Err(Error::not_implemented("DESCRIBE FILESYSTEM CACHE")),
    };
    let settings = &session.settings;
    let mut rows: Vec<Described> = columns.into_iter().map(Described::own).collect();
    if settings.describe_include_virtual_columns && matches!(statement.target, DescribeTarget::Table(_)) {
        let name_type = DataType::LowCardinality(Arc::new(DataType::String));
        let names = ["_table", "_database"].into_iter();
        let columns = columns_of(&Schema::new(names.map(|name| (name, name_type.clone()))));
        rows.extend(columns.into_iter().map(|column| Described { is_virtual: true, ..Described::own(column) }));
    }
    if settings.describe_include_subcolumns {
        let of: Vec<ColumnDescription> = rows.iter().map(|row| row.column.clone()).collect();
        for column in of {
            let mut found = Vec::new();
            subcolumns(&column.name, &column.data_type, 0, &mut found);
            let found = found.into_iter().map(|Subcolumn { name, data_type, is_structure }| {
                let codec = column.codec.clone().filter(|_| !is_structure);
                let own = ColumnDescription { name: name.into(), data_type, default: None, codec, ..column.clone() };
                Described { is_subcolumn: true, ..Described::own(own) }
            });
            rows.extend(found);
        }
    }
    let strings =
        |of: &dyn Fn(&ColumnDescription) -> String| Column::from_strings(rows.iter().map(|row| of(&row.column)));
    let data_type = |column: &ColumnDescription| match settings.print_pretty_type_names {
        true => column.data_type.name_in_lines(),
        false => column.data_type.to_string(),
    };
    let mut shown = vec![("name", strings(&|column| column.name.to_string())), ("type", strings(&data_type))];
    if !settings.describe_compact_output {
        shown.extend([
            ("default_type", strings(&|column| default_kind(column).to_owned())),
            ("default_expression", strings(&|column| default_expression(column).to_owned())),
            ("comment", strings(&|column| column.comment.to_string())),
            ("codec_expression", strings(&|column| column.codec.as_deref().unwrap_or_default().to_owned())),
            ("ttl_expression", strings(&|column| column.ttl.as_deref().unwrap_or_default().to_owned())),
        ]);
    }
    let flags = |of: &dyn Fn(&Described) -> bool| {
        let flags = rows.iter().map(|row| u8::from(of(row))).collect();
        Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::UInt8, flags)
    };
    if settings.describe_include_subcolumns {
        shown.push(("is_subcolumn", flags(&|row| row.is_subcolumn)));
    }
    if settings.describe_include_virtual_columns {
        shown.push(("is_virtual", flags(&|row| row.is_virtual)));
    }
    answer(shown)
}

/// A row of DESCRIBE.
struct Described {
    column: ColumnDescription,
    is_subcolumn: bool,
    is_virtual: bool,
}

impl Described {
    fn own(column: ColumnDescription) -> Self {
        Self { column, is_subcolumn: false, is_virtual: false }
    }
}

/// A subcolumn.
struct Subcolumn {
    name: String,
    data_type: DataType,
    /// Whether it says where values are, rather than what: the column's codec is not for such.
    is_structure: bool,
}

impl Subcolumn {
    fn new(name: String, data_type: DataType) -> Self {
        Self { name, data_type, is_structure: false }
    }

    fn of_structure(name: String, data_type: DataType) -> Self {
        Self { is_structure: true, ..Self::new(name, data_type) }
    }
}

/// The subcolumns of a column, each before its own; an array's are arrays.
fn subcolumns(name: &str, data_type: &DataType, level: usize, found: &mut Vec<Subcolumn>) {
    let in_arrays = |data_type: DataType| (0..level).fold(data_type, |item, _| DataType::Array(Arc::new(item)));
    match data_type {
        DataType::String => found.push(Subcolumn::new(format!("{name}.size"), in_arrays(DataType::UInt64))),
        DataType::Nullable(inner) if **inner == DataType::String => {
            found.push(Subcolumn::of_structure(format!("{name}.null"), in_arrays(DataType::UInt8)));
            found.push(Subcolumn::new(format!("{name}.size"), in_arrays(DataType::UInt64.to_nullable())));
        }
        DataType::Nullable(inner) => {
            found.push(Subcolumn::of_structure(format!("{name}.null"), in_arrays(DataType::UInt8)));
            subcolumns(name, inner, level, found);
        }
        DataType::Array(item) => {
            found.push(Subcolumn::of_structure(format!("{name}.size{level}"), in_arrays(DataType::UInt64)));
            subcolumns(name, item, level + 1, found);
        }
        DataType::Map(key, value) => {
            found.push(Subcolumn::of_structure(format!("{name}.size{level}"), in_arrays(DataType::UInt64)));
            for (part, data_type) in [("keys", key), ("values", value)] {
                let name = format!("{name}.{part}");
                found.push(Subcolumn::new(name.clone(), in_arrays(DataType::Array(data_type.clone()))));
                if **data_type == DataType::String {
                    found.push(Subcolumn::new(format!("{name}.size"), in_arrays(DataType::array(DataType::UInt64))));
                }
            }
        }
        DataType::Tuple(elements) => {
            for (at, element) in elements.iter().enumerate() {
                let part = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                let name = format!("{name}.{part}");
                found.push(Subcolumn::new(name.clone(), in_arrays(element.data_type.clone())));
                subcolumns(&name, &element.data_type, level, found);
            }
        }
        DataType::Variant(alternatives) => {
            for one in alternatives.iter() {
                let name = format!("{name}.{one}");
                found.push(Subcolumn::new(name.clone(), in_arrays(one.alternative())));
                if *one == DataType::String {
                    found.push(Subcolumn::new(format!("{name}.size"), in_arrays(DataType::UInt64.to_nullable())));
                }
                if !one.can_be_inside_nullable() {
                    subcolumns(&name, one, level, found);
                }
            }
            let nullable = alternatives.iter().filter(|one| one.can_be_inside_nullable());
            found.extend(nullable.map(|one| Subcolumn::new(format!("{name}.{one}.null"), in_arrays(DataType::UInt8))));
        }
        DataType::Json(json) => {
            for (path, data_type) in json.typed.iter() {
                let name = format!("{name}.{path}");
                found.push(Subcolumn::new(name.clone(), in_arrays(data_type.clone())));
                subcolumns(&name, data_type, level, found);
            }
        }
        _ => {}
    }
}

/// Names, without the column's own, and types of the subcolumns of a column of a type.
pub fn subcolumns_of(data_type: &DataType) -> Vec<(String, DataType)> {
    let mut found = Vec::new();
    subcolumns("", data_type, 0, &mut found);
    found.into_iter().map(|one| (one.name.trim_start_matches('.').to_owned(), one.data_type)).collect()
}

/// Whether a name means a file, since no table has it.
fn is_file(session: &Session, name: &ast::TableName) -> Result<bool> {
    let is_table = |table: &str| session.server.databases.has_table(&session.database, table);
    Ok(session.server.is_local() && name.database.is_none() && !is_table(&identifier(session, &name.table)?))
}

fn columns_of(schema: &Schema) -> Vec<ColumnDescription> {
    let described =
        schema.fields.iter().map(|(name, data_type)| ColumnDescription::new(name.clone(), data_type.clone()));
    described.collect()
}

/// Runs EXISTS.
pub(in crate::query) fn exists(session: &Session, statement: &ast::Exists) -> Result<Answer> {
    let (databases, access) = (&session.server.databases, &session.access);
    let exists = match statement.kind {
        _ if statement.temporary => {
            let (_, table) = temporary_table_name(session, &statement.name)?;
            session.temporary_tables.has(&table)
        }
        DescribedObject::Database => {
            let database = identifier(session, &statement.name.table)?;
            access.check_database(&database)?;
            databases.has_database(&database)
        }
        DescribedObject::Table | DescribedObject::View => {
            let (database, table) = stored_table_name(session, &statement.name)?;
            if !access.may_show_table(&database, &table) {
                access.check(Privilege::ShowTables, &[&database, &table])?;
            }
            let found = databases.table(&database, &table).ok();
            found.is_some_and(|table| statement.kind == DescribedObject::Table || table.is_view())
        }
        DescribedObject::Dictionary => {
            let (database, name) = table_name(session, &statement.name)?;
            access.check(Privilege::ShowDictionaries, &[&database, &name])?;
            databases.dictionary(&database, &name).is_some()
        }
    };
    answer([("result", Column::constant(DataType::UInt8, &Value::UInt64(exists.into()), 1)?)])
}
