//! Window functions: `f(…) OVER …`. What the window is (its keys, order and frame, named or written in place), and which function
//! a name means there. The windows become steps of the plan in `stage`.

use squall_functions::{
    Argument, FrameUse, aggregate_exists, canonical_name, check_aggregate_allowed, resolve_aggregate, resolve_window,
    window_function_exists,
};
use squall_sql::ast::{self, ExpressionKind};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::graph::{NodeId, NodeKind, WindowNode, WindowOrder};
use super::scope::Scope;
use crate::plan::{FrameBound, FrameUnit, WindowCallFunction, WindowFrame};
use crate::uses::Used;

/// A window definition with what it takes from the windows that it refines.
struct Window<'e> {
    partition_by: &'e [ast::Expression],
    order_by: &'e [ast::OrderByItem],
    frame: Option<&'e ast::WindowFrame>,
}

impl<'q> Scope<'q> {
    /// The node of a call with OVER.
    ///
    /// # Errors
    /// `UNKNOWN_AGGREGATE_FUNCTION`, `BAD_ARGUMENTS` for a window that is none, and whatever the function says of its arguments.
    pub fn window_call(&mut self, call: &ast::Function, over: &ast::Over) -> Result<NodeId> {
        let parameters = self.aggregate_parameters(call)?;
        let counts_rows = call.name.eq_ignore_ascii_case("count")
            && matches!(&call.arguments[..], [argument] if super::call::is_plain_asterisk(argument));
        let arguments = if counts_rows { Vec::new() } else { self.arguments(&call.arguments)? };
        let mut shown = String::new();
        self.append_window_name(call, over, &mut shown)?;
        let window = self.window(over)?;
        let mut operands = arguments.clone();
        for expression in window.partition_by {
            match &expression.kind {
                ExpressionKind::Matcher(matcher) => {
                    operands.extend(self.expand(matcher)?.into_iter().map(|(node, _)| node));
                }
                _ => operands.push(self.resolve(expression)?),
            }
        }
        let partition_keys = operands.len() - arguments.len();
        let mut order = Vec::with_capacity(window.order_by.len());
        for item in window.order_by {
            let key = self.resolve(&item.expression)?;
            operands.push(match &item.collation {
                Some(locale) => self.collated(key, locale)?,
                None => key,
            });
            order.push(WindowOrder { descending: item.descending, nulls_first: item.nulls_first.unwrap_or(false) });
        }
        if let Some(inner) = operands.iter().find(|operand| self.graph.node(**operand).has_window) {
            let inner = *inner;
            return Err(self.window_found(inner, "is found inside another window function in query"));
        }
        let function = self.window_function(call, &parameters, &arguments)?;
        let written = window.frame.map(|frame| self.frame(frame)).transpose()?;
        if let Some(frame) = &written {
            self.check_range(frame, &operands[operands.len() - order.len()..])?;
        }
        let frame = self.frame_for(call, &function, written, !order.is_empty())?;
        let mut identity = canonical_name(&call.name).unwrap_or(&call.name).to_owned();
        for parameter in &parameters {
            identity.push(',');
            super::append_constant(&mut identity, parameter);
        }
        identity.push_str(if call.nulls == Some(ast::NullsAction::Respect) { " RESPECT NULLS" } else { "" });
        let node = WindowNode {
            name: shown.into(),
            identity,
            function,
            arguments: arguments.len(),
            partition_keys,
            order,
            frame,
        };
        self.graph.window(node, operands)
    }

