//! The names of result columns. ClickHouse makes them of the query as written: aliases stay, operators are functions, names lose
//! the table in front.

use squall_functions::looks_up;
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
            ExpressionKind::Function(call) => match &call.over {
                Some(over) => self.append_window_name(call, over, out)?,
                None => self.append_call_name(call, out)?,
            },
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
            match &call.arguments[..] {
                // What is looked in may be named without quotes.
                [ast::Expression { kind: ExpressionKind::Identifier(parts), alias: None, .. }, others @ ..]
                    if looks_up(&call.name) =>
                {
                    let name = parts.iter().map(|part| self.analyzer.identifier(part)).collect::<Result<Vec<_>>>()?;
                    append_constant(out, &squall_types::Value::string(name.join(".")));
                    if !others.is_empty() {
                        out.push_str(", ");
                    }
                    self.append_names(others, out)?;
                }
                arguments => self.append_names(arguments, out)?,
            }
        }
        out.push(close);
        Ok(())
    }

    /// The name of a call with OVER: `sum(a) OVER (PARTITION BY b ORDER BY plus(c, 1) ASC)`.
    ///
    /// # Errors
    /// Those of asterisks in arguments.
    pub fn append_window_name(&mut self, call: &ast::Function, over: &ast::Over, out: &mut String) -> Result<()> {
        self.append_call_name(call, out)?;
        out.push_str(" OVER ");
        let window = match over {
            ast::Over::Name(name) => {
                out.push_str(self.analyzer.identifier(name)?);
                return Ok(());
            }
            ast::Over::Definition(window) => window,
        };
        let mut parts = Vec::new();
        if let Some(parent) = &window.parent {
            parts.push(self.analyzer.identifier(parent)?.to_owned());
        }
        if !window.partition_by.is_empty() {
            let mut part = "PARTITION BY ".to_owned();
            self.append_names(&window.partition_by, &mut part)?;
            parts.push(part);
        }
        for (at, item) in window.order_by.iter().flat_map(|order_by| &order_by.items).enumerate() {
            let mut part = if at == 0 { "ORDER BY ".to_owned() } else { String::new() };
            self.append_name(&item.expression, &mut part)?;
            part.push_str(if item.descending { " DESC" } else { " ASC" });
            match item.nulls_first {
                Some(true) => part.push_str(" NULLS FIRST"),
                Some(false) => part.push_str(" NULLS LAST"),
                None => {}
            }
            if let Some(locale) = &item.collation {
                part.push_str(" COLLATE ");
                part.push_str(locale);
            }
            match parts.last_mut().filter(|_| at > 0) {
                Some(before) => {
                    before.push_str(", ");
                    before.push_str(&part);
                }
                None => parts.push(part),
            }
        }
        if let Some(frame) = &window.frame {
            let unit = match frame.unit {
                ast::FrameUnit::Rows => "ROWS",
                ast::FrameUnit::Range => "RANGE",
                ast::FrameUnit::Groups => "GROUPS",
            };
            let (begin, end) = (self.bound_name(&frame.begin)?, self.bound_name(&frame.end)?);
            parts.push(format!("{unit} BETWEEN {begin} AND {end}"));
        }
        out.push('(');
        out.push_str(&parts.join(" "));
        out.push(')');
        Ok(())
    }

    fn bound_name(&mut self, bound: &ast::FrameBound) -> Result<String> {
        Ok(match bound {
            ast::FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            ast::FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
            ast::FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
            ast::FrameBound::Preceding(offset) => format!("{} PRECEDING", self.name(offset)?),
            ast::FrameBound::Following(offset) => format!("{} FOLLOWING", self.name(offset)?),
        })
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
            for part in &parts[1..] {
                out.push('.');
                out.push_str(self.analyzer.identifier(part)?);
            }
            return Ok(());
        }
        let skipped = match parts.len() {
            1 => 0,
            _ if self.is_alias_path(parts)? => 0,
            _ => {
                let qualifiers = self.qualified_column(parts)?.map_or(0, |(_, qualifiers)| qualifiers);
                // Where the bare name means something else, the table stays, without its database.
                let bare = self.analyzer.identifier(&parts[qualifiers])?;
                let table = if qualifiers > 0 { self.qualified_table(parts, qualifiers)? } else { None };
                let names = parts[qualifiers..].iter().map(|part| self.analyzer.identifier(part));
                let path = names.collect::<Result<Vec<_>>>()?.join(".");
                let is_taken = self.has_alias(bare)
                    || self.source.joined.iter().any(|joined| *joined.name == *bare || *joined.name == path)
                    || table.is_some_and(|table| self.source.is_shown_qualified(table, bare));
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
