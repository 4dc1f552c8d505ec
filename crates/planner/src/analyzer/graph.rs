//! The expressions of one SELECT as a graph in which equal expressions are one node. Aliases that are used a thousand times
//! cost one node; equality of expressions (a selected expression and a group key) is equality of numbers. The graph knows no
//! names and no steps of a plan.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use squall_functions::{AggregateFunction, BoundFunction, BoundHigherOrder};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::correlated::OUTER;
use super::decorrelate::SubqueryKind;
use crate::plan::{Plan, WindowCallFunction, WindowFrame};

/// A node of a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct NodeId(u32);

/// What a node computes.
#[derive(Debug)]
pub(crate) enum NodeKind {
    /// A column of the SELECT's source, by the source's own numbering.
    Column(usize),
    /// One value for every row.
    Constant(Value),
    /// A function of nodes.
    Function { name: Arc<str>, function: Arc<dyn BoundFunction>, arguments: Vec<NodeId> },
    /// An aggregate over the rows of a group.
    Aggregate { call: Arc<AggregateNode>, arguments: Vec<NodeId> },
    /// `arrayJoin(array)`: one row per item.
    ArrayJoin(NodeId),
    /// An argument of the lambda that is so many lambdas deep: equal lambdas at one depth are one node, whatever their names.
    Parameter { depth: u32, at: usize },
    /// A function of a lambda. What the lambda captures comes after the function's other arguments.
    HigherOrder { call: Arc<HigherOrderNode>, operands: Vec<NodeId> },
    /// The number of the set of keys for which a row comes (ROLLUP, CUBE, GROUPING SETS).
    GroupingSet,
    /// A key as grouped rows have it, Nullable.
    GroupKey(NodeId),
    /// A subquery that reads columns of this query; the operands are these, and last what IN looks for.
    Correlated { call: Arc<CorrelatedNode>, operands: Vec<NodeId> },
    /// A function of a window: its arguments, then the keys of the partition, then those of the order.
    Window { call: Arc<WindowNode>, operands: Vec<NodeId> },
}

/// The part of a call with a lambda that is not its operands.
#[derive(Debug)]
pub(crate) struct HigherOrderNode {
    /// The function's name.
    pub name: Arc<str>,
    /// The function with its types settled.
    pub function: Arc<dyn BoundHigherOrder>,
    /// How many lambdas are around this one.
    pub depth: u32,
    /// The names and nodes of the lambda's arguments.
    pub parameters: Vec<(Arc<str>, NodeId)>,
    /// What the lambda computes.
    pub body: NodeId,
    /// How many of the operands are the function's arguments; the others are captured.
    pub arguments: usize,
}

/// The part of a subquery that is not its operands.
#[derive(Debug)]
pub(crate) struct CorrelatedNode {
    /// What it is for.
    pub kind: SubqueryKind,
    /// Its rows.
    pub plan: Plan,
}

/// The part of a window function that is not its operands.
#[derive(Debug)]
pub(crate) struct WindowNode {
    /// The call as the query's result shows it.
    pub name: Arc<str>,
    /// The function's name and parameters, which with the window and the operands make it this call and no other.
    pub identity: String,
    /// The function with its types settled.
    pub function: WindowCallFunction,
    /// How many of the operands are its arguments.
    pub arguments: usize,
    /// How many operands after them are the keys of the partition; the others are those of the order.
    pub partition_keys: usize,
    /// How each key of the order is ordered.
    pub order: Vec<WindowOrder>,
    /// The frame.
    pub frame: WindowFrame,
}

/// How a key of a window's order is ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WindowOrder {
    pub descending: bool,
    pub nulls_first: bool,
}

/// Lambdas within lambdas, at most.
pub(crate) const LAMBDA_DEPTH_MAX: u32 = 64;

impl NodeKind {
    /// Whether it is computed row by row from other nodes.
    pub fn is_call(&self) -> bool {
        match self {
            Self::Function { name, .. } => &**name != OUTER,
            Self::HigherOrder { .. } => true,
            _ => false,
        }
    }
}

