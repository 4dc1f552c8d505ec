//! The tree as text, one node a line, in the shape that ClickHouse's `EXPLAIN AST` has: its names of nodes, its order of children.

use crate::ast::{
    AccessDefinition, AlterCommand, AlterTable, Assignment, Check, CheckTarget, ColumnDeclaration, ColumnDefaultKind,
    ColumnTransformer, CreateSource, CreateTable, CreateView, DataType, DataTypeArgument, Describe, DescribeTarget,
    DescribedObject, DictionaryDefinition, Drop, DropAction, DropTarget, Explain, Expression, ExpressionKind,
    FrameBound, From, FromStep, Function, FunctionBody, GroupBy, Identifier, Insert, InsertSource, InsertTarget,
    JoinConstraint, KeyValue, KeyValueValue, KillMode, Lambda, Literal, MatchedColumns, Matcher, OrderBy, OrderByItem,
    Over, PartitionSelector, Placement, ProjectionBody, Query, QueryBody, Ratio, Select, SetOperation, SetOperator,
    SetQuantifier, ShowKind, SortingKey, Statement, Storage, TableElements, TableExpression, TableName, TableSource,
    TtlAction, TtlElement, ViewKind, WindowDefinition, WithItem,
};
use crate::format::{format_data_type, format_float, format_literal};

/// The tree of a statement, as `EXPLAIN AST` prints it: a line a node, children one space deeper.
pub fn dump(statement: &Statement) -> String {
    let mut out = String::new();
    write(&statement_node(statement), 0, &mut out);
    out
}

/// A node with its children.
struct Node {
    label: String,
    children: Vec<Node>,
}

fn write(node: &Node, depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push(' ');
    }
    out.push_str(&node.label);
    if !node.children.is_empty() {
        out.push_str(&format!(" (children {})", node.children.len()));
    }
    out.push('\n');
    for child in &node.children {
        write(child, depth + 1, out);
    }
}

fn leaf(label: impl Into<String>) -> Node {
    Node { label: label.into(), children: Vec::new() }
}

fn node(label: impl Into<String>, children: Vec<Node>) -> Node {
    Node { label: label.into(), children }
}

fn list(children: Vec<Node>) -> Node {
    node("ExpressionList", children)
}

fn identifier(name: &Identifier) -> Node {
    leaf(format!("Identifier {}", name.value))
}

/// One identifier for the table, or two when a database is written.
fn names(name: &TableName) -> Vec<Node> {
    name.database.iter().chain([&name.table]).map(identifier).collect()
}

/// `database table` with one space between, whether there is a database or not.
fn title(name: &TableName) -> String {
    format!("{} {}", name.database.as_ref().map_or("", |d| d.value.as_str()), name.table.value)
}

fn dotted(name: &TableName) -> String {
    match &name.database {
        Some(database) => format!("{}.{}", database.value, name.table.value),
        None => name.table.value.clone(),
    }
}

/// A literal with its type: `UInt64_1`, `'text'`, `Array_[UInt64_1]`.
fn literal_text(literal: &Literal) -> String {
    let items = |items: &[Literal]| items.iter().map(literal_text).collect::<Vec<_>>().join(", ");
    match literal {
        Literal::Null => "NULL".to_string(),
        Literal::Bool(value) => format!("Bool_{}", u8::from(*value)),
        Literal::UInt64(value) => format!("UInt64_{value}"),
        Literal::Int64(value) => format!("Int64_{value}"),
        Literal::Float64(value) => format!("Float64_{}", format_float(value.0).trim_end_matches('.')),
        Literal::String(_) => format_literal(literal),
        Literal::Array(values) => format!("Array_[{}]", items(values)),
        Literal::Tuple(values) => format!("Tuple_({})", items(values)),
        Literal::Map(_) => format!("Map_{}", format_literal(literal)),
    }
}

fn literal(value: &Literal) -> Node {
    leaf(format!("Literal {}", literal_text(value)))
}

fn text(value: &str) -> Node {
    literal(&Literal::string(value))
}

fn expressions(items: &[Expression]) -> Vec<Node> {
    items.iter().map(expression).collect()
}

fn expression(expression: &Expression) -> Node {
    let mut node = match &expression.kind {
        ExpressionKind::Literal(value) => literal(value),
        ExpressionKind::Identifier(parts) => leaf(format!("Identifier {}", compound(parts))),
        ExpressionKind::Function(call) => function(call),
        ExpressionKind::Lambda(value) => lambda(value),
        ExpressionKind::Subquery(value) => node("Subquery", vec![query(value)]),
        ExpressionKind::Parameter(parameter) => {
            leaf(format!("QueryParameter {}:{}", parameter.name, parameter.data_type))
        }
        ExpressionKind::Matcher(value) => matcher(value),
    };
    if let Some(alias) = &expression.alias {
        node.label.push_str(&format!(" (alias {})", alias.value));
    }
    node
}

