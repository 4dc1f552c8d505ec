//! UNION, EXCEPT and INTERSECT: branches get the names of the first and the supertypes of all. EXCEPT and INTERSECT count how often each
//! row comes on either side, in one aggregation over both.

use std::sync::Arc;

use squall_functions::{FunctionContext, resolve_aggregate};
use squall_sql::ast::{self, QueryBody, SetOperator, SetQuantifier};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Settings, Value};

use super::scope::{Outer, Scope};
use super::stage::project;
use super::{Analyzer, conversion};
use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, Plan};
use crate::rules::call;

impl Analyzer<'_> {
    /// The plan of a query's body.
    ///
    /// # Errors
    /// Everything that can be wrong with a query.
    pub fn plan_body<'b>(&'b self, body: &'b QueryBody, outer: Option<&'b dyn Outer>) -> Result<Plan> {
        match body {
            QueryBody::Select(select) => self.plan_select(select, outer),
            QueryBody::SetOperation(operation) => {
                self.nested(|| match first_select(&operation.operands) {
                    Some(first) if !first.with.is_empty() => {
                        // What the first SELECT's WITH names, all others see.
                        let with = Scope::of_with(self, outer, first)?;
                        self.plan_set_operation(operation, Some(&with), outer)
                    }
                    _ => self.plan_set_operation(operation, outer, outer),
                })
            }
        }
    }

    /// The plan of the body of a query within another: its settings `limit` and `offset` cut its own rows.
    ///
    /// # Errors
    /// Everything that can be wrong with a query.
    pub fn plan_within<'b>(&'b self, body: &'b QueryBody, outer: Option<&'b dyn Outer>) -> Result<Plan> {
        let plan = self.plan_body(body, outer)?;
        let mut own = None;
        for setting in body.settings().iter().filter(|setting| setting.cuts_result()) {
            if let ast::SettingValue::Literal(literal) = &setting.value {
                let text = literal.setting_text().unwrap_or_default();
                own.get_or_insert_with(Settings::default).set(&setting.name, &text)?;
            }
        }
        Ok(match own {
            Some(own) => super::cut(plan, &own),
            None => plan,
        })
    }

    fn plan_set_operation<'b>(
        &'b self,
        operation: &'b ast::SetOperation,
        with: Option<&'b dyn Outer>,
        outer: Option<&'b dyn Outer>,
    ) -> Result<Plan> {
        let is_distinct = self.is_distinct(operation)?;
        let mut branches = Vec::with_capacity(operation.operands.len());
        for (at, operand) in operation.operands.iter().enumerate() {
            // The first has its own WITH already.
            let outer = if at == 0 { outer } else { with };
            // What the last one's settings say is about all of them.
            let is_last = at + 1 == operation.operands.len();
            let plan = if is_last { self.plan_body(operand, outer) } else { self.plan_within(operand, outer) }?;
            match plan {
                // A union within a union is one union.
                Plan::Union { inputs, .. } if operation.operator == SetOperator::Union && !is_distinct => {
                    branches.extend(inputs);
                }
                plan => branches.push(plan),
            }
        }
        if operation.operator == SetOperator::Union {
            let plan = union(branches, operation.operator, self)?;
            return Ok(if is_distinct { Plan::Distinct { input: Box::new(plan) } } else { plan });
        }
        let mut branches = branches.into_iter();
        let Some(first) = branches.next() else { return Err(Error::logical("a set operation of nothing")) };
        branches.try_fold(first, |left, right| {
            let counting = Counting { operator: operation.operator, is_distinct, functions: &self.context.functions };
            counting.plan(left, right, self)
        })
    }

    /// Whether equal rows of a set operation come once.
    fn is_distinct(&self, operation: &ast::SetOperation) -> Result<bool> {
        let settings = self.context.settings;
        let (word, setting, mode) = match operation.operator {
            SetOperator::Union => ("UNION", "union_default_mode", &settings.union_default_mode),
            SetOperator::Except => ("EXCEPT", "except_default_mode", &settings.except_default_mode),
            SetOperator::Intersect => ("INTERSECT", "intersect_default_mode", &settings.intersect_default_mode),
        };
        match (operation.quantifier, mode.as_str()) {
            (SetQuantifier::All, _) | (SetQuantifier::Default, "ALL") => Ok(false),
            (SetQuantifier::Distinct, _) | (SetQuantifier::Default, "DISTINCT") => Ok(true),
            _ => {
                let body = QueryBody::SetOperation(Box::new(operation.clone()));
                let query = ast::Query::of(body, operation.span);
                Err(Error::new(
                    ErrorCode::EXPECTED_ALL_OR_DISTINCT,
                    format!(
                        "Expected ALL or DISTINCT after {word}. Write `{word} ALL` to keep duplicate rows or `{word} \
                         DISTINCT` to remove them, or set `{setting}` to choose what a bare {word} means: While \
                         processing {}",
                        super::text::query(query)
                    ),
                ))
            }
        }
    }
}