/// The part of an aggregate that is not its arguments.
#[derive(Debug)]
pub(crate) struct AggregateNode {
    /// The name as the query's result shows it.
    pub name: Arc<str>,
    /// The function's name and parameters, which with the arguments make it this aggregate and no other.
    pub identity: String,
    /// The function with its types settled.
    pub function: Arc<dyn AggregateFunction>,
}

/// A node with what is known of it.
#[derive(Debug)]
pub(crate) struct Node {
    /// What it computes.
    pub kind: NodeKind,
    /// The type of its values.
    pub data_type: DataType,
    /// Whether an aggregate is in it.
    pub has_aggregate: bool,
    /// Whether a window function is in it.
    pub has_window: bool,
    /// Whether an `arrayJoin` is in it.
    pub has_array_join: bool,
    /// Whether a subquery that reads columns of this query is in it.
    pub has_subquery: bool,
    /// Whether equal input makes equal results.
    pub is_deterministic: bool,
    /// The lambdas whose arguments are in it: a bit for each depth.
    lambdas: u64,
    /// The number of nodes when written out as a tree.
    size: u64,
    /// The height of the tree.
    depth: u32,
}

/// The expressions of one SELECT.
#[derive(Debug)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    known: HashTable<NodeId>,
    hasher: DefaultHashBuilder,
    size_max: u64,
    depth_max: u32,
}

impl Graph {
    /// A graph whose expressions, written out, have at most `size_max` nodes and are at most `depth_max` deep.
    pub fn new(size_max: u64, depth_max: u64) -> Self {
        Self {
            nodes: Vec::new(),
            known: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            size_max: if size_max == 0 { u64::MAX } else { size_max },
            depth_max: u32::try_from(depth_max).ok().filter(|depth| *depth > 0).unwrap_or(DEPTH_MAX).min(DEPTH_MAX),
        }
    }

    /// A node by its number.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The type of a node's values.
    pub fn data_type(&self, id: NodeId) -> &DataType {
        &self.node(id).data_type
    }

    /// The value of a constant node.
    pub fn constant_value(&self, id: NodeId) -> Option<&Value> {
        match &self.node(id).kind {
            NodeKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The column of the source that a node is, where it is one.
    pub fn column_of(&self, id: NodeId) -> Option<usize> {
        match self.node(id).kind {
            NodeKind::Column(column) => Some(column),
            _ => None,
        }
    }

    /// The columns of the source that some expression reads, in order of their numbers.
    pub fn columns(&self) -> Vec<(usize, NodeId)> {
        let mut columns: Vec<(usize, NodeId)> = self
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(at, node)| match node.kind {
                NodeKind::Column(column) => Some((column, NodeId(at as u32))),
                _ => None,
            })
            .collect();
        columns.sort_unstable();
        columns
    }

    /// The node of a column.
    pub fn column(&mut self, column: usize, data_type: &DataType) -> NodeId {
        let hash = self.hash(&(0u8, column));
        let nodes = &self.nodes;
        let found = self
            .known
            .find(hash, |id| matches!(&nodes[id.0 as usize].kind, NodeKind::Column(known) if *known == column));
        match found {
            Some(id) => *id,
            None => self.add(hash, Node::leaf(NodeKind::Column(column), data_type.clone())),
        }
    }

    /// The node of a constant.
    pub fn constant(&mut self, value: Value, data_type: DataType) -> NodeId {
        let mut hasher = self.hasher.build_hasher();
        1u8.hash(&mut hasher);
        hash_value(&value, &mut hasher);
        let hash = hasher.finish();
        let nodes = &self.nodes;
        let found = self.known.find(hash, |id| {
            let node = &nodes[id.0 as usize];
            matches!(&node.kind, NodeKind::Constant(known) if same_value(known, &value)) && node.data_type == data_type
        });
        match found {
            Some(id) => *id,
            None => self.add(hash, Node::leaf(NodeKind::Constant(value), data_type)),
        }
    }

    /// The node of the number of a row's set of keys.
    pub fn grouping_set(&mut self) -> NodeId {
        let hash = self.hash(&8u8);
        let same = |id: &NodeId| matches!(self.node(*id).kind, NodeKind::GroupingSet);
        match self.known.find(hash, same) {
            Some(id) => *id,
            None => self.add(hash, Node::leaf(NodeKind::GroupingSet, DataType::UInt16)),
        }
    }

    /// The node of a key as grouped rows have it.
    pub fn group_key(&mut self, key: NodeId, data_type: DataType) -> NodeId {
        let hash = self.hash(&(9u8, key));
        let same = |id: &NodeId| matches!(self.node(*id).kind, NodeKind::GroupKey(known) if known == key);
        match self.known.find(hash, same) {
            Some(id) => *id,
            None => self.add(hash, Node::leaf(NodeKind::GroupKey(key), data_type)),
        }
    }

    /// The node of a subquery that reads `operands`: one of its own, as subqueries are not compared.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn correlated(
        &mut self,
        kind: SubqueryKind,
        plan: Plan,
        operands: Vec<NodeId>,
        data_type: DataType,
    ) -> Result<NodeId> {
        let call = Arc::new(CorrelatedNode { kind, plan });
        let hash = self.hash(&(10u8, Arc::as_ptr(&call).addr(), &operands[..]));
        let mut node = self.parent(&operands, NodeKind::Column(0), data_type)?;
        node.has_subquery = true;
        node.kind = NodeKind::Correlated { call, operands };
        Ok(self.add(hash, node))
    }

