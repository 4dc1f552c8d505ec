//! Engines of the MergeTree family as they were written before there was ORDER BY: their keys are the first arguments.

use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result};

use crate::analyzer::typed_literal;
use crate::context::PlannerContext;

/// Whether the keys of a MergeTree are its arguments, as they were before there was ORDER BY.
pub(crate) fn is_deprecated(storage: &ast::Storage) -> bool {
    let Some(engine) = &storage.engine else { return false };
    match engine.name.as_str() {
        "MergeTree" => !engine.arguments.is_empty(),
        name => {
            name.ends_with("MergeTree") && storage.order_by.is_none() && granularity_place(&engine.arguments).is_some()
        }
    }
}

/// Where the granularity stands among arguments that begin with `date, [sample,] key, granularity`.
fn granularity_place(arguments: &[ast::Expression]) -> Option<usize> {
    let is_number = |at: &usize| {
        let literal = arguments.get(*at).and_then(ast::Expression::as_literal);
        literal.is_some_and(|literal| typed_literal(literal).is_ok_and(|(value, _)| value.as_u64().is_some()))
    };
    [2, 3].into_iter().find(is_number)
}

/// Writes the keys of `MergeTree(date, [sample,] key, granularity)` as clauses.
///
/// # Errors
/// `BAD_ARGUMENTS` where the setting does not allow it, `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`.
pub(crate) fn settle_deprecated(storage: &mut ast::Storage, context: &PlannerContext<'_>) -> Result<()> {
    let arguments = storage.engine.as_ref().map(|engine| engine.arguments.clone()).unwrap_or_default();
    if storage.order_by.is_some() || storage.primary_key.is_some() || storage.partition_by.is_some() {
        let message = "With extended storage definition syntax storage MergeTree requires no parameters";
        return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    if context.settings.get("allow_deprecated_syntax_for_merge_tree").as_deref() != Some("1") {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "This syntax for *MergeTree engine is deprecated. Use extended storage definition syntax with ORDER BY/PRIMARY KEY \
             clause. See also `allow_deprecated_syntax_for_merge_tree` setting.",
        ));
    }
    let is_plain = storage.engine.as_ref().is_some_and(|engine| engine.name == "MergeTree");
    let (arguments, own) = match granularity_place(&arguments) {
        Some(at) if !is_plain => arguments.split_at(at + 1),
        _ => (arguments.as_slice(), [].as_slice()),
    };
    if let Some(engine) = storage.engine.as_mut().filter(|_| !is_plain) {
        engine.arguments = own.to_vec();
    }
    let (date, sample, key, granularity) = match arguments {
        [date, key, granularity] => (date, None, key, granularity),
        [date, sample, key, granularity] => (date, Some(sample), key, granularity),
        other => {
            let message = format!(
                "Storage MergeTree takes 3 or 4 parameters: date, [sampling,] key, granularity ({} given)",
                other.len()
            );
            return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
    };
    let Some(granularity) = granularity.as_literal() else {
        let message = "Index granularity must be the last parameter of storage MergeTree";
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    };
    storage.sample_by = sample.cloned();
    storage.partition_by = Some(ast::Expression::function("toYYYYMM", vec![date.clone()]));
    let items = match key.as_function() {
        Some(call) if call.name == "tuple" => call.arguments.clone(),
        _ => vec![key.clone()],
    };
    let items = items.into_iter().map(|expression| ast::SortingKeyItem { expression, descending: false });
    storage.order_by = Some(ast::SortingKey { items: items.collect(), tuple: true, span: ast::Span::default() });
    let setting = ast::Setting {
        name: "index_granularity".to_owned(),
        value: ast::SettingValue::Literal(granularity.clone()),
        span: ast::Span::default(),
    };
    storage.settings.retain(|setting| setting.name != "index_granularity");
    storage.settings.push(setting);
    Ok(())
}