fn compound(parts: &[Identifier]) -> String {
    parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

fn function(call: &Function) -> Node {
    let view = matches!(call.name.as_str(), "view" | "viewIfPermitted");
    let mut arguments: Vec<Node> = call
        .arguments
        .iter()
        .map(|argument| match &argument.kind {
            ExpressionKind::Subquery(value) if view => query(value),
            _ => expression(argument),
        })
        .collect();
    if !call.settings.is_empty() {
        arguments.push(leaf("Set"));
    }
    let mut children = vec![list(arguments)];
    if let Some(parameters) = &call.parameters {
        children.push(list(expressions(parameters)));
    }
    if let Some(Over::Definition(definition)) = call.over.as_deref() {
        children.push(window(definition));
    }
    node(format!("Function {}", call.name), children)
}

/// An engine, a codec, a type of index: nothing below it when it has no arguments.
fn bare_function(call: &Function) -> Node {
    if call.arguments.is_empty() { leaf(format!("Function {}", call.name)) } else { function(call) }
}

fn lambda(lambda: &Lambda) -> Node {
    let parameters = lambda.parameters.iter().map(identifier).collect();
    node("Function lambda", vec![list(vec![node("Function tuple", vec![list(parameters)]), expression(&lambda.body)])])
}

fn matcher(matcher: &Matcher) -> Node {
    let qualified = !matcher.qualifier.is_empty();
    let mut children = Vec::new();
    if qualified {
        children.push(leaf(format!("Identifier {}", compound(&matcher.qualifier))));
    }
    let label = match &matcher.columns {
        MatchedColumns::All => "Asterisk",
        MatchedColumns::Regexp(_) => "ColumnsRegexpMatcher",
        MatchedColumns::List(columns) => {
            children.push(list(expressions(columns)));
            "ColumnsListMatcher"
        }
    };
    if !matcher.transformers.is_empty() {
        let transformers = matcher.transformers.iter().map(transformer).collect();
        children.push(node("ColumnsTransformerList", transformers));
    }
    node(if qualified { format!("Qualified{label}") } else { label.to_string() }, children)
}

fn transformer(transformer: &ColumnTransformer) -> Node {
    match transformer {
        ColumnTransformer::ApplyFunction { .. } | ColumnTransformer::ApplyLambda { .. } => {
            leaf("ColumnsApplyTransformer")
        }
        ColumnTransformer::Except { columns, .. } => {
            node("ColumnsExceptTransformer", columns.iter().map(identifier).collect())
        }
        ColumnTransformer::ExceptRegexp(_) => leaf("ColumnsExceptTransformer"),
        ColumnTransformer::Replace { items, .. } => {
            let replacement =
                |item: &Expression| node("ColumnsReplaceTransformer::Replacement", vec![expression(item)]);
            node("ColumnsReplaceTransformer", items.iter().map(|(item, _)| replacement(item)).collect())
        }
    }
}

fn window(window: &WindowDefinition) -> Node {
    let mut children = Vec::new();
    if !window.partition_by.is_empty() {
        children.push(list(expressions(&window.partition_by)));
    }
    if let Some(order) = &window.order_by {
        children.push(order_by(order));
    }
    for bound in window.frame.iter().flat_map(|frame| [&frame.begin, &frame.end]) {
        if let FrameBound::Preceding(amount) | FrameBound::Following(amount) = bound {
            children.push(expression(amount));
        }
    }
    node("WindowDefinition", children)
}

fn order_by(order: &OrderBy) -> Node {
    list(order.items.iter().map(order_by_item).collect())
}

fn order_by_item(item: &OrderByItem) -> Node {
    let mut children = vec![expression(&item.expression)];
    if let ExpressionKind::Identifier(parts) = &item.expression.kind
        && let [only] = parts.as_slice()
        && only.value.eq_ignore_ascii_case("all")
    {
        children = vec![leaf("Identifier all")];
    }
    children.extend(item.collation.iter().map(|collation| text(collation)));
    if let Some(fill) = &item.fill {
        children.extend([&fill.from, &fill.to, &fill.step, &fill.staleness].into_iter().flatten().map(expression));
    }
    node("OrderByElement", children)
}

fn query(query: &Query) -> Node {
    let mut node = union(&query.body);
    if let Some(outfile) = &query.output.outfile {
        node.children.push(expression(&outfile.file));
    }
    if let Some(format) = &query.output.format {
        node.children.push(identifier(format));
    }
    if !query.output.settings.is_empty() {
        node.children.push(leaf("Set"));
    }
    node
}

/// A body as ClickHouse has it at the top: always a union, perhaps of one.
fn union(body: &QueryBody) -> Node {
    let members = match body {
        QueryBody::SetOperation(operation) if operation.operator == SetOperator::Union => union_members(operation),
        other => vec![member(other)],
    };
    node("SelectWithUnionQuery", vec![list(members)])
}

/// The members of a union, with those of unions inside it that mean the same.
fn union_members(operation: &SetOperation) -> Vec<Node> {
    let mut members = Vec::new();
    for operand in &operation.operands {
        match operand {
            QueryBody::SetOperation(inner)
                if inner.operator == SetOperator::Union
                    && (operation.quantifier == SetQuantifier::Distinct || inner.quantifier == SetQuantifier::All) =>
            {
                members.extend(union_members(inner));
            }
            other => members.push(member(other)),
        }
    }
    members
}

fn member(body: &QueryBody) -> Node {
    match body {
        QueryBody::Select(value) => select(value),
        QueryBody::SetOperation(operation) if operation.operator == SetOperator::Union => union(body),
        QueryBody::SetOperation(operation) => {
            let wrapped = |operand: &QueryBody| match operand {
                QueryBody::Select(value) => select(value),
                other => union(other),
            };
            node("SelectIntersectExceptQuery", operation.operands.iter().map(wrapped).collect())
        }
    }
}

fn with_items(items: &[WithItem]) -> Node {
    let item = |item: &WithItem| match item {
        WithItem::Expression(value) => expression(value),
        WithItem::Table { query: value, .. } => node("WithElement", vec![node("Subquery", vec![query(value)])]),
    };
    list(items.iter().map(item).collect())
}

fn group_by(group_by: &GroupBy) -> Option<Node> {
    match group_by {
        GroupBy::All => None,
        GroupBy::Expressions(keys) | GroupBy::Rollup(keys) | GroupBy::Cube(keys) => Some(list(expressions(keys))),
        GroupBy::GroupingSets(sets) => Some(list(sets.iter().map(|set| list(expressions(set))).collect())),
    }
}

fn select(select: &Select) -> Node {
    let mut children = Vec::new();
    if !select.with.is_empty() {
        children.push(with_items(&select.with));
    }
    children.push(list(expressions(&select.projection)));
    if let Some(value) = &select.from {
        children.push(from(value));
    }
    children.extend([&select.prewhere, &select.filter].into_iter().flatten().map(expression));
    children.extend(select.group_by.iter().filter_map(group_by));
    children.extend(select.having.iter().map(expression));
    if !select.windows.is_empty() {
        let windows = select.windows.iter().map(|w| node("WindowListElement", vec![window(&w.definition)])).collect();
        children.push(list(windows));
    }
    children.extend(select.qualify.iter().map(expression));
    children.extend(select.order_by.iter().map(order_by));
    if let Some(limit_by) = &select.limit_by {
        children.extend(limit_by.offset.iter().map(expression));
        children.push(expression(&limit_by.count));
        children.push(list(expressions(&limit_by.by)));
    }
    if let Some(limit) = &select.limit {
        children.extend(limit.offset.iter().chain(&limit.count).map(expression));
    }
    if !select.settings.is_empty() {
        children.push(leaf("Set"));
    }
    if let Some(columns) = select.order_by.as_ref().and_then(|order| order.interpolate.as_ref()) {
        let columns = columns.iter().map(|item| {
            let label = format!("InterpolateElement (column {})", item.column.value);
            node(label, vec![expression(&item.expression)])
        });
        children.push(list(columns.collect()));
    }
    node("SelectQuery", children)
}

fn from(from: &From) -> Node {
    let element = |children| node("TablesInSelectQueryElement", children);
    let mut elements = Vec::new();
    if let Some(table) = &from.table {
        elements.push(element(vec![table_expression(table)]));
    }
    for step in &from.steps {
        match step {
            FromStep::ArrayJoin(join) => {
                elements.push(element(vec![node("ArrayJoin", vec![list(expressions(&join.expressions))])]));
            }
            FromStep::Join(join) => {
                let constraint = match &join.constraint {
                    JoinConstraint::None | JoinConstraint::Natural => Vec::new(),
                    JoinConstraint::On(condition) => vec![expression(condition)],
                    JoinConstraint::Using(columns) => vec![list(expressions(columns))],
                };
                elements.push(element(vec![table_expression(&join.table), node("TableJoin", constraint)]));
            }
        }
    }
    node("TablesInSelectQuery", elements)
}

fn table_expression(table: &TableExpression) -> Node {
    let mut source = match &table.source {
        TableSource::Table(name) => leaf(format!("TableIdentifier {}", dotted(name))),
        TableSource::Function(call) => function(call),
        TableSource::Subquery(value) => node("Subquery", vec![query(value)]),
    };
    if let Some(alias) = &table.alias {
        source.label.push_str(&format!(" (alias {})", alias.value));
    }
    let mut children = vec![source];
    if !table.column_aliases.is_empty() {
        children.push(list(table.column_aliases.iter().map(identifier).collect()));
    }
    if let Some(sample) = &table.sample {
        children.push(ratio(&sample.size));
        children.extend(sample.offset.iter().map(ratio));
    }
    node("TableExpression", children)
}

fn ratio(ratio: &Ratio) -> Node {
    match ratio.denominator {
        1 => leaf(format!("SampleRatio {}", ratio.numerator)),
        denominator => leaf(format!("SampleRatio {} / {denominator}", ratio.numerator)),
    }
}

fn data_type(data_type: &DataType) -> Node {
    let arguments = data_type.arguments.as_deref().unwrap_or_default();
    if data_type.name.starts_with("Enum") && !arguments.is_empty() {
        return leaf(format!("EnumDataType {}", data_type.name));
    }
    let kind = if data_type.name == "Tuple" { "TupleDataType" } else { "DataType" };
    let argument = |argument: &DataTypeArgument| match argument {
        DataTypeArgument::Type(value) => self::data_type(value),
        DataTypeArgument::Named { name, data_type } if kind == "DataType" => {
            node(format!("NameTypePair {name}"), vec![self::data_type(data_type)])
        }
        DataTypeArgument::Named { data_type, .. } => self::data_type(data_type),
        DataTypeArgument::Literal(value) => literal(value),
        DataTypeArgument::EnumValue { name, .. } => text(name),
        DataTypeArgument::Parameter { name, value } => {
            node("Function equals", vec![list(vec![leaf(format!("Identifier {name}")), literal(value)])])
        }
        DataTypeArgument::Skip(path) | DataTypeArgument::SkipRegexp(path) => text(path),
    };
    let arguments: Vec<Node> = arguments.iter().map(argument).collect();
    let children = if arguments.is_empty() { Vec::new() } else { vec![list(arguments)] };
    node(format!("{kind} {}", data_type.name), children)
}

fn column(column: &ColumnDeclaration) -> Node {
    let mut children: Vec<Node> = column.data_type.iter().map(data_type).collect();
    if let Some(default) = &column.default {
        match (&default.expression, &column.data_type) {
            (Some(value), _) => children.push(expression(value)),
            (None, Some(data_type)) if default.kind == ColumnDefaultKind::Ephemeral => {
                let name = text(&format_data_type(data_type));
                children.push(node("Function defaultValueOfTypeName", vec![list(vec![name])]));
            }
            _ => {}
        }
    }
    children.extend(column.comment.iter().map(|comment| text(comment)));
    if let Some(codec) = &column.codec {
        children.push(node("Function CODEC", vec![list(codec.iter().map(bare_function).collect())]));
    }
    if let Some(statistics) = &column.statistics {
        children.push(node("Function STATISTICS", vec![list(statistics.iter().map(bare_function).collect())]));
    }
    children.extend(column.ttl.iter().map(expression));
    if !column.settings.is_empty() {
        children.push(leaf("Set"));
    }
    node(format!("ColumnDeclaration {}", column.name.value), children)
}

fn index(index: &crate::ast::IndexDeclaration) -> Node {
    let mut children = vec![expression(&index.expression)];
    children.extend(index.index_type.iter().map(bare_function));
    node("Index", children)
}

/// One expression as it is, several as a tuple.
fn one_or_tuple(mut items: Vec<Node>) -> Option<Node> {
    if items.len() > 1 {
        return Some(node("Function tuple", vec![list(items)]));
    }
    items.pop()
}

fn projection(projection: &crate::ast::ProjectionDeclaration) -> Node {
    let children = match &projection.body {
        ProjectionBody::Index { expression: value, index_type } => vec![expression(value), bare_function(index_type)],
        ProjectionBody::Select(select) => {
            let mut children = Vec::new();
            if !select.with.is_empty() {
                children.push(with_items(&select.with));
            }
            children.push(list(expressions(&select.projection)));
            children.extend(select.filter.iter().map(expression));
            children.extend(select.group_by.iter().filter_map(group_by));
            if let Some(order) = &select.order_by {
                children.extend(one_or_tuple(order.items.iter().map(|item| expression(&item.expression)).collect()));
            }
            vec![node("ProjectionSelectQuery", children)]
        }
    };
    node("Projection", children)
}

fn elements(elements: &TableElements) -> Node {
    let mut children = Vec::new();
    if !elements.columns.is_empty() {
        children.push(list(elements.columns.iter().map(column).collect()));
    }
    if !elements.indices.is_empty() {
        children.push(list(elements.indices.iter().map(index).collect()));
    }
    if !elements.constraints.is_empty() {
        let constraints = elements.constraints.iter().map(|c| node("Constraint", vec![expression(&c.expression)]));
        children.push(list(constraints.collect()));
    }
    if !elements.projections.is_empty() {
        children.push(list(elements.projections.iter().map(projection).collect()));
    }
    node("Columns definition", children)
}

fn sorting_key(key: &SortingKey) -> Node {
    let reversed = key.items.iter().any(|item| item.descending);
    let item = |item: &crate::ast::SortingKeyItem| {
        let value = expression(&item.expression);
        if reversed { node("StorageOrderByElement", vec![value]) } else { value }
    };
    let mut items: Vec<Node> = key.items.iter().map(item).collect();
    if items.len() == 1 && (!key.tuple || !reversed) {
        return items.remove(0);
    }
    node("Function tuple", vec![list(items)])
}

fn ttl_element(element: &TtlElement) -> Node {
    let mut children = vec![expression(&element.expression)];
    children.extend(element.filter.iter().map(expression));
    if let TtlAction::Recompress(codec) = &element.action {
        children.push(node("Function CODEC", vec![list(codec.iter().map(bare_function).collect())]));
    }
    node("TTLElement", children)
}

fn ttl(elements: &[TtlElement]) -> Node {
    list(elements.iter().map(ttl_element).collect())
}

fn storage(storage: &Storage) -> Node {
    let mut children: Vec<Node> = storage.engine.iter().map(bare_function).collect();
    children.extend([&storage.partition_by, &storage.primary_key].into_iter().flatten().map(expression));
    children.extend(storage.order_by.iter().map(sorting_key));
    children.extend(storage.sample_by.iter().map(expression));
    if !storage.ttl.is_empty() {
        children.push(ttl(&storage.ttl));
    }
    if !storage.settings.is_empty() {
        children.push(leaf("Set"));
    }
    node("Storage definition", children)
}

fn create_label(name: &TableName) -> String {
    match &name.database {
        Some(database) => format!("CreateQuery {} {}", database.value, name.table.value),
        None => format!("CreateQuery {}", name.table.value),
    }
}

fn create_table(create: &CreateTable) -> Node {
    let mut children = names(&create.name);
    children.extend(create.elements.iter().map(elements));
    children.extend(create.storage.iter().map(storage));
    match &create.source {
        Some(CreateSource::Function(call)) => children.push(function(call)),
        Some(CreateSource::Query(value)) => children.push(query(value)),
        _ => {}
    }
    children.extend(create.comment.iter().map(|comment| text(comment)));
    node(create_label(&create.name), children)
}

fn create_view(create: &CreateView) -> Node {
    let mut children = names(&create.name);
    children.extend(create.elements.iter().map(elements));
    children.extend(create.query.iter().map(|value| query(value)));
    if create.kind == ViewKind::Plain {
        children.extend(create.storage.iter().map(storage));
    } else {
        children.push(node("ViewTargets", create.storage.iter().map(storage).collect()));
    }
    children.extend(create.comment.iter().map(|comment| text(comment)));
    node(create_label(&create.name), children)
}

fn key_values(pairs: &[KeyValue]) -> Node {
    let pair = |pair: &KeyValue| {
        let value = match &pair.value {
            KeyValueValue::Expression(value) => expression(value),
            KeyValueValue::Function(call) => function(call),
            KeyValueValue::Pairs(pairs) => key_values(pairs),
        };
        node("pair", vec![value])
    };
    list(pairs.iter().map(pair).collect())
}

fn dictionary(definition: &DictionaryDefinition) -> Vec<Node> {
    let attribute = |attribute: &crate::ast::DictionaryAttribute| {
        let mut children = vec![data_type(&attribute.data_type)];
        children.extend(attribute.default.iter().chain(&attribute.expression).map(expression));
        node(format!("DictionaryAttributeDeclaration {}", attribute.name.value), children)
    };
    let mut clauses = Vec::new();
    if !definition.primary_key.is_empty() {
        clauses.push(list(expressions(&definition.primary_key)));
    }
    if let Some(source) = &definition.source {
        clauses.push(node(format!("FunctionWithKeyValueArguments  {}", source.name), vec![key_values(&source.pairs)]));
    }
    if definition.lifetime.is_some() {
        clauses.push(leaf("Dictionary lifetime"));
    }
    if let Some(layout) = &definition.layout {
        clauses.push(node("Dictionary layout", vec![key_values(&layout.pairs)]));
    }
    if definition.range.is_some() {
        clauses.push(leaf("Dictionary range"));
    }
    if !definition.settings.is_empty() {
        clauses.push(leaf("Dictionary settings"));
    }
    vec![list(definition.attributes.iter().map(attribute).collect()), node("Dictionary definition", clauses)]
}

fn insert(insert: &Insert) -> Node {
    let mut children = Vec::new();
    if let InsertSource::Infile { path, compression, .. } = &insert.source {
        children.push(text(path));
        children.extend(compression.iter().map(|compression| text(compression)));
    }
    match &insert.target {
        InsertTarget::Table(name) => children.extend(names(name)),
        InsertTarget::Function(call) => children.push(function(call)),
    }
    children.extend(insert.partition_by.iter().map(expression));
    if let Some(columns) = &insert.columns {
        children.push(list(expressions(columns)));
    }
    if let InsertSource::Query(value) | InsertSource::Input { query: value, .. } = &insert.source {
        children.push(query(value));
    }
    if !insert.settings.is_empty() {
        children.push(leaf("Set"));
    }
    node("InsertQuery  ", children)
}

fn assignments(items: &[Assignment]) -> Node {
    let assignment =
        |item: &Assignment| node(format!("Assignment {}", item.column), vec![expression(&item.expression)]);
    list(items.iter().map(assignment).collect())
}

fn partition(partition: &PartitionSelector) -> Node {
    match partition {
        PartitionSelector::Value(value) | PartitionSelector::Id(value) => node("Partition", vec![expression(value)]),
        PartitionSelector::All => leaf("Partition"),
        PartitionSelector::Part(value) => expression(value),
    }
}

fn placement(placement: &Placement) -> Option<Node> {
    match placement {
        Placement::After(column) => Some(identifier(column)),
        Placement::First | Placement::Last => None,
    }
}

fn alter_command(command: &AlterCommand) -> Node {
    use AlterCommand as C;
    let mut children = Vec::new();
    let name = match command {
        C::AddColumn { column: value, placement: place, .. } => {
            children.push(column(value));
            children.extend(placement(place));
            "ADD_COLUMN"
        }
        C::ModifyColumn { column: value, placement: place, .. } => {
            children.push(column(value));
            children.extend(place.as_ref().and_then(placement));
            "MODIFY_COLUMN"
        }
        C::RemoveColumnProperty { column, .. }
        | C::ModifyColumnSetting { column, .. }
        | C::ResetColumnSetting { column, .. } => {
            children.push(leaf(format!("ColumnDeclaration {}", column.value)));
            "MODIFY_COLUMN"
        }
        C::DropColumn { column, .. } => {
            children.push(identifier(column));
            "DROP_COLUMN"
        }
        C::ClearColumn { column, partition: parts, .. } => {
            children.push(identifier(column));
            children.extend(parts.iter().map(partition));
            "DROP_COLUMN"
        }
        C::MaterializeColumn { column, partition: parts } => {
            children.push(identifier(column));
            children.extend(parts.iter().map(partition));
            "MATERIALIZE_COLUMN"
        }
        C::RenameColumn { column, to, .. } => {
            children.extend([identifier(column), identifier(to)]);
            "RENAME_COLUMN"
        }
        C::CommentColumn { column, comment, .. } => {
            children.extend([identifier(column), text(comment)]);
            "COMMENT_COLUMN"
        }
        C::ModifyComment(comment) => {
            children.push(text(comment));
            "MODIFY_COMMENT"
        }
        C::ModifyOrderBy(key) => {
            children.push(sorting_key(key));
            "MODIFY_ORDER_BY"
        }
        C::ModifySampleBy(value) => {
            children.push(expression(value));
            "MODIFY_SAMPLE_BY"
        }
        C::RemoveSampleBy => "REMOVE_SAMPLE_BY",
        C::ModifyTtl(elements) => {
            children.push(ttl(elements));
            "MODIFY_TTL"
        }
        C::RemoveTtl => "REMOVE_TTL",
        C::MaterializeTtl { partition: parts } => {
            children.extend(parts.iter().map(partition));
            "MATERIALIZE_TTL"
        }
        C::RewriteParts { partition: parts } => {
            children.extend(parts.iter().map(partition));
            "REWRITE_PARTS"
        }
        C::ModifySetting(_) => {
            children.push(leaf("Set"));
            "MODIFY_SETTING"
        }
        C::ResetSetting(settings) => {
            children.push(list(settings.iter().map(|name| leaf(format!("Identifier {name}"))).collect()));
            "RESET_SETTING"
        }
        C::ModifyQuery(value) => {
            children.push(query(value));
            "MODIFY_QUERY"
        }
        C::ModifyRefresh(_) => {
            children.push(leaf("Refresh strategy definition"));
            "MODIFY_REFRESH"
        }
        C::ModifySqlSecurity { .. } => {
            children.push(leaf("SQL SECURITY definition"));
            "MODIFY_SQL_SECURITY"
        }
        C::AddIndex { index: value, placement: place, .. } => {
            children.push(index(value));
            children.extend(placement(place));
            "ADD_INDEX"
        }
        C::DropIndex { index, .. } => {
            children.push(identifier(index));
            "DROP_INDEX"
        }
        C::ClearIndex { index, partition: parts, .. } => {
            children.push(identifier(index));
            children.extend(parts.iter().map(partition));
            "DROP_INDEX"
        }
        C::MaterializeIndex { index, partition: parts, .. } => {
            children.push(identifier(index));
            children.extend(parts.iter().map(partition));
            "MATERIALIZE_INDEX"
        }
        C::AddStatistics { .. } => "ADD_STATISTICS",
        C::ModifyStatistics { .. } => "MODIFY_STATISTICS",
        C::DropStatistics { .. } | C::ClearStatistics { .. } => "DROP_STATISTICS",
        C::MaterializeStatistics { .. } => "MATERIALIZE_STATISTICS",
        C::AddProjection { projection: value, placement: place, .. } => {
            children.push(projection(value));
            children.extend(placement(place));
            "ADD_PROJECTION"
        }
        C::DropProjection { projection, .. } => {
            children.push(identifier(projection));
            "DROP_PROJECTION"
        }
        C::ClearProjection { projection, partition: parts, .. } => {
            children.push(identifier(projection));
            children.extend(parts.iter().map(partition));
            "DROP_PROJECTION"
        }
        C::MaterializeProjection { projection, partition: parts, .. } => {
            children.push(identifier(projection));
            children.extend(parts.iter().map(partition));
            "MATERIALIZE_PROJECTION"
        }
        C::AddConstraint { constraint, .. } => {
            children.push(node("Constraint", vec![expression(&constraint.expression)]));
            "ADD_CONSTRAINT"
        }
        C::DropConstraint { constraint, .. } => {
            children.push(identifier(constraint));
            "DROP_CONSTRAINT"
        }
        C::DropPartition { partition: parts, .. } => {
            children.push(partition(parts));
            "DROP_PARTITION"
        }
        C::DropDetachedPartition(parts) => {
            children.push(partition(parts));
            "DROP_DETACHED_PARTITION"
        }
        C::ForgetPartition(parts) => {
            children.push(partition(parts));
            "FORGET_PARTITION"
        }
        C::AttachPartition { partition: parts, from } => {
            children.push(partition(parts));
            if from.is_some() { "REPLACE_PARTITION" } else { "ATTACH_PARTITION" }
        }
        C::ReplacePartition { partition: parts, .. } => {
            children.push(partition(parts));
            "REPLACE_PARTITION"
        }
        C::MovePartition { partition: parts, .. } => {
            children.push(partition(parts));
            "MOVE_PARTITION"
        }
        C::FetchPartition { partition: parts, .. } => {
            children.push(partition(parts));
            "FETCH_PARTITION"
        }
        C::Freeze { partition: parts, .. } => {
            children.extend(parts.iter().map(partition));
            if parts.is_some() { "FREEZE_PARTITION" } else { "FREEZE_ALL" }
        }
        C::Unfreeze { partition: parts, .. } => {
            children.extend(parts.iter().map(partition));
            if parts.is_some() { "UNFREEZE_PARTITION" } else { "UNFREEZE_ALL" }
        }
        C::ExportPartition { partition: parts, .. } => {
            children.push(partition(parts));
            if matches!(parts, PartitionSelector::Part(_)) { "EXPORT_PART" } else { "EXPORT_PARTITION" }
        }
        C::Delete { partition: parts, filter } => {
            children.extend(parts.iter().map(partition));
            children.push(expression(filter));
            "DELETE"
        }
        C::Update { assignments: items, partition: parts, filter } => {
            children.extend(parts.iter().map(partition));
            children.push(expression(filter));
            children.push(assignments(items));
            "UPDATE"
        }
        C::ApplyDeletedMask { partition: parts } => {
            children.extend(parts.iter().map(partition));
            "APPLY_DELETED_MASK"
        }
        C::ApplyPatches { partition: parts } => {
            children.extend(parts.iter().map(partition));
            "APPLY_PATCHES"
        }
    };
    node(format!("AlterCommand {name}"), children)
}

fn alter_table(alter: &AlterTable) -> Node {
    let mut children = vec![list(alter.commands.iter().map(alter_command).collect())];
    children.extend(names(&alter.table));
    node(format!("AlterQuery {}", title(&alter.table)), children)
}

fn drop_statement(drop: &Drop) -> Node {
    let verb = match drop.action {
        DropAction::Drop => "DropQuery",
        DropAction::Detach => "DetachQuery",
        DropAction::Truncate => "TruncateQuery",
    };
    match &drop.target {
        DropTarget::Database(name) => node(format!("{verb} {} ", name.value), vec![identifier(name)]),
        DropTarget::AllTables { database, .. } => {
            node(format!("{verb} {} ", database.value), vec![identifier(database)])
        }
        DropTarget::View(name) | DropTarget::Dictionary(name) => node(format!("{verb} {}", title(name)), names(name)),
        DropTarget::Tables(tables) => match tables.as_slice() {
            [only] => node(format!("{verb} {}", title(only)), names(only)),
            many => {
                let tables = many.iter().map(|name| leaf(format!("TableIdentifier {}", dotted(name)))).collect();
                node(format!("{verb}  "), vec![list(tables)])
            }
        },
    }
}

fn describe(describe: &Describe) -> Node {
    let source = match &describe.target {
        DescribeTarget::Table(name) => leaf(format!("TableIdentifier {}", dotted(name))),
        DescribeTarget::Function(call) => function(call),
        DescribeTarget::Query(value) => node("Subquery", vec![query(value)]),
        DescribeTarget::FilesystemCache(_) => return leaf("DescribeFilesystemCacheQuery"),
    };
    let mut children = vec![node("TableExpression", vec![source])];
    children.extend(describe.output.format.iter().map(identifier));
    if !describe.settings.is_empty() || !describe.output.settings.is_empty() {
        children.push(leaf("Set"));
    }
    node("DescribeQuery", children)
}

fn explain(explain: &Explain) -> Node {
    let mut children = Vec::new();
    if !explain.settings.is_empty() {
        children.push(leaf("Set"));
    }
    children.extend(explain.statement.iter().map(|statement| statement_node(statement)));
    if let Some((call, _)) = &explain.table_override {
        children.push(function(call));
    }
    children.extend(explain.output.format.iter().map(identifier));
    let label = match explain.kind.keywords() {
        Some(words) => format!("Explain EXPLAIN {words}"),
        None => "Explain EXPLAIN".to_string(),
    };
    node(label, children)
}

fn show(kind: &ShowKind) -> Node {
    match kind {
        ShowKind::Tables { database, .. } => node("ShowTables", database.iter().map(identifier).collect()),
        ShowKind::Databases { .. }
        | ShowKind::Clusters { .. }
        | ShowKind::Cluster(_)
        | ShowKind::Settings { .. }
        | ShowKind::Merges { .. }
        | ShowKind::FilesystemCaches => leaf("ShowTables"),
        ShowKind::Columns { .. } => leaf("ShowColumns"),
        ShowKind::Indexes { .. } => leaf("ShowIndexes"),
        ShowKind::Setting(name) => leaf(format!("ShowSetting {name}")),
        ShowKind::Engines => leaf("ShowEngineQuery"),
        ShowKind::Functions { .. } => leaf("ShowFunctions"),
        ShowKind::Processlist => leaf("ShowProcesslistQuery"),
        ShowKind::Privileges => leaf("ShowPrivilegesQuery"),
        ShowKind::Create(create) => {
            let label = match create.kind {
                DescribedObject::Table => "ShowCreateTableQuery",
                DescribedObject::View => "ShowCreateViewQuery",
                DescribedObject::Dictionary => "ShowCreateDictionaryQuery",
                DescribedObject::Database => {
                    let name = &create.name.table;
                    return node(format!("ShowCreateDatabaseQuery {} ", name.value), vec![identifier(name)]);
                }
            };
            node(format!("{label} {}", title(&create.name)), names(&create.name))
        }
        ShowKind::CreateAccess { kind, .. } => leaf(format!("SHOW CREATE {} query", kind.keywords())),
        ShowKind::Access => leaf("ShowAccessQuery"),
        ShowKind::Grants { .. } => leaf("ShowGrantsQuery"),
        ShowKind::AccessEntities { kind, .. } => leaf(format!("SHOW {}S query", kind.keywords())),
    }
}

fn statement_node(statement: &Statement) -> Node {
    match statement {
        Statement::Query(value) => query(value),
        Statement::Insert(value) => insert(value),
        Statement::Delete(delete) => {
            let mut children: Vec<Node> = delete.partition.iter().map(partition).collect();
            children.push(expression(&delete.filter));
            children.extend(names(&delete.table));
            node(format!("DeleteQuery {}", title(&delete.table)), children)
        }
        Statement::Update(update) => {
            let mut children = names(&update.table);
            children.extend(update.partition.iter().map(partition));
            children.push(expression(&update.filter));
            children.push(assignments(&update.assignments));
            node(format!("UpdateQuery {}", title(&update.table)), children)
        }
        Statement::CreateDatabase(create) => {
            let mut children = vec![identifier(&create.name)];
            children.extend(create.storage.iter().map(storage));
            children.extend(create.comment.iter().map(|comment| text(comment)));
            node(format!("CreateQuery {} ", create.name.value), children)
        }
        Statement::CreateTable(create) => create_table(create),
        Statement::CreateView(create) => create_view(create),
        Statement::CreateDictionary(create) => {
            let mut children = names(&create.name);
            children.extend(create.definition.iter().flat_map(dictionary));
            children.extend(create.comment.iter().map(|comment| text(comment)));
            node(create_label(&create.name), children)
        }
        Statement::CreateFunction(create) => {
            let mut children = vec![identifier(&create.name)];
            if let FunctionBody::Lambda(body) = &create.body {
                children.push(expression(body));
            }
            node(format!("CreateSQLFunctionQuery {}", create.name.value), children)
        }
        Statement::CreateIndex(create) => {
            let mut children = vec![index(&create.index)];
            children.extend(names(&create.table));
            node(format!("CreateIndexQuery {}", title(&create.table)), children)
        }
        Statement::CreateNamedCollection(_) => leaf("CreateNamedCollectionQuery"),
        Statement::CreateWorkload(create) => leaf(format!("CreateWorkloadQuery {}", create.name.value)),
        Statement::CreateResource(create) => leaf(format!("CreateResourceQuery {}", create.name.value)),
        Statement::AlterTable(alter) => alter_table(alter),
        Statement::AlterDatabase(alter) => {
            let commands = list(alter.commands.iter().map(alter_command).collect());
            node(format!("AlterQuery {} ", alter.database.value), vec![commands, identifier(&alter.database)])
        }
        Statement::AlterNamedCollection(_) => leaf("AlterNamedCollectionQuery"),
        Statement::Drop(drop) => drop_statement(drop),
        Statement::DropObject(drop) => {
            use crate::ast::ObjectKind as Kind;
            leaf(match drop.kind {
                Kind::Function => "DropFunctionQuery",
                Kind::Index => "DropIndexQuery",
                Kind::NamedCollection => "DropNamedCollectionQuery",
                Kind::Workload => "DropWorkloadQuery",
                Kind::Resource => "DropResourceQuery",
            })
        }
        Statement::Undrop(undrop) => node(format!("UndropQuery {}", title(&undrop.table)), names(&undrop.table)),
        Statement::Rename(rename) => {
            let children = rename.pairs.iter().flat_map(|(from, to)| names(from).into_iter().chain(names(to)));
            node("Rename", children.collect())
        }
        Statement::AccessEntity(entity) => match &entity.definition {
            AccessDefinition::User(user) => {
                let method = |method: &crate::ast::AuthenticationMethod| {
                    node("AuthenticationData", method.arguments.iter().map(|a| literal(&a.value)).collect())
                };
                node("CreateUserQuery", user.authentication.iter().map(method).collect())
            }
            AccessDefinition::Role(_) => leaf("CreateRoleQuery"),
            AccessDefinition::Quota(_) => leaf("CreateQuotaQuery"),
            AccessDefinition::RowPolicy(_) => leaf("CREATE ROW POLICY or ALTER ROW POLICY query"),
            AccessDefinition::MaskingPolicy(_) => leaf("CREATE MASKING POLICY or ALTER MASKING POLICY query"),
            AccessDefinition::SettingsProfile(_) => leaf("CreateSettingsProfileQuery"),
        },
        Statement::DropAccessEntity(drop) => leaf(format!("DROP {} query", drop.kind.keywords())),
        Statement::MoveAccessEntity(movement) => leaf(format!("MOVE {} query", movement.kind.keywords())),
        Statement::Grant(_) => leaf("GrantQuery"),
        Statement::Set(_) => leaf("Set"),
        Statement::SetRole(_) => leaf("SetRoleQuery"),
        Statement::Transaction(_) => leaf("ASTTransactionControl"),
        Statement::Use(value) => node(format!("UseQuery {}", value.database.value), vec![identifier(&value.database)]),
        Statement::Show(value) => show(&value.kind),
        Statement::Exists(exists) => {
            let label = match exists.kind {
                DescribedObject::Table => "ExistsTableQuery",
                DescribedObject::View => "ExistsViewQuery",
                DescribedObject::Dictionary => "ExistsDictionaryQuery",
                DescribedObject::Database => {
                    let name = &exists.name.table;
                    return node(format!("ExistsDatabaseQuery {} ", name.value), vec![identifier(name)]);
                }
            };
            node(format!("{label} {}", title(&exists.name)), names(&exists.name))
        }
        Statement::Describe(value) => describe(value),
        Statement::Explain(value) => explain(value),
        Statement::Kill(kill) => {
            let filter = expression(&kill.filter);
            let mode = match kill.mode {
                KillMode::Async => "ASYNC",
                KillMode::Sync => "SYNC",
                KillMode::Test => "TEST",
            };
            node(format!("KillQueryQuery {} {mode}", filter.label.replace(' ', "_")), vec![filter])
        }
        Statement::System(_) => leaf("SYSTEM query"),
        Statement::Optimize(optimize) => {
            let mut children: Vec<Node> = optimize.partition.iter().map(partition).collect();
            children.extend(names(&optimize.table));
            let mut label = format!("OptimizeQuery {}", title(&optimize.table));
            label.push_str(if optimize.with_final { "_final" } else { "" });
            label.push_str(if optimize.deduplicate.is_some() { "_deduplicate" } else { "" });
            label.push_str(if optimize.cleanup { "_cleanup" } else { "" });
            node(label, children)
        }
        Statement::Check(check) => check_node(check),
        Statement::Backup(backup) => leaf(if backup.restore { "RestoreQuery" } else { "BackupQuery" }),
        Statement::Watch(watch) => node(format!("WatchQuery_{}", title(&watch.table)), names(&watch.table)),
        Statement::ExecuteAs(execute) => {
            node("ExecuteAsQuery", execute.statement.iter().map(|statement| statement_node(statement)).collect())
        }
        Statement::Parallel(statements) => node("ParallelWithQuery", statements.iter().map(statement_node).collect()),
    }
}

fn check_node(check: &Check) -> Node {
    match &check.target {
        CheckTarget::Table { table, .. } => node(format!("CheckQuery {}", title(table)), names(table)),
        CheckTarget::AllTables => leaf("CheckAllQuery"),
        CheckTarget::Database(name) => node(format!("CheckDatabaseQuery {} ", name.value), vec![identifier(name)]),
        CheckTarget::Grant(_) => leaf("CheckGrantQuery"),
    }
}