    /// The conditions that must all hold for a condition to hold.
    pub fn conjuncts(&self, condition: NodeId, into: &mut Vec<NodeId>) {
        match &self.node(condition).kind {
            NodeKind::Function { name, arguments, .. } if &**name == "and" => {
                arguments.iter().for_each(|argument| self.conjuncts(*argument, into));
            }
            _ => into.push(condition),
        }
    }

    /// What a node of grouped rows was before rows were grouped: a key, or the same function of keys, where there is one. The node
    /// itself otherwise.
    pub fn before_grouping(&self, id: NodeId, known: &mut HashMap<NodeId, NodeId>) -> NodeId {
        match &self.node(id).kind {
            NodeKind::GroupKey(key) => *key,
            NodeKind::Function { name, arguments, .. } => {
                if let Some(before) = known.get(&id) {
                    return *before;
                }
                let before: Vec<NodeId> =
                    arguments.iter().map(|argument| self.before_grouping(*argument, known)).collect();
                let found = if before == *arguments { None } else { self.find_function(name, &before) };
                let before = found.unwrap_or(id);
                known.insert(id, before);
                before
            }
            _ => id,
        }
    }

    /// The node of a function's call, if there is one already.
    pub fn find_function(&self, name: &str, arguments: &[NodeId]) -> Option<NodeId> {
        let hash = self.hash(&(2u8, name, arguments));
        let same = |id: &NodeId| match &self.node(*id).kind {
            NodeKind::Function { name: known, arguments: known_arguments, .. } => {
                &**known == name && known_arguments == arguments
            }
            _ => false,
        };
        self.known.find(hash, same).copied()
    }

