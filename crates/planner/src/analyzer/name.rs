//! The names of result columns. ClickHouse makes them of the query as written: aliases stay, operators are functions, names lose
//! the table in front.

use squall_sql::ast::{self, ExpressionKind};
use squall_types::Result;

use super::literal::{append_constant, typed_literal};
use super::scope::Scope;

impl Scope<'_> {
    /// The name of an expression as a column of a result. The expression must have been resolved before.
    ///
    /// # Errors
    /// Those of asterisks in arguments.
    pub fn name(&mut self, expression: &ast::Expression) -> Result<String> {
        let mut name = String::new();
        self.append_name(expression, &mut name)?;
        Ok(name)
    }

    fn append_name(&mut self, expression: &ast::Expression, out: &mut String) -> Result<()> {
        if let Some(alias) = &expression.alias {
            out.push_str(self.analyzer.identifier(alias)?);
            return Ok(());
        }
        match &expression.kind {
            ExpressionKind::Literal(literal) => append_constant(out, &typed_literal(literal)?.0),
            ExpressionKind::Identifier(parts) => self.append_identifier(parts, out)?,
            ExpressionKind::Function(call) => self.append_call_name(call, out)?,
            ExpressionKind::Lambda(lambda) => self.append_lambda(lambda, out)?,
            ExpressionKind::Subquery(query) => {
                let subquery = self.subqueries.get(&std::ptr::from_ref(&**query));
                out.push_str("_subquery_");
                out.push_str(&subquery.map_or(0, |subquery| subquery.number).to_string());
            }
            ExpressionKind::Parameter(parameter) => {
                let (value, data_type) = self.parameter_value(parameter)?;
                if value.literal_type() == data_type && data_type == squall_types::DataType::String {
                    append_constant(out, &value);
                } else {
                    out.push_str("_CAST(");
                    append_constant(out, &value);
                    out.push_str(", ");
                    append_constant(out, &squall_types::Value::string(data_type.to_string()));
                    out.push(')');
                }
            }
            ExpressionKind::Matcher(matcher) => {
                for (at, (_, name)) in self.expand(matcher)?.into_iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    out.push_str(&name);
                }
            }
        }
        Ok(())
    }

    /// The name of a call: `plus(a, 1)`, `quantile(0.9)(a)`, `(a, b)`, `[a, b]`.
    ///
    /// # Errors
    /// Those of asterisks in arguments.
    pub fn append_call_name(&mut self, call: &ast::Function, out: &mut String) -> Result<()> {
        let close = match call.name.as_str() {
            "tuple" => {
                out.push('(');
                ')'
            }
            "array" => {
                out.push('[');
                ']'
            }
            "exists" => {
                // Its name is its value.
                if let [ast::Expression { kind: ExpressionKind::Subquery(query), .. }] = &call.arguments[..] {
                    let subquery = self.subqueries.get(&std::ptr::from_ref(&**query));
                    if let Some(value) = subquery.and_then(|known| self.graph.constant_value(known.node?)) {
                        append_constant(out, value);
                    }
                }
                return Ok(());
            }
            name => {
                out.push_str(name);
                if let Some(parameters) = &call.parameters {
                    out.push('(');
                    self.append_names(parameters, out)?;
                    out.push(')');
                }
                out.push('(');
                ')'
            }
        };
        // `count(*)` is `count()`.
        if !(call.name.eq_ignore_ascii_case("count")
            && matches!(&call.arguments[..], [only] if super::call::is_plain_asterisk(only)))
        {
            self.append_names(&call.arguments, out)?;
        }
        out.push(close);
        Ok(())
    }

    fn append_names(&mut self, expressions: &[ast::Expression], out: &mut String) -> Result<()> {
        for (at, expression) in expressions.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            self.append_name(expression, out)?;
        }
        Ok(())
    }

    fn append_lambda(&mut self, lambda: &ast::Lambda, out: &mut String) -> Result<()> {
        out.push_str("lambda(tuple(");
        for (at, parameter) in lambda.parameters.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(self.analyzer.identifier(parameter)?);
        }
        out.push_str("), ");
        self.append_name(&lambda.body, out)?;
        out.push(')');
        Ok(())
    }

    fn append_identifier(&mut self, parts: &[ast::Identifier], out: &mut String) -> Result<()> {
        let Some(first) = parts.first() else { return Ok(()) };
        let first = self.analyzer.identifier(first)?;
        if let Some(local) = self.locals.iter().rev().find(|local| &*local.name == first) {
            out.push_str(&local.shown);
            return Ok(());
        }
        let skipped = match parts.len() {
            1 => 0,
            _ if self.is_alias_path(parts)? => 0,
            _ => {
                let qualifiers = self.qualified_column(parts)?.map_or(0, |(_, qualifiers)| qualifiers);
                // Where the bare name means something else, the table stays, without its database.
                let bare = self.analyzer.identifier(&parts[qualifiers])?;
                let is_taken = self.has_alias(bare) || self.source.joined.iter().any(|joined| &*joined.name == bare);
                if is_taken { qualifiers.saturating_sub(1) } else { qualifiers }
            }
        };
        for (at, part) in parts[skipped..].iter().enumerate() {
            if at > 0 {
                out.push('.');
            }
            out.push_str(self.analyzer.identifier(part)?);
        }
        Ok(())
    }
}
