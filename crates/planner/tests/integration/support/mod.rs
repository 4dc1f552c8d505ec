//! A catalog of a few empty tables, and a runner that is just enough for subqueries over them.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)] // Every test uses a part of it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::BooleanArray;
use squall_functions::{FunctionContext, GroupIds, Moment};
use squall_planner::{
    Catalog, ColumnDefault, ColumnDescription, DefaultKind, Plan, PlannerContext, SubqueryRunner, TableMetadata,
    evaluate,
};
use squall_sql::ast;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Settings, Value};

#[derive(Debug)]
pub struct Table {
    pub database: &'static str,
    pub name: String,
    pub engine: &'static str,
    pub columns: Vec<ColumnDescription>,
    pub rows: Option<u64>,
}

impl TableMetadata for Table {
    fn database(&self) -> &str {
        self.database
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn engine(&self) -> &str {
        self.engine
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn rows(&self) -> Option<u64> {
        self.rows
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub fn columns(structure: &str) -> Vec<ColumnDescription> {
    let DataType::Tuple(elements) = DataType::parse(&format!("Tuple({structure})")).unwrap() else {
        panic!("{structure}")
    };
    elements
        .iter()
        .map(|element| ColumnDescription::new(element.name.clone().unwrap(), element.data_type.clone()))
        .collect()
}

pub fn default(kind: DefaultKind, expression: &str) -> Option<ColumnDefault> {
    Some(ColumnDefault { kind, expression: expression.into() })
}

pub struct Tables {
    tables: Vec<Arc<Table>>,
    view: Arc<View>,
}

/// A view of the database `default`.
#[derive(Debug)]
struct View {
    columns: Vec<ColumnDescription>,
    query: Arc<ast::Query>,
}

impl TableMetadata for View {
    fn database(&self) -> &str {
        "default"
    }
    fn name(&self) -> &str {
        "v"
    }
    fn engine(&self) -> &str {
        "View"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn view_query(&self) -> Option<&Arc<ast::Query>> {
        Some(&self.query)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Tables {
    pub fn new() -> Self {
        let table = |database, name: &str, structure: &str| {
            Arc::new(Table {
                database,
                name: name.into(),
                engine: "MergeTree",
                columns: columns(structure),
                rows: Some(0),
            })
        };
        let mut with_defaults = columns("id UInt32, day Date, name String, low String, code UInt64");
        with_defaults[2].default = default(DefaultKind::Default, "toString(id)");
        with_defaults[3].default = default(DefaultKind::Materialized, "lower(name)");
        with_defaults[4].default = default(DefaultKind::Alias, "id * 2");
        let tables = vec![
            table(
                "default",
                "t",
                "a UInt8, b Int32, c String, d Date, e DateTime, f Float64, n Nullable(Int32), lc LowCardinality(String), \
                 arr Array(UInt16), tup Tuple(x UInt8, y String)",
            ),
            table("default", "u", "a UInt8, k Int64, s String"),
            table("d", "t", "x UInt8, y UInt16"),
            table("system", "one", "dummy UInt8"),
            Arc::new(Table {
                database: "default",
                name: "w".into(),
                engine: "MergeTree",
                columns: with_defaults,
                rows: None,
            }),
        ];
        let query = Arc::new(query("SELECT a, b + 1 AS b1 FROM t WHERE a > 1"));
        let view = Arc::new(View { columns: columns("a UInt8, b1 Int64"), query });
        Self { tables, view }
    }
}

impl Catalog for Tables {
    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        let database = database.unwrap_or("default");
        if !self.tables.iter().any(|known| known.database == database) {
            return Err(Error::new(ErrorCode::UNKNOWN_DATABASE, format!("Database {database} does not exist")));
        }
        if database == self.view.database() && table == self.view.name() {
            return Ok(self.view.clone());
        }
        let found = self.tables.iter().find(|known| known.database == database && known.name == table);
        match found {
            Some(table) => Ok(table.clone()),
            None => Err(Error::new(ErrorCode::UNKNOWN_TABLE, format!("Table {database}.{table} does not exist"))),
        }
    }

    fn tables(&self, database: &str) -> Result<Vec<String>> {
        let tables = self.tables.iter().filter(|table| table.database == database);
        let mut names: Vec<String> = tables.map(|table| table.name.clone()).collect();
        names.sort();
        Ok(names)
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &[Value],
        _: &PlannerContext<'_>,
    ) -> Result<Arc<dyn TableMetadata>> {
        match name {
            "numbers" | "numbers_mt" if arguments.iter().all(|argument| argument.as_u64().is_some()) => {
                Ok(Arc::new(Table {
                    database: "_table_function",
                    name: name.into(),
                    engine: "SystemNumbers",
                    columns: columns("number UInt64"),
                    rows: arguments.first().and_then(Value::as_u64),
                }))
            }
            "numbers" => Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type String expression, must be numeric type",
            )),
            _ => Err(Error::new(ErrorCode::UNKNOWN_FUNCTION, format!("Unknown table function {name}"))),
        }
    }
}

pub fn function_context() -> FunctionContext {
    FunctionContext {
        moment: Moment::new(1_700_000_000_000_000_000, 1, "default".into(), "".into()),
        current_database: "default".into(),
        host_name: "localhost".into(),
        server_version: "26.9.2.1".into(),
        ..FunctionContext::outside_queries("UTC")
    }
}

pub fn query(text: &str) -> ast::Query {
    try_query(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

pub fn try_query(text: &str) -> Result<ast::Query> {
    match squall_sql::parse(text, &squall_sql::ParserLimits::default()) {
        Ok(ast::Statement::Query(query)) => Ok(*query),
        Ok(_) => Err(Error::logical("not a query")),
        Err(error) => Err(Error::new(ErrorCode(i32::from(error.code)), error.message)),
    }
}

/// Everything that planning needs, owned.
pub struct World {
    pub tables: Tables,
    pub settings: Settings,
    pub parameters: HashMap<String, String>,
}

impl World {
    pub fn new() -> Self {
        let parameters = [("x", "5"), ("s", "abc"), ("t", "u"), ("c", "a")];
        Self {
            tables: Tables::new(),
            settings: Settings::default(),
            parameters: parameters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        }
    }

    pub fn context(&self) -> PlannerContext<'_> {
        PlannerContext {
            catalog: &self.tables,
            settings: &self.settings,
            functions: function_context(),
            parameters: &self.parameters,
            subqueries: &EmptyTables,
        }
    }

    pub fn plan(&self, text: &str) -> Result<Plan> {
        squall_planner::plan_query(&try_query(text)?, &self.context())
    }

    pub fn analyze(&self, text: &str) -> Result<Plan> {
        squall_planner::analyze_query(&try_query(text)?, &self.context())
    }
}

/// Runs plans over tables that are all empty.
pub struct EmptyTables;

impl SubqueryRunner for EmptyTables {
    fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        rows(&plan)
    }
}

/// The rows of a plan; sorts keep the order they find.
pub fn rows(plan: &Plan) -> Result<Vec<Block>> {
    match plan {
        Plan::Scan(scan) => Ok(numbers(scan).into_iter().collect()),
        Plan::Values { blocks, .. } => Ok(blocks.clone()),
        Plan::Filter { input, predicate } => rows(input)?
            .into_iter()
            .map(|block| {
                let condition = evaluate(predicate, &block)?;
                let mask: BooleanArray = (0..block.rows())
                    .map(|row| Some(condition.value(row).as_f64().is_some_and(|value| value != 0.0)))
                    .collect();
                block.filter(&mask)
            })
            .collect(),
        Plan::Project { input, expressions, schema } => rows(input)?
            .into_iter()
            .map(|block| {
                let columns =
                    expressions.iter().map(|expression| evaluate(expression, &block)).collect::<Result<Vec<_>>>()?;
                Ok(Block::new(schema.clone(), columns, block.rows()))
            })
            .collect(),
        Plan::Aggregate(aggregate) => {
            let input = rows(&aggregate.input)?;
            if !aggregate.keys.is_empty() {
                return group(aggregate, &input);
            }
            let mut columns = Vec::new();
            for call in &aggregate.aggregates {
                let mut accumulator = call.function.accumulator();
                for block in &input {
                    let arguments =
                        call.arguments.iter().map(|argument| evaluate(argument, block)).collect::<Result<Vec<_>>>()?;
                    accumulator.update(GroupIds::Single, 1, &arguments, block.rows())?;
                }
                columns.push(accumulator.finish(1)?);
            }
            Ok(vec![Block::new(aggregate.schema.clone(), columns, 1)])
        }
        Plan::Sort { input, .. } | Plan::LimitBy { input, .. } => rows(input),
        Plan::Distinct { input } => rows(input),
        Plan::Fill(fill) => rows(&fill.input),
        Plan::Limit { input, offset, limit, .. } => {
            let mut skip = usize::try_from(*offset).unwrap();
            let mut left = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
            let mut out = Vec::new();
            for block in rows(input)? {
                let from = skip.min(block.rows());
                skip -= from;
                let count = left.min(block.rows() - from);
                left -= count;
                out.push(block.slice(from, count));
            }
            Ok(out)
        }
        Plan::Union { inputs, schema } => {
            let mut out = Vec::new();
            for input in inputs {
                out.extend(rows(input)?.into_iter().map(|block| block.with_schema(schema.clone())));
            }
            Ok(out)
        }
        Plan::Join(_) | Plan::CommonSubplan { .. } | Plan::CommonRows(_) | Plan::LateColumns(_) => {
            Err(Error::logical("a step that is beyond this runner"))
        }
        Plan::Window(squall_planner::Window { input, .. }) | Plan::ArrayJoin { input, .. } => {
            let is_empty = rows(input)?.iter().all(Block::is_empty);
            if is_empty { Ok(Vec::new()) } else { Err(Error::logical("a step that is beyond this runner")) }
        }
    }
}

/// Groups rows the slow way.
fn group(aggregate: &squall_planner::Aggregate, input: &[Block]) -> Result<Vec<Block>> {
    let mut groups: Vec<Vec<Value>> = Vec::new();
    let mut accumulators: Vec<_> = aggregate.aggregates.iter().map(|call| call.function.accumulator()).collect();
    for block in input {
        let keys = aggregate.keys.iter().map(|key| evaluate(key, block)).collect::<Result<Vec<_>>>()?;
        let ids: Vec<u32> = (0..block.rows())
            .map(|row| {
                let values: Vec<Value> = keys.iter().map(|key| key.value(row)).collect();
                let known = groups.iter().position(|group| *group == values);
                known.unwrap_or_else(|| {
                    groups.push(values);
                    groups.len() - 1
                }) as u32
            })
            .collect();
        for (call, accumulator) in aggregate.aggregates.iter().zip(&mut accumulators) {
            let arguments =
                call.arguments.iter().map(|argument| evaluate(argument, block)).collect::<Result<Vec<_>>>()?;
            accumulator.update(GroupIds::Each(&ids), groups.len(), &arguments, block.rows())?;
        }
    }
    let mut columns = Vec::new();
    for (at, key) in aggregate.keys.iter().enumerate() {
        let mut builder = squall_types::ColumnBuilder::new(key.data_type().clone());
        for group in &groups {
            builder.append(&group[at])?;
        }
        columns.push(builder.finish()?);
    }
    for accumulator in accumulators {
        columns.push(accumulator.finish(groups.len())?);
    }
    Ok(vec![Block::new(aggregate.schema.clone(), columns, groups.len())])
}

fn numbers(scan: &squall_planner::Scan) -> Option<Block> {
    let table = scan.table.as_any().downcast_ref::<Table>()?;
    if table.engine != "SystemNumbers" {
        return (table.name == "one").then(|| one(scan));
    }
    let count = table.rows.unwrap_or(0);
    let values: Vec<u64> = (0..count).collect();
    let columns = scan.columns.iter();
    let columns =
        columns.map(|_| Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values.clone()));
    let block = Block::new(scan.schema.clone(), columns.collect(), values.len());
    Some(match &scan.predicate {
        Some(predicate) => {
            let condition = evaluate(predicate, &block).unwrap();
            let mask: BooleanArray = (0..block.rows())
                .map(|row| Some(condition.value(row).as_f64().is_some_and(|value| value != 0.0)))
                .collect();
            block.filter(&mask).unwrap()
        }
        None => block,
    })
}

fn one(scan: &squall_planner::Scan) -> Block {
    let columns = scan.columns.iter();
    let columns = columns.map(|_| Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::UInt8, vec![0]));
    Block::new(scan.schema.clone(), columns.collect(), 1)
}
