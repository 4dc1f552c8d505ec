//! The definition of a dictionary.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    DictionaryAttribute, DictionaryDefinition, DictionaryLifetime, Expression, ExpressionKind, KeyValue,
    KeyValueFunction, KeyValueValue,
};

impl Parser<'_> {
    /// `(attributes) PRIMARY KEY … SOURCE(…) LAYOUT(…) …`.
    pub(super) fn dictionary_definition(&mut self) -> Parsed<DictionaryDefinition> {
        let mut definition = DictionaryDefinition::default();
        if self.at(T::OpenRound) {
            self.advance();
            loop {
                definition.attributes.push(self.dictionary_attribute()?);
                // A comma may stand behind the last.
                if !self.accept(T::Comma) || self.at(T::CloseRound) {
                    break;
                }
            }
            self.need(T::CloseRound)?;
        }
        loop {
            if self.keywords(&[K::PRIMARY, K::KEY], "PRIMARY KEY") {
                definition.primary_key = if self.at(T::OpenRound) {
                    self.round_list(|p| p.expression())?
                } else {
                    self.list(|p| p.expression())?
                };
            } else if self.keyword(K::SOURCE) {
                self.need(T::OpenRound)?;
                definition.source = Some(self.key_value_function()?);
                self.need(T::CloseRound)?;
            } else if self.keyword(K::LIFETIME) {
                definition.lifetime = Some(self.dictionary_lifetime()?);
            } else if self.keyword(K::LAYOUT) {
                self.need(T::OpenRound)?;
                definition.layout = Some(self.key_value_function()?);
                self.need(T::CloseRound)?;
            } else if self.keyword(K::RANGE) {
                self.need(T::OpenRound)?;
                let max_first = self.keyword(K::MAX);
                if !max_first {
                    self.need_keyword(K::MIN)?;
                }
                let first = self.identifier()?;
                self.need_keyword(if max_first { K::MIN } else { K::MAX })?;
                let second = self.identifier()?;
                self.need(T::CloseRound)?;
                definition.range = Some(if max_first { (second, first) } else { (first, second) });
            } else if self.keyword(K::SETTINGS) {
                definition.settings = self.round_list(|p| p.setting())?;
            } else {
                return Ok(definition);
            }
        }
    }

    fn dictionary_attribute(&mut self) -> Parsed<DictionaryAttribute> {
        let start = self.start();
        let name = self.identifier()?;
        let mut attribute = DictionaryAttribute {
            name,
            data_type: self.data_type()?,
            default: None,
            expression: None,
            hierarchical: false,
            bidirectional: false,
            injective: false,
            is_object_id: false,
            span: crate::ast::Span::default(),
        };
        loop {
            if self.keyword(K::DEFAULT) {
                let from = self.start();
                let literal = self.compound_literal()?;
                let span = self.span_from(from);
                attribute.default = Some(Expression::new(ExpressionKind::Literal(literal), span));
            } else if self.keyword(K::EXPRESSION) {
                attribute.expression = Some(self.expression()?);
            } else if self.keyword(K::HIERARCHICAL) {
                attribute.hierarchical = true;
            } else if self.keyword(K::BIDIRECTIONAL) {
                attribute.bidirectional = true;
            } else if self.keyword(K::INJECTIVE) {
                attribute.injective = true;
            } else if self.keyword(K::IS_OBJECT_ID) {
                attribute.is_object_id = true;
            } else {
                attribute.span = self.span_from(start);
                return Ok(attribute);
            }
        }
    }

    fn dictionary_lifetime(&mut self) -> Parsed<DictionaryLifetime> {
        self.need(T::OpenRound)?;
        let mut lifetime = DictionaryLifetime { min: 0, max: 0 };
        if self.at(T::Number) {
            lifetime.max = self.unsigned()?;
        } else {
            let max_first = self.keyword(K::MAX);
            if !max_first {
                self.need_keyword(K::MIN)?;
            }
            let first = self.unsigned()?;
            self.need_keyword(if max_first { K::MIN } else { K::MAX })?;
            let second = self.unsigned()?;
            (lifetime.min, lifetime.max) = if max_first { (second, first) } else { (first, second) };
        }
        self.need(T::CloseRound)?;
        Ok(lifetime)
    }

    /// `name(key value …)`.
    fn key_value_function(&mut self) -> Parsed<KeyValueFunction> {
        let name = self.identifier()?.value.to_ascii_lowercase();
        let brackets = self.at(T::OpenRound);
        let pairs = if brackets { self.key_value_pairs()? } else { Vec::new() };
        Ok(KeyValueFunction { name, pairs, brackets })
    }

    fn key_value_pairs(&mut self) -> Parsed<Vec<KeyValue>> {
        self.enter(2)?;
        self.need(T::OpenRound)?;
        let mut pairs = Vec::new();
        while !self.accept(T::CloseRound) {
            let key = self.identifier()?.value.to_ascii_lowercase();
            let value = match self.peek().kind {
                T::OpenRound => KeyValueValue::Pairs(self.key_value_pairs()?),
                T::Word if self.ahead(1).kind == T::OpenRound => {
                    let name = self.identifier()?;
                    KeyValueValue::Function(self.function_with_settings(name)?)
                }
                T::Word | T::QuotedIdentifier if super::literal::word_literal(self.peek().keyword).is_none() => {
                    let identifier = self.identifier()?;
                    let span = identifier.span;
                    KeyValueValue::Expression(Expression::new(ExpressionKind::Identifier(vec![identifier]), span))
                }
                _ => {
                    let from = self.start();
                    let literal = self.compound_literal()?;
                    let span = self.span_from(from);
                    KeyValueValue::Expression(Expression::new(ExpressionKind::Literal(literal), span))
                }
            };
            pairs.push(KeyValue { key, value });
        }
        self.leave(2);
        Ok(pairs)
    }
}