    /// Refuses a call without OVER of a function that only windows have.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it is one.
    pub fn check_no_window_function(&self, name: &str) -> Result<()> {
        if !window_function_exists(name) {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("The function '{name}' can only be used as a window function, not as an aggregate function"),
        ))
    }

    /// `ILLEGAL_AGGREGATION` for a window function below a node.
    pub fn window_found(&mut self, node: NodeId, found: &str) -> Error {
        let mut left = vec![node];
        while let Some(node) = left.pop() {
            if let NodeKind::Window { call, .. } = &self.graph.node(node).kind {
                let message = format!("Window function {} {found}", call.name);
                return Error::new(ErrorCode::ILLEGAL_AGGREGATION, message);
            }
            left.extend(self.graph.children(node));
        }
        Error::logical("no window function where one was found")
    }

    fn window_function(
        &self,
        call: &ast::Function,
        parameters: &[Value],
        arguments: &[NodeId],
    ) -> Result<WindowCallFunction> {
        let name = self.aggregate_name(&call.name);
        self.analyzer.context.catalog.note(Used::AggregateFunction(&name));
        let is_asked = call.nulls == Some(ast::NullsAction::Respect);
        let respects_nulls = is_asked && matches!(canonical_name(&name), Some("any" | "anyLast"));
        if is_asked && !respects_nulls {
            return Err(Error::not_implemented(format!("Function {} does not support RESPECT NULLS", call.name)));
        }
        if respects_nulls || window_function_exists(&name) {
            let described: Vec<Argument> = arguments.iter().map(|argument| self.describe(*argument)).collect();
            return Ok(WindowCallFunction::Own(resolve_window(&name, &described, respects_nulls)?));
        }
        if !aggregate_exists(&name) {
            return Err(self.in_scope(Error::new(
                ErrorCode::UNKNOWN_AGGREGATE_FUNCTION,
                format!("Aggregate function with name '{}' does not exist", call.name),
            )));
        }
        let types: Vec<DataType> = arguments.iter().map(|argument| self.graph.data_type(*argument).clone()).collect();
        check_aggregate_allowed(&name, &self.analyzer.context.functions)?;
        Ok(WindowCallFunction::Aggregate(resolve_aggregate(&name, parameters, &types)?))
    }

    /// What OVER says, with what it takes from named windows.
    fn window<'e>(&self, over: &'e ast::Over) -> Result<Window<'e>>
    where
        'q: 'e,
    {
        match over {
            ast::Over::Name(name) => self.refined(self.named_window(self.analyzer.identifier(name)?)?, 0),
            ast::Over::Definition(definition) => self.refined(definition, 0),
        }
    }

    fn refined<'e>(&self, definition: &'e ast::WindowDefinition, depth: usize) -> Result<Window<'e>>
    where
        'q: 'e,
    {
        /// Windows that refine windows, at most: a circle of names ends here.
        const DEPTH_MAX: usize = 100;
        let own_order: &[ast::OrderByItem] = definition.order_by.as_ref().map_or(&[], |order_by| &order_by.items);
        if definition.order_by.as_ref().is_some_and(|order_by| order_by.all) {
            return Err(Error::not_implemented("ORDER BY ALL of a window"));
        }
        if own_order.iter().any(|item| item.fill.is_some()) {
            return Err(Error::not_implemented("WITH FILL of a window"));
        }
        let own =
            Window { partition_by: &definition.partition_by, order_by: own_order, frame: definition.frame.as_ref() };
        let Some(parent) = &definition.parent else { return Ok(own) };
        if depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Windows refine each other in a circle"));
        }
        let parent_name = self.analyzer.identifier(parent)?;
        let parent = self.refined(self.named_window(parent_name)?, depth + 1)?;
        let refused = |what: &str| {
            self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Derived window definition of '{parent_name}' is not allowed to override {what}"),
            ))
        };
        if !own.partition_by.is_empty() {
            return Err(refused("PARTITION BY"));
        }
        if !own.order_by.is_empty() && !parent.order_by.is_empty() {
            return Err(refused("a non-empty ORDER BY"));
        }
        if parent.frame.is_some() {
            return Err(refused("a window that has a frame"));
        }
        Ok(Window {
            partition_by: parent.partition_by,
            order_by: if own.order_by.is_empty() { parent.order_by } else { own.order_by },
            frame: own.frame,
        })
    }

    fn named_window(&self, name: &str) -> Result<&'q ast::WindowDefinition> {
        for window in self.windows() {
            if self.analyzer.identifier(&window.name)? == name {
                return Ok(&window.definition);
            }
        }
        let message = format!("Window '{name}' does not exist");
        Err(self.in_scope(Error::new(ErrorCode::BAD_ARGUMENTS, message)))
    }

    /// Refuses two windows of one name.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`.
    pub fn check_windows(&self) -> Result<()> {
        let mut names = Vec::new();
        for window in self.windows() {
            let name = self.analyzer.identifier(&window.name)?;
            if names.contains(&name) {
                let message = format!("Window '{name}' is already defined");
                return Err(self.in_scope(Error::new(ErrorCode::BAD_ARGUMENTS, message)));
            }
            names.push(name);
        }
        Ok(())
    }

    fn frame(&mut self, frame: &ast::WindowFrame) -> Result<WindowFrame> {
        let unit = match frame.unit {
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Range => FrameUnit::Range,
            ast::FrameUnit::Groups => FrameUnit::Groups,
        };
        let begin = self.bound(&frame.begin, unit, "start")?;
        let end = self.bound(&frame.end, unit, "end")?;
        let frame = WindowFrame { unit, begin, end };
        let invalid = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        match (begin, end) {
            (FrameBound::UnboundedFollowing, _) => invalid("Frame start cannot be UNBOUNDED FOLLOWING".to_owned()),
            (_, FrameBound::UnboundedPreceding) => invalid("Frame end cannot be UNBOUNDED PRECEDING".to_owned()),
            (FrameBound::CurrentRow, FrameBound::Preceding(_))
            | (FrameBound::Following(_), FrameBound::CurrentRow | FrameBound::Preceding(_)) => {
                invalid(format!("Window frame '{frame}' is invalid"))
            }
            (FrameBound::Preceding(begin), FrameBound::Preceding(end)) if begin < end => invalid(format!(
                "Frame start offset {begin} PRECEDING does not precede the frame end offset {end} PRECEDING"
            )),
            (FrameBound::Following(begin), FrameBound::Following(end)) if begin > end => invalid(format!(
                "Frame start offset {begin} FOLLOWING does not precede the frame end offset {end} FOLLOWING"
            )),
            _ => Ok(frame),
        }
    }

    fn bound(&mut self, bound: &ast::FrameBound, unit: FrameUnit, which: &str) -> Result<FrameBound> {
        let offset = match bound {
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::UnboundedPreceding => return Ok(FrameBound::UnboundedPreceding),
            ast::FrameBound::UnboundedFollowing => return Ok(FrameBound::UnboundedFollowing),
            ast::FrameBound::Preceding(offset) | ast::FrameBound::Following(offset) => offset,
        };
        let node = self.resolve(offset)?;
        let value = self.graph.constant_value(node).filter(|_| self.graph.data_type(node).is_number());
        let Some(value) = value else {
            let which = if which == "start" { "begin" } else { which };
            return Err(self.in_scope(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!(
                    "Window frame {which} OFFSET expression must be constant with numeric type. Actual: {}",
                    super::text::expression(offset)
                ),
            )));
        };
        let count = match value {
            Value::UInt64(count) => i32::try_from(*count).ok(),
            Value::Int64(count) => i32::try_from(*count).ok().filter(|count| *count >= 0),
            _ => None,
        };
        let Some(count) = count else {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!(
                    "Frame {which} offset for '{unit}' frame must be a nonnegative 32-bit integer, '{value}' of type \
                     '{}' given",
                    if matches!(value, Value::Float64(_)) {
                        "Float64"
                    } else if matches!(value, Value::Int64(_)) {
                        "Int64"
                    } else {
                        "UInt64"
                    }
                ),
            ));
        };
        let count = u64::from(count.unsigned_abs());
        Ok(match bound {
            ast::FrameBound::Preceding(_) => FrameBound::Preceding(count),
            _ => FrameBound::Following(count),
        })
    }

    /// A frame by values needs one key that can be added to.
    fn check_range(&self, frame: &WindowFrame, keys: &[NodeId]) -> Result<()> {
        let offsets = [frame.begin, frame.end].into_iter().filter_map(|bound| match bound {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            _ => None,
        });
        let Some(largest) = offsets.max().filter(|_| frame.unit == FrameUnit::Range) else { return Ok(()) };
        let [key] = keys else {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("The RANGE OFFSET window frame requires exactly one ORDER BY column, {} given", keys.len()),
            ));
        };
        let data_type = self.graph.data_type(*key).inner();
        let most: u64 = match data_type {
            DataType::UInt8 => u8::MAX.into(),
            DataType::Int8 => i8::MAX as u64,
            DataType::UInt16 | DataType::Date => u16::MAX.into(),
            DataType::Int16 => i16::MAX as u64,
            other if other.is_number() => u64::MAX,
            DataType::Date32 | DataType::DateTime(_) => u64::MAX,
            other => {
                return Err(Error::not_implemented(format!("The RANGE OFFSET frame for '{other}' ORDER BY column")));
            }
        };
        if largest > most {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("Cannot convert value '{largest}': it cannot be represented as {data_type}"),
            ));
        }
        Ok(())
    }

    /// The frame of a function whose window has this one written, or none.
    fn frame_for(
        &self,
        call: &ast::Function,
        function: &WindowCallFunction,
        written: Option<WindowFrame>,
        is_ordered: bool,
    ) -> Result<WindowFrame> {
        let frame_use = match function {
            WindowCallFunction::Own(function) => function.frame_use(),
            WindowCallFunction::Aggregate(_) => FrameUse::Any,
        };
        let is_partition = written.is_none_or(|frame| {
            frame.begin == FrameBound::UnboundedPreceding && frame.end == FrameBound::UnboundedFollowing
        });
        let is_allowed = match frame_use {
            FrameUse::Any => return Ok(written.unwrap_or_default()),
            FrameUse::NotWritten if written.is_some() => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Window function '{}' does not expect window frame to be explicitly specified", call.name),
                ));
            }
            FrameUse::NotWritten => true,
            FrameUse::Partition => is_partition,
            FrameUse::OrderedPartition => is_partition && is_ordered,
        };
        if !is_allowed {
            let name = canonical_name(&call.name).unwrap_or(&call.name);
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Unsupported window frame type for function '{name}'"),
            ));
        }
        Ok(WindowFrame {
            unit: FrameUnit::Rows,
            begin: FrameBound::UnboundedPreceding,
            end: FrameBound::UnboundedFollowing,
        })
    }
}