/// EXCEPT or INTERSECT of two plans: the rows of both are grouped, with how many there are on the left and on both sides.
struct Counting<'a> {
    operator: SetOperator,
    is_distinct: bool,
    functions: &'a FunctionContext,
}

impl Counting<'_> {
    fn plan(&self, left: Plan, right: Plan, analyzer: &Analyzer<'_>) -> Result<Plan> {
        let both = union(vec![left, right], self.operator, analyzer)?;
        let schema = both.schema().clone();
        let both = match both {
            Plan::Union { inputs, .. } => {
                let inputs = inputs.into_iter().enumerate().map(|(at, input)| tagged(input, u64::from(at == 0)));
                let fields = schema.fields.iter().cloned().chain([("left".into(), DataType::UInt8)]);
                Plan::Union { inputs: inputs.collect(), schema: Arc::new(Schema { fields: fields.collect() }) }
            }
            _ => return Err(Error::logical("a union was expected")),
        };
        let width = schema.len();
        let columns = |count: usize| {
            let fields = schema.fields.iter().take(count).enumerate();
            fields.map(|(at, (_, data_type))| Expression::column(at, data_type)).collect::<Vec<_>>()
        };
        let tag = Expression::column(width, &DataType::UInt8);
        let aggregates = vec![aggregate("sum", vec![tag])?, aggregate("count", Vec::new())?];
        let counts = aggregates.iter().map(|call| (call.name.clone(), call.function.return_type().clone()));
        let fields = schema.fields.iter().cloned().chain(counts).collect();
        let grouped = Plan::Aggregate(Aggregate {
            input: Box::new(both),
            keys: columns(width),
            aggregates,
            schema: Arc::new(Schema { fields }),
            with_totals: false,
            sets: None,
            limit: None,
        });
        let on_left = Expression::column(width, &DataType::UInt64);
        let all = Expression::column(width + 1, &DataType::UInt64);
        let on_right = self.call("minus", all, on_left.clone())?;
        // How often a row comes: of DISTINCT only whether.
        let times = match self.operator {
            SetOperator::Intersect => self.call("least", on_left.clone(), self.cast_count(on_right.clone())?)?,
            _ => self.call("minus", on_left.clone(), on_right.clone())?,
        };
        let zero = || Expression::Constant { value: Value::UInt64(0), data_type: DataType::UInt8 };
        let predicate = match (self.operator, self.is_distinct) {
            (SetOperator::Except, true) => {
                let (is_left, is_right) =
                    (self.call("greater", on_left, zero())?, self.call("equals", on_right, zero())?);
                self.call("and", is_left, is_right)?
            }
            _ => self.call("greater", times.clone(), zero())?,
        };
        let mut plan = Plan::Filter { input: Box::new(grouped), predicate };
        if !self.is_distinct {
            let one = Expression::Constant { value: Value::UInt64(1), data_type: DataType::UInt8 };
            let array = self.call("arrayWithConstant", self.cast_count(times)?, one)?;
            let fields = plan.schema().fields.iter().cloned().chain([("time".into(), DataType::UInt8)]).collect();
            let schema = Arc::new(Schema { fields });
            plan = Plan::ArrayJoin { input: Box::new(plan), arrays: vec![array], is_left: false, schema };
        }
        Ok(project(plan, columns(width), schema.fields.iter().map(|(name, _)| name.clone())))
    }

    fn call(&self, name: &str, left: Expression, right: Expression) -> Result<Expression> {
        call(name, vec![left, right], self.functions)
    }

    /// A difference of counts, which is not negative, as a count.
    fn cast_count(&self, difference: Expression) -> Result<Expression> {
        conversion::cast(difference, &DataType::UInt64, self.functions)
    }
}

