//! UNION: branches get the names of the first and the supertypes of all.

use std::sync::Arc;

use squall_sql::ast::{self, QueryBody, SetOperator, SetQuantifier};
use squall_types::{DataType, Error, ErrorCode, Result, Schema};

use super::scope::{Outer, Scope};
use super::stage::project;
use super::{Analyzer, conversion};
use crate::expression::Expression;
use crate::plan::Plan;

impl Analyzer<'_> {
    /// The plan of a query's body.
    ///
    /// # Errors
    /// Everything that can be wrong with a query.
    pub fn plan_body<'b>(&'b self, body: &'b QueryBody, outer: Option<&'b dyn Outer>) -> Result<Plan> {
        match body {
            QueryBody::Select(select) => self.plan_select(select, outer),
            QueryBody::SetOperation(operation) => {
                self.nested(|| match (operation.operator, first_select(&operation.operands)) {
                    (SetOperator::Union, Some(first)) if !first.with.is_empty() => {
                        // What the first SELECT's WITH names, all others see.
                        let with = Scope::of_with(self, outer, &first.with)?;
                        self.plan_union(operation, Some(&with), outer)
                    }
                    (SetOperator::Union, _) => self.plan_union(operation, outer, outer),
                    (SetOperator::Except, _) => Err(Error::not_implemented("EXCEPT")),
                    (SetOperator::Intersect, _) => Err(Error::not_implemented("INTERSECT")),
                })
            }
        }
    }

    fn plan_union<'b>(
        &'b self,
        operation: &'b ast::SetOperation,
        with: Option<&'b dyn Outer>,
        outer: Option<&'b dyn Outer>,
    ) -> Result<Plan> {
        let is_distinct = match operation.quantifier {
            SetQuantifier::All => false,
            SetQuantifier::Distinct => true,
            SetQuantifier::Default => match self.context.settings.union_default_mode.as_str() {
                "ALL" => false,
                "DISTINCT" => true,
                _ => {
                    let body = QueryBody::SetOperation(Box::new(operation.clone()));
                    let query = ast::Query::of(body, operation.span);
                    return Err(Error::new(
                        ErrorCode::EXPECTED_ALL_OR_DISTINCT,
                        format!(
                            "Expected ALL or DISTINCT after UNION. Write `UNION ALL` to keep duplicate rows or `UNION \
                             DISTINCT` to remove them, or set `union_default_mode` to choose what a bare UNION means: While \
                             processing {}",
                            super::text::query(query)
                        ),
                    ));
                }
            },
        };
        let mut branches = Vec::with_capacity(operation.operands.len());
        for (at, operand) in operation.operands.iter().enumerate() {
            // The first has its own WITH already.
            let plan = self.plan_body(operand, if at == 0 { outer } else { with })?;
            match plan {
                // A union within a union is one union.
                Plan::Union { inputs, .. } if !is_distinct => branches.extend(inputs),
                plan => branches.push(plan),
            }
        }
        let plan = union(branches, self)?;
        Ok(if is_distinct { Plan::Distinct { input: Box::new(plan) } } else { plan })
    }
}

fn union(branches: Vec<Plan>, analyzer: &Analyzer<'_>) -> Result<Plan> {
    let Some(first) = branches.first() else { return Err(Error::logical("a UNION of nothing")) };
    let names: Vec<Arc<str>> = first.schema().fields.iter().map(|(name, _)| name.clone()).collect();
    if let Some(other) = branches.iter().find(|branch| branch.schema().len() != names.len()) {
        let list = |plan: &Plan| plan.schema().names().collect::<Vec<_>>().join(", ");
        return Err(Error::new(
            ErrorCode::UNION_ALL_RESULT_STRUCTURES_MISMATCH,
            format!("Different number of columns in UNION_ALL elements: {} and {}", list(first), list(other)),
        ));
    }
    let types = (0..names.len())
        .map(|at| {
            let types: Vec<DataType> = branches.iter().map(|branch| branch.schema().fields[at].1.clone()).collect();
            match types.split_first() {
                Some((first, rest)) if rest.iter().all(|other| other == first) => Ok(first.clone()),
                _ => conversion::supertype(&types),
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