    /// The node of a new call; [`find_function`](Self::find_function) must have found none.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn add_function(
        &mut self,
        name: Arc<str>,
        function: Arc<dyn BoundFunction>,
        arguments: Vec<NodeId>,
    ) -> Result<NodeId> {
        let hash = self.hash(&(2u8, &*name, &arguments[..]));
        let data_type = function.return_type().clone();
        let is_deterministic = function.properties().is_deterministic;
        let mut node = self.parent(&arguments, NodeKind::Column(0), data_type)?;
        node.is_deterministic &= is_deterministic;
        node.kind = NodeKind::Function { name, function, arguments };
        Ok(self.add(hash, node))
    }

    /// The node of an aggregate.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn aggregate(&mut self, call: AggregateNode, arguments: Vec<NodeId>) -> Result<NodeId> {
        let hash = self.hash(&(3u8, &*call.identity, &arguments[..]));
        let same = |id: &NodeId| match &self.node(*id).kind {
            NodeKind::Aggregate { call: known, arguments: known_arguments } => {
                known.identity == call.identity && *known_arguments == arguments
            }
            _ => false,
        };
        if let Some(id) = self.known.find(hash, same) {
            return Ok(*id);
        }
        let data_type = call.function.return_type().clone();
        let mut node = self.parent(&arguments, NodeKind::Column(0), data_type)?;
        node.has_aggregate = true;
        node.kind = NodeKind::Aggregate { call: Arc::new(call), arguments };
        Ok(self.add(hash, node))
    }

    /// The node of a window function.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn window(&mut self, call: WindowNode, operands: Vec<NodeId>) -> Result<NodeId> {
        let hash = self.hash(&(7u8, &*call.identity, &operands[..]));
        let same = |id: &NodeId| match &self.node(*id).kind {
            NodeKind::Window { call: known, operands: known_operands } => {
                known.identity == call.identity
                    && known.partition_keys == call.partition_keys
                    && known.order == call.order
                    && known.frame == call.frame
                    && *known_operands == operands
            }
            _ => false,
        };
        if let Some(id) = self.known.find(hash, same) {
            return Ok(*id);
        }
        let mut node = self.parent(&operands, NodeKind::Column(0), call.function.return_type().clone())?;
        node.has_window = true;
        node.kind = NodeKind::Window { call: Arc::new(call), operands };
        Ok(self.add(hash, node))
    }

    /// The node of `arrayJoin(array)`, whose items have type `item`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn array_join(&mut self, array: NodeId, item: DataType) -> Result<NodeId> {
        let hash = self.hash(&(4u8, array));
        let same = |id: &NodeId| matches!(self.node(*id).kind, NodeKind::ArrayJoin(known) if known == array);
        if let Some(id) = self.known.find(hash, same) {
            return Ok(*id);
        }
        let mut node = self.parent(&[array], NodeKind::ArrayJoin(array), item)?;
        node.has_array_join = true;
        Ok(self.add(hash, node))
    }

    /// The node of an argument of the lambda that `depth` lambdas are around.
    pub fn parameter(&mut self, depth: u32, at: usize, data_type: &DataType) -> NodeId {
        let hash = self.hash(&(5u8, depth, at));
        let same = |id: &NodeId| {
            let node = self.node(*id);
            matches!(node.kind, NodeKind::Parameter { depth: known_depth, at: known } if known_depth == depth && known == at)
                && node.data_type == *data_type
        };
        if let Some(id) = self.known.find(hash, same) {
            return *id;
        }
        let mut node = Node::leaf(NodeKind::Parameter { depth, at }, data_type.clone());
        node.lambdas = 1 << depth;
        self.add(hash, node)
    }

    /// The node of a call with a lambda, whose captured operands are those of [`captured`](Self::captured).
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for too big an expression, `TOO_DEEP_AST`.
    pub fn higher_order(&mut self, call: HigherOrderNode, operands: Vec<NodeId>) -> Result<NodeId> {
        let hash = self.hash(&(6u8, &*call.name, call.body, &operands[..]));
        let same = |id: &NodeId| match &self.node(*id).kind {
            NodeKind::HigherOrder { call: known, operands: known_operands } => {
                known.name == call.name
                    && known.body == call.body
                    && known.depth == call.depth
                    && known.parameters.len() == call.parameters.len()
                    && *known_operands == operands
            }
            _ => false,
        };
        if let Some(id) = self.known.find(hash, same) {
            return Ok(*id);
        }
        let mut node = self.parent(&operands, NodeKind::Column(0), call.function.return_type().clone())?;
        let body = self.node(call.body);
        node.is_deterministic &= body.is_deterministic;
        node.size = node.size.saturating_add(body.size);
        node.depth = node.depth.max(body.depth + 1);
        if node.size > self.size_max {
            return Err(too_big(self.size_max));
        }
        if node.depth > self.depth_max {
            return Err(self.too_deep());
        }
        node.kind = NodeKind::HigherOrder { call: Arc::new(call), operands };
        Ok(self.add(hash, node))
    }

    /// What the body of a lambda captures: the largest expressions in it that none of its own arguments is in. They are computed
    /// once a row, outside; but of what the body may not compute for every item, only the columns.
    ///
    /// # Errors
    /// The aggregate or `arrayJoin` that depends on the lambda's arguments.
    pub fn captured(&self, body: NodeId, depth: u32) -> Result<Vec<NodeId>, NodeId> {
        let mut captured = Vec::new();
        self.add_captured(body, 1 << depth, true, &mut HashSet::new(), &mut captured)?;
        Ok(captured)
    }

    fn add_captured(
        &self,
        id: NodeId,
        lambda: u64,
        is_certain: bool,
        visited: &mut HashSet<(NodeId, bool)>,
        captured: &mut Vec<NodeId>,
    ) -> Result<(), NodeId> {
        if !visited.insert((id, is_certain)) {
            return Ok(());
        }
        let node = self.node(id);
        match &node.kind {
            NodeKind::Constant(_) => return Ok(()),
            _ if node.lambdas & lambda == 0 && (is_certain || !node.kind.is_call()) => {
                if !captured.contains(&id) {
                    captured.push(id);
                }
                return Ok(());
            }
            NodeKind::Aggregate { .. } | NodeKind::Window { .. } | NodeKind::ArrayJoin(_) => return Err(id),
            _ => {}
        }
        let lazy_from = self.lazy_from(id);
        for (at, child) in self.children(id).iter().enumerate() {
            self.add_captured(*child, lambda, is_certain && at < lazy_from, visited, captured)?;
        }
        Ok(())
    }

    /// The first argument of a node that may not be computed for every row.
    pub fn lazy_from(&self, id: NodeId) -> usize {
        match &self.node(id).kind {
            NodeKind::Function { function, .. } if function.properties().lazy.is_some() => 1,
            _ => usize::MAX,
        }
    }

    /// Whether an aggregate function was called anywhere in the SELECT.
    pub fn has_aggregates(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.kind, NodeKind::Aggregate { .. }))
    }

    /// The nodes directly below a node; what is inside a lambda is not among them.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        match &self.node(id).kind {
            NodeKind::Column(_)
            | NodeKind::Constant(_)
            | NodeKind::Parameter { .. }
            | NodeKind::GroupingSet
            | NodeKind::GroupKey(_) => &[],
            NodeKind::Function { arguments: children, .. }
            | NodeKind::Aggregate { arguments: children, .. }
            | NodeKind::HigherOrder { operands: children, .. }
            | NodeKind::Correlated { operands: children, .. }
            | NodeKind::Window { operands: children, .. } => children,
            NodeKind::ArrayJoin(array) => std::slice::from_ref(array),
        }
    }

    fn parent(&self, children: &[NodeId], kind: NodeKind, data_type: DataType) -> Result<Node> {
        let mut node = Node::leaf(kind, data_type);
        for child in children {
            let child = self.node(*child);
            node.has_aggregate |= child.has_aggregate;
            node.has_window |= child.has_window;
            node.has_array_join |= child.has_array_join;
            node.has_subquery |= child.has_subquery;
            node.is_deterministic &= child.is_deterministic;
            node.lambdas |= child.lambdas;
            node.size = node.size.saturating_add(child.size);
            node.depth = node.depth.max(child.depth + 1);
        }
        if node.size > self.size_max {
            return Err(too_big(self.size_max));
        }
        if node.depth > self.depth_max {
            return Err(self.too_deep());
        }
        Ok(node)
    }

    /// How deep expressions may be.
    pub fn depth_max(&self) -> u64 {
        self.depth_max.into()
    }

    /// The error for expressions that are deeper.
    pub fn too_deep(&self) -> Error {
        Error::new(ErrorCode::TOO_DEEP_AST, format!("AST is too deep. Maximum: {}", self.depth_max))
    }

    fn add(&mut self, hash: u64, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        // Growing the table hashes every node anew: the hash is a function of the node alone.
        let Self { nodes, known, hasher, .. } = self;
        known.insert_unique(hash, id, |id| hash_node(hasher, &nodes[id.0 as usize]));
        id
    }

    fn hash(&self, key: &impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// Expressions deeper than this are refused whatever the settings say: they are walked recursively, here and by the engine.
const DEPTH_MAX: u32 = 1000;

/// The error for expressions that grow beyond all measure when their aliases are expanded.
pub(crate) fn too_big(size_max: u64) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Query tree is too big. Maximum: {size_max}"))
}

