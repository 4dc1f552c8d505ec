//! WITH RECURSIVE: the rows of the first operand, then those that the others make of the last step's rows, until there are none. The
//! steps run while the query is planned.

use std::sync::Arc;

use squall_functions::aggregate_exists;
use squall_sql::ast::{self, ExpressionKind, Literal, SetQuantifier, TableSource};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema};

use super::conversion;
use super::scope::{CommonTable, KeptRows, Scope};
use super::stage::project;
use crate::expression::Expression;
use crate::plan::Plan;

/// Types that widen each other step by step come to an end after so many steps: there are no more integers than these.
const WIDENINGS_MAX: usize = 16;

impl<'q> Scope<'q> {
    /// The plan of a common table expression that may read its own rows.
    ///
    /// # Errors
    /// Those of its query; `UNSUPPORTED_METHOD` for another operation than UNION ALL; `TOO_DEEP_RECURSION`.
    pub(super) fn recursive_table(&self, table: &CommonTable<'q>) -> Result<Plan> {
        let body = table.body();
        let Some((union, (first, others))) =
            table.union().and_then(|union| Some((union, union.operands.split_first()?)))
        else {
            return self.common_table_body(table, body);
        };
        let begin = self.common_table_body(table, first)?;
        table.was_read.set(false);
        let schema = self.recursive_schema(table, &begin, others);
        if !table.was_read.get() {
            table.rows.take();
            return self.common_table_body(table, body);
        }
        let mode = &self.analyzer.context.settings.union_default_mode;
        let is_all = match union.quantifier {
            SetQuantifier::All => true,
            SetQuantifier::Distinct => false,
            SetQuantifier::Default => mode == "ALL",
        };
        if !is_all {
            table.rows.take();
            return Err(Error::new(
                ErrorCode::UNSUPPORTED_METHOD,
                format!(
                    "Recursive CTE subquery {} with UNION_DISTINCT union mode is unsupported, only UNION ALL union mode is \
                     supported",
                    table.name()
                ),
            ));
        }
        let rows = schema
            .and_then(|schema| Ok(KeptRows { blocks: self.recursive_rows(table, begin, others, &schema)?, schema }));
        table.rows.take();
        Ok(rows?.plan())
    }

    /// The columns that hold the rows of every step: the types widen until they do.
    fn recursive_schema(
        &self,
        table: &CommonTable<'q>,
        begin: &Plan,
        others: &'q [ast::QueryBody],
    ) -> Result<Arc<Schema>> {
        let mut schema = begin.schema().clone();
        for _ in 0..WIDENINGS_MAX {
            *table.rows.borrow_mut() = Some(KeptRows { schema: schema.clone(), blocks: Vec::new() });
            let plans = others.iter().map(|other| self.common_table_body(table, other)).collect::<Result<Vec<_>>>()?;
            if let Some(other) = plans.iter().find(|plan| plan.schema().len() != schema.len()) {
                let list = |schema: &Schema| schema.names().collect::<Vec<_>>().join(", ");
                return Err(Error::new(
                    ErrorCode::UNION_ALL_RESULT_STRUCTURES_MISMATCH,
                    format!(
                        "Different number of columns in UNION_ALL elements: {} and {}",
                        list(&schema),
                        list(other.schema())
                    ),
                ));
            }
            let fields = schema.fields.iter().enumerate().map(|(at, (name, data_type))| {
                let of_others = plans.iter().map(|plan| plan.schema().fields[at].1.clone());
                let types: Vec<DataType> = std::iter::once(data_type.clone()).chain(of_others).collect();
                Ok((name.clone(), conversion::supertype(&types)?))
            });
            let wider = Arc::new(Schema { fields: fields.collect::<Result<_>>()? });
            if wider == schema {
                break;
            }
            schema = wider;
        }
        Ok(schema)
    }

    fn recursive_rows(
        &self,
        table: &CommonTable<'q>,
        begin: Plan,
        others: &'q [ast::QueryBody],
        schema: &Arc<Schema>,
    ) -> Result<Vec<Block>> {
        let most = self.analyzer.context.settings.max_recursive_cte_evaluation_depth;
        let wanted = self.rows_wanted_of(table.name());
        let mut all = Vec::new();
        let mut rows = 0;
        let mut step = self.rows_as(begin, schema)?;
        for depth in 0.. {
            let count: usize = step.iter().map(Block::rows).sum();
            rows += count;
            all.extend(step.iter().cloned());
            if count == 0 || wanted.is_some_and(|wanted| rows as u64 >= wanted) {
                break;
            }
            if depth >= most && most > 0 {
                return Err(Error::new(
                    ErrorCode::TOO_DEEP_RECURSION,
                    format!(
                        "Maximum recursive CTE evaluation depth ({most}) exceeded, during evaluation of {}. Consider raising \
                         max_recursive_cte_evaluation_depth setting",
                        table.name()
                    ),
                ));
            }
            *table.rows.borrow_mut() = Some(KeptRows { schema: schema.clone(), blocks: step });
            step = Vec::new();
            for other in others {
                let plan = self.common_table_body(table, other)?;
                step.extend(self.rows_as(plan, schema)?);
            }
        }
        Ok(all)
    }

    /// The rows of a plan with these columns.
    fn rows_as(&self, plan: Plan, schema: &Arc<Schema>) -> Result<Vec<Block>> {
        let functions = &self.analyzer.context.functions;
        let columns = plan.schema().types().enumerate().zip(schema.types());
        let expressions = columns
            .map(|((at, data_type), to)| conversion::cast(Expression::column(at, data_type), to, functions))
            .collect::<Result<Vec<_>>>()?;
        let names = schema.fields.iter().map(|(name, _)| name.clone());
        let blocks = self.run(project(plan, expressions, names))?;
        Ok(blocks.into_iter().map(|block| block.with_schema(schema.clone())).collect())
    }

    /// How many first rows of a common table expression the SELECT looks at, where that is all that it does: recursion without an end
    /// may be read with a LIMIT.
    fn rows_wanted_of(&self, name: &str) -> Option<u64> {
        let select = self.select()?;
        let number = |expression: &ast::Expression| match &expression.kind {
            ExpressionKind::Literal(Literal::UInt64(number)) => Some(*number),
            _ => None,
        };
        let limit = select.limit.as_ref()?;
        let offset = limit.offset.as_ref().map_or(Some(0), number)?;
        let count = limit.count.as_ref().and_then(number)?;
        let from = select.from.as_ref().filter(|from| from.steps.is_empty())?;
        let is_table = matches!(&from.table.as_ref()?.source, TableSource::Table(table)
            if table.database.is_none() && table.table.value == name);
        let is_plain = select.prewhere.is_none()
            && select.filter.is_none()
            && select.group_by.is_none()
            && select.having.is_none()
            && select.qualify.is_none()
            && select.order_by.is_none()
            && select.limit_by.is_none()
            && !select.distinct
            && !select.with_totals
            && select.projection.iter().all(is_row_by_row);
        (is_table && is_plain).then(|| count.saturating_add(offset))
    }
}

/// Whether an expression makes one row of one, without a look at others.
fn is_row_by_row(expression: &ast::Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Identifier(_) | ExpressionKind::Parameter(_) => true,
        ExpressionKind::Matcher(matcher) => matcher.transformers.is_empty(),
        ExpressionKind::Function(call) => {
            call.over.is_none()
                && call.name != "arrayJoin"
                && !aggregate_exists(&call.name)
                && call.arguments.iter().all(is_row_by_row)
        }
        ExpressionKind::Lambda(lambda) => is_row_by_row(&lambda.body),
        ExpressionKind::Subquery(_) => false,
    }
}