/// A plan with one more column, the same in every row.
fn tagged(input: Plan, tag: u64) -> Plan {
    let fields = input.schema().fields.clone();
    let columns = fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type));
    let tag = Expression::Constant { value: Value::UInt64(tag), data_type: DataType::UInt8 };
    let expressions = columns.chain([tag]).collect();
    let names: Vec<Arc<str>> = fields.iter().map(|(name, _)| name.clone()).chain(["left".into()]).collect();
    project(input, expressions, names.into_iter())
}

/// An aggregate that a query did not write.
fn aggregate(name: &str, arguments: Vec<Expression>) -> Result<AggregateCall> {
    let types: Vec<DataType> = arguments.iter().map(|argument| argument.data_type().clone()).collect();
    Ok(AggregateCall { name: name.into(), function: resolve_aggregate(name, &[], &types)?, arguments })
}

/// The rows of all branches.
fn union(branches: Vec<Plan>, operator: SetOperator, analyzer: &Analyzer<'_>) -> Result<Plan> {
    let Some(first) = branches.first() else { return Err(Error::logical("a UNION of nothing")) };
    let names: Vec<Arc<str>> = first.schema().fields.iter().map(|(name, _)| name.clone()).collect();
    if let Some(other) = branches.iter().find(|branch| branch.schema().len() != names.len()) {
        let list = |plan: &Plan| plan.schema().names().collect::<Vec<_>>().join(", ");
        let (code, what) = match operator {
            SetOperator::Union => (ErrorCode::UNION_ALL_RESULT_STRUCTURES_MISMATCH, "UNION_ALL"),
            SetOperator::Except => (ErrorCode::INTERSECT_OR_EXCEPT_RESULT_STRUCTURES_MISMATCH, "EXCEPT_ALL"),
            SetOperator::Intersect => (ErrorCode::INTERSECT_OR_EXCEPT_RESULT_STRUCTURES_MISMATCH, "INTERSECT_ALL"),
        };
        return Err(Error::new(
            code,
            format!("Different number of columns in {what} elements: {} and {}", list(first), list(other)),
        ));
    }
    let types = (0..names.len())
        .map(|at| {
            let types: Vec<DataType> = branches.iter().map(|branch| branch.schema().fields[at].1.clone()).collect();
            match types.split_first() {
                Some((first, rest)) if rest.iter().all(|other| other == first) => Ok(first.clone()),
                _ => conversion::common_type(&types, &analyzer.context.functions),
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let fields = names.iter().cloned().zip(types.iter().cloned()).collect();
    let inputs = branches
        .into_iter()
        .map(|branch| {
            let columns = branch.schema().types().enumerate();
            let columns = columns.map(|(position, data_type)| Expression::column(position, data_type));
            let expressions = columns
                .zip(&types)
                .map(|(column, to)| conversion::cast(column, to, &analyzer.context.functions))
                .collect::<Result<Vec<_>>>()?;
            Ok(project(branch, expressions, names.iter().cloned()))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Plan::Union { inputs, schema: Arc::new(Schema { fields }) })
}

fn first_select(operands: &[QueryBody]) -> Option<&ast::Select> {
    match operands.first()? {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation(operation) => first_select(&operation.operands),
    }
}