impl Node {
    fn leaf(kind: NodeKind, data_type: DataType) -> Self {
        Self {
            kind,
            data_type,
            has_aggregate: false,
            has_window: false,
            has_array_join: false,
            has_subquery: false,
            is_deterministic: true,
            lambdas: 0,
            size: 1,
            depth: 1,
        }
    }
}

fn hash_node(hasher: &DefaultHashBuilder, node: &Node) -> u64 {
    match &node.kind {
        NodeKind::Column(column) => hasher.hash_one((0u8, column)),
        NodeKind::Constant(value) => {
            let mut state = hasher.build_hasher();
            1u8.hash(&mut state);
            hash_value(value, &mut state);
            state.finish()
        }
        NodeKind::Function { name, arguments, .. } => hasher.hash_one((2u8, &**name, &arguments[..])),
        NodeKind::Aggregate { call, arguments } => hasher.hash_one((3u8, &*call.identity, &arguments[..])),
        NodeKind::ArrayJoin(array) => hasher.hash_one((4u8, array)),
        NodeKind::Parameter { depth, at } => hasher.hash_one((5u8, depth, at)),
        NodeKind::HigherOrder { call, operands } => hasher.hash_one((6u8, &*call.name, call.body, &operands[..])),
        NodeKind::Window { call, operands } => hasher.hash_one((7u8, &*call.identity, &operands[..])),
        NodeKind::GroupingSet => hasher.hash_one(8u8),
        NodeKind::Correlated { call, operands } => hasher.hash_one((10u8, Arc::as_ptr(call).addr(), &operands[..])),
        NodeKind::GroupKey(key) => hasher.hash_one((9u8, key)),
    }
}

