//! Functions that SQL defined: a call stands for the function's body.

use squall_sql::ast::{self, ExpressionKind};
use squall_types::{Error, ErrorCode, Result};

use crate::catalog::Catalog;

/// So many calls of an expression become bodies: a function may call itself.
const CALLS_MAX: usize = 1_000;

/// The body of a function that SQL defined, with a call's arguments in the places of its parameters.
///
/// # Errors
/// `BAD_ARGUMENTS` where there are more or fewer arguments than parameters.
pub(super) fn substituted(lambda: &ast::Lambda, call: &ast::Function) -> Result<ast::Expression> {
    struct Substitution<'a>(Vec<(&'a str, &'a ast::Expression)>);
    impl ast::Visitor for Substitution<'_> {
        fn expression(&mut self, expression: &mut ast::Expression) -> bool {
            let ExpressionKind::Identifier(parts) = &expression.kind else { return true };
            if let [name] = parts.as_slice()
                && let Some((_, argument)) = self.0.iter().find(|(parameter, _)| *parameter == name.value)
            {
                // Names in the argument are the caller's.
                expression.kind = argument.kind.clone();
            }
            false
        }
    }
    let (expected, passed) = (lambda.parameters.len(), call.arguments.len());
    if expected != passed {
        let message = format!("Lambda {} expect {expected} arguments. Actual: {passed}", call.name);
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let parameters = lambda.parameters.iter().map(|parameter| parameter.value.as_str());
    let mut body = lambda.body.clone();
    body.walk(&mut Substitution(parameters.zip(&call.arguments).collect()));
    Ok(body)
}

/// The expression as a table keeps it: no longer of functions that SQL defined, which may be dropped.
///
/// # Errors
/// As [`substituted`].
pub(crate) fn without_user_functions(expression: &ast::Expression, catalog: &dyn Catalog) -> Result<ast::Expression> {
    let mut expanded = expression.clone();
    expand(&mut expanded, catalog)?;
    Ok(expanded)
}

/// The same in place.
///
/// # Errors
/// As [`substituted`].
pub(crate) fn expand(expression: &mut ast::Expression, catalog: &dyn Catalog) -> Result<()> {
    struct Expansion<'a> {
        catalog: &'a dyn Catalog,
        calls: usize,
        failure: Option<Error>,
    }
    impl ast::Visitor for Expansion<'_> {
        fn expression(&mut self, expression: &mut ast::Expression) -> bool {
            while let ExpressionKind::Function(call) = &expression.kind
                && let Some(lambda) = self.catalog.user_function(&call.name)
            {
                self.calls += 1;
                if self.calls > CALLS_MAX {
                    return false;
                }
                match substituted(&lambda, call) {
                    Ok(body) => expression.kind = body.kind,
                    Err(error) => {
                        self.failure.get_or_insert(error);
                        return false;
                    }
                }
            }
            true
        }
    }
    let mut expansion = Expansion { catalog, calls: 0, failure: None };
    expression.walk(&mut expansion);
    expansion.failure.map_or(Ok(()), Err)
}