fn hash_value(value: &Value, state: &mut impl Hasher) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::UInt64(value) => value.hash(state),
        Value::Int64(value) => value.hash(state),
        Value::Int256(value) => value.hash(state),
        Value::UInt256(value) => value.hash(state),
        Value::Decimal(value, scale) => (value, scale).hash(state),
        Value::Float64(value) => value.to_bits().hash(state),
        Value::String(bytes) => bytes.hash(state),
        Value::Uuid(bytes) => bytes.hash(state),
        Value::Array(items) | Value::Tuple(items) => items.iter().for_each(|item| hash_value(item, state)),
        Value::Typed(typed) => {
            typed.0.hash(state);
            hash_value(&typed.1, state);
        }
        Value::Map(entries) => entries.iter().for_each(|(key, value)| {
            hash_value(key, state);
            hash_value(value, state);
        }),
    }
}

/// Equality by bits: zero and minus zero are two constants, NaN is one.
pub(crate) fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float64(left), Value::Float64(right)) => left.to_bits() == right.to_bits(),
        (Value::Array(left), Value::Array(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| same_value(left, right))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right.iter())
                    .all(|(left, right)| same_value(&left.0, &right.0) && same_value(&left.1, &right.1))
        }
        (Value::Typed(left), Value::Typed(right)) => left.0 == right.0 && same_value(&left.1, &right.1),
        _ => left == right,
    }
}
