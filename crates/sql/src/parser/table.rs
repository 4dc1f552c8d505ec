//! What stands between the parentheses of CREATE TABLE, and the storage clauses after them.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    Assignment, ColumnDeclaration, ColumnDefault, ColumnDefaultKind, ConstraintDeclaration, Expression, ExpressionKind,
    Function, Identifier, IndexDeclaration, MoveDestination, ProjectionBody, ProjectionDeclaration, ProjectionSelect,
    SortingKey, SortingKeyItem, Storage, TableElements, TtlAction, TtlElement,
};

impl Parser<'_> {
    /// `(columns, indices, constraints, projections)`.
    pub(super) fn table_elements(&mut self) -> Parsed<TableElements> {
        let mut elements = TableElements::default();
        self.need(T::OpenRound)?;
        while !self.accept(T::CloseRound) {
            self.table_element(&mut elements)?;
            if !self.accept(T::Comma) {
                self.need(T::CloseRound)?;
                break;
            }
        }
        Ok(elements)
    }

    fn table_element(&mut self, elements: &mut TableElements) -> Parsed<()> {
        let next = self.ahead(1);
        let named = matches!(next.kind, T::Word | T::QuotedIdentifier);
        match self.peek().keyword {
            K::INDEX if named => {
                // `index UInt8` is a column; `INDEX i x TYPE t` is not.
                let index = self.attempt(|p| {
                    p.advance();
                    p.index_declaration()
                })?;
                match index {
                    Some(index) => elements.indices.push(index),
                    None => elements.columns.push(self.column_declaration(true)?),
                }
            }
            K::CONSTRAINT
                if named && matches!(self.ahead(2).keyword, K::CHECK | K::ASSUME | K::PRIMARY | K::FOREIGN) =>
            {
                self.advance();
                if matches!(self.ahead(1).keyword, K::PRIMARY | K::FOREIGN) {
                    let _ = self.identifier()?;
                    return self.table_element(elements);
                }
                elements.constraints.push(self.constraint_declaration()?);
            }
            K::CHECK if next.kind == T::OpenRound => {
                // A constraint without a name is read and named by its place.
                self.advance();
                let start = self.start();
                let expression = self.expression()?;
                let name = Identifier::new(format!("check_{}", elements.constraints.len() + 1));
                let span = self.span_from(start);
                elements.constraints.push(ConstraintDeclaration { name, assume: false, expression, span });
            }
            K::PROJECTION if named && matches!(self.ahead(2).kind, T::OpenRound | T::Word) => {
                let projection = self.attempt(|p| {
                    p.advance();
                    p.projection_declaration()
                })?;
                match projection {
                    Some(projection) => elements.projections.push(projection),
                    None => elements.columns.push(self.column_declaration(true)?),
                }
            }
            K::PRIMARY if next.keyword == K::KEY => {
                self.skip(2);
                elements.primary_key = Some(self.expression()?);
            }
            K::FOREIGN if next.keyword == K::KEY => {
                self.skip(2);
                self.foreign_key()?;
            }
            _ => elements.columns.push(self.column_declaration(true)?),
        }
        Ok(())
    }

    /// `(a, b) REFERENCES t (c, d) …`: MySQL's, which means nothing here.
    fn foreign_key(&mut self) -> Parsed<()> {
        let _ = self.round_list(|p| p.identifier())?;
        self.need_keyword(K::REFERENCES)?;
        let _ = self.table_name()?;
        let _ = self.round_list(|p| p.identifier())?;
        while self.keyword(K::ON) {
            if !self.keyword(K::DELETE) {
                self.need_keyword(K::UPDATE)?;
            }
            if self.keyword(K::SET) {
                if !self.keyword(K::NULL) {
                    self.need_keyword(K::DEFAULT)?;
                }
            } else if self.keyword(K::NO) {
                self.word_needed("ACTION")?;
            } else if !self.keyword(K::RESTRICT) {
                self.need_keyword(K::CASCADE)?;
            }
        }
        Ok(())
    }

    /// Requires a word that is no keyword of the grammar.
    pub(super) fn word_needed(&mut self, word: &'static str) -> Parsed<()> {
        if self.word(word) { Ok(()) } else { Err(super::Failure::Unexpected) }
    }

    /// One column. `require_type`: a type or a default must be there.
    pub(super) fn column_declaration(&mut self, require_type: bool) -> Parsed<ColumnDeclaration> {
        let start = self.start();
        let name = self.nested_identifier()?;
        self.column_after_name(name, start, require_type)
    }

    /// What follows the name of a column.
    pub(super) fn column_after_name(
        &mut self,
        name: Identifier,
        start: u32,
        require_type: bool,
    ) -> Parsed<ColumnDeclaration> {
        let mut column = ColumnDeclaration {
            name,
            data_type: None,
            nullable: None,
            default: None,
            comment: None,
            codec: None,
            statistics: None,
            ttl: None,
            collation: None,
            settings: Vec::new(),
            primary_key: false,
            span: crate::ast::Span::default(),
        };
        if !self.at_column_clause() {
            column.data_type = match self.peek().kind {
                T::Word | T::QuotedIdentifier => Some(self.data_type()?),
                _ if require_type => return self.fail("data type"),
                _ => None,
            };
        }
        self.column_clauses(&mut column)?;
        if require_type && column.data_type.is_none() && column.default.is_none() {
            return self.fail("data type");
        }
        column.span = self.span_from(start);
        Ok(column)
    }

    /// What may follow the type of a column, in any order.
    fn column_clauses(&mut self, column: &mut ColumnDeclaration) -> Parsed<()> {
        loop {
            match self.peek().keyword {
                K::NOT if self.keyword_ahead(1, K::NULL) => {
                    self.skip(2);
                    column.nullable = Some(false);
                }
                K::NULL => {
                    self.advance();
                    column.nullable = Some(true);
                }
                K::DEFAULT | K::MATERIALIZED | K::ALIAS | K::EPHEMERAL | K::AUTO_INCREMENT
                    if column.default.is_none() =>
                {
                    column.default = Some(self.column_default()?);
                }
                K::COMMENT => {
                    self.advance();
                    column.comment = Some(self.string_text()?);
                }
                K::CODEC => {
                    self.advance();
                    column.codec = Some(self.round_list(|p| p.bare_or_call())?);
                }
                K::STATISTICS => {
                    self.advance();
                    column.statistics = Some(self.round_list(|p| p.bare_or_call())?);
                }
                K::TTL => {
                    self.advance();
                    column.ttl = Some(self.expression()?);
                }
                K::COLLATE => {
                    self.advance();
                    column.collation = Some(self.identifier_or_string()?.value);
                }
                K::PRIMARY if self.keyword_ahead(1, K::KEY) => {
                    self.skip(2);
                    column.primary_key = true;
                }
                K::SETTINGS if self.ahead(1).kind == T::OpenRound => {
                    self.advance();
                    column.settings = self.round_list(|p| p.setting())?;
                }
                _ => break,
            }
        }
        for clause in [
            "DEFAULT",
            "MATERIALIZED",
            "ALIAS",
            "EPHEMERAL",
            "COMMENT",
            "CODEC",
            "STATISTICS",
            "TTL",
            "COLLATE",
            "PRIMARY KEY",
            "SETTINGS",
            "NOT",
            "NULL",
        ] {
            self.missed(clause);
        }
        Ok(())
    }

    /// Whether a clause of a column stands here and not a type.
    fn at_column_clause(&mut self) -> bool {
        let next = self.ahead(1);
        match self.peek().keyword {
            K::DEFAULT
            | K::MATERIALIZED
            | K::ALIAS
            | K::EPHEMERAL
            | K::AUTO_INCREMENT
            | K::COMMENT
            | K::TTL
            | K::COLLATE => true,
            K::CODEC | K::STATISTICS | K::SETTINGS => next.kind == T::OpenRound,
            K::PRIMARY => next.keyword == K::KEY,
            K::NOT => next.keyword == K::NULL,
            K::NULL | K::FIRST | K::AFTER | K::REMOVE | K::MODIFY | K::RESET => true,
            _ => false,
        }
    }

    fn column_default(&mut self) -> Parsed<ColumnDefault> {
        let kind = match self.peek().keyword {
            K::DEFAULT => ColumnDefaultKind::Default,
            K::MATERIALIZED => ColumnDefaultKind::Materialized,
            K::ALIAS => ColumnDefaultKind::Alias,
            K::EPHEMERAL => ColumnDefaultKind::Ephemeral,
            _ => ColumnDefaultKind::AutoIncrement,
        };
        self.advance();
        let bare = match kind {
            ColumnDefaultKind::AutoIncrement => true,
            ColumnDefaultKind::Ephemeral => {
                matches!(self.peek().kind, T::Comma | T::CloseRound | T::End | T::Semicolon) || self.at_column_clause()
            }
            _ => false,
        };
        let expression = if bare { None } else { Some(self.expression()?) };
        Ok(ColumnDefault { kind, expression })
    }

    /// `name expression [TYPE type] [GRANULARITY n]`, the word `INDEX` read already.
    pub(super) fn index_declaration(&mut self) -> Parsed<IndexDeclaration> {
        let start = self.start();
        let name = self.identifier()?;
        let expression = self.expression()?;
        self.need_keyword(K::TYPE)?;
        let index_type = Some(self.bare_or_call()?);
        let granularity = if self.keyword(K::GRANULARITY) { self.unsigned()? } else { 1 };
        Ok(IndexDeclaration { name, expression, index_type, granularity, span: self.span_from(start) })
    }

    /// `name CHECK expression`, the word `CONSTRAINT` read already.
    pub(super) fn constraint_declaration(&mut self) -> Parsed<ConstraintDeclaration> {
        let start = self.start();
        let name = self.identifier()?;
        let assume = self.keyword(K::ASSUME);
        if !assume {
            self.need_keyword(K::CHECK)?;
        }
        let expression = self.expression()?;
        Ok(ConstraintDeclaration { name, assume, expression, span: self.span_from(start) })
    }

    /// `name (SELECT …)`, the word `PROJECTION` read already.
    pub(super) fn projection_declaration(&mut self) -> Parsed<ProjectionDeclaration> {
        let start = self.start();
        let name = self.identifier()?;
        let body = if self.keyword(K::INDEX) {
            let expression = self.expression()?;
            self.need_keyword(K::TYPE)?;
            ProjectionBody::Index { expression, index_type: self.bare_or_call()? }
        } else {
            self.need(T::OpenRound)?;
            let select = self.projection_select()?;
            self.need(T::CloseRound)?;
            ProjectionBody::Select(Box::new(select))
        };
        let settings = if self.keywords(&[K::WITH, K::SETTINGS], "WITH SETTINGS") {
            self.round_list(|p| p.setting())?
        } else {
            Vec::new()
        };
        Ok(ProjectionDeclaration { name, body, settings, span: self.span_from(start) })
    }

    fn projection_select(&mut self) -> Parsed<ProjectionSelect> {
        let mut select = ProjectionSelect::default();
        if self.keyword(K::WITH) {
            (select.with, _) = self.with_items()?;
        }
        self.need_keyword(K::SELECT)?;
        select.projection = self.list(|p| p.expression_or_alias())?;
        if self.keyword(K::WHERE) {
            select.filter = Some(self.expression()?);
        }
        if self.keywords(&[K::GROUP, K::BY], "GROUP BY") {
            select.group_by = Some(self.group_by()?);
        }
        if self.keywords(&[K::ORDER, K::BY], "ORDER BY") {
            select.order_by = Some(self.order_by()?);
        }
        Ok(select)
    }

    /// `ENGINE = … PARTITION BY … …` in any order; none when nothing of it is there.
    pub(super) fn storage(&mut self) -> Parsed<Option<Storage>> {
        let mut storage = Storage::default();
        let mut any = false;
        loop {
            if storage.engine.is_none() && self.keyword(K::ENGINE) {
                let _ = self.accept(T::Equals);
                storage.engine = Some(self.engine()?);
            } else if storage.partition_by.is_none() && self.keywords(&[K::PARTITION, K::BY], "PARTITION BY") {
                storage.partition_by = Some(self.expression_without_alias()?);
            } else if storage.primary_key.is_none() && self.keywords(&[K::PRIMARY, K::KEY], "PRIMARY KEY") {
                storage.primary_key = Some(self.expression_without_alias()?);
            } else if storage.order_by.is_none() && self.keywords(&[K::ORDER, K::BY], "ORDER BY") {
                storage.order_by = Some(self.sorting_key()?);
            } else if storage.sample_by.is_none() && self.keywords(&[K::SAMPLE, K::BY], "SAMPLE BY") {
                storage.sample_by = Some(self.expression_without_alias()?);
            } else if storage.ttl.is_empty() && self.keyword(K::TTL) {
                storage.ttl = self.ttl_elements()?;
            } else if storage.settings.is_empty() && self.at_keyword(K::SETTINGS) {
                self.advance();
                storage.settings = self.settings()?;
            } else {
                return Ok(any.then_some(storage));
            }
            any = true;
        }
    }

    /// An engine: its name and, when they are there, its arguments.
    pub(super) fn engine(&mut self) -> Parsed<Function> {
        self.bare_or_call()
    }

    /// The key of `ORDER BY`.
    pub(super) fn sorting_key(&mut self) -> Parsed<SortingKey> {
        let start = self.start();
        if self.at(T::OpenRound) {
            let items = self.attempt(|p| {
                p.advance();
                let mut items = Vec::new();
                while !p.accept(T::CloseRound) {
                    items.push(p.sorting_key_item()?);
                    if !p.accept(T::Comma) {
                        p.need(T::CloseRound)?;
                        break;
                    }
                }
                // `(a) + 1` is an expression.
                if matches!(
                    p.peek().kind,
                    T::Plus | T::Minus | T::Asterisk | T::Slash | T::Percent | T::Dot | T::DoubleColon
                ) {
                    return p.fail("ORDER BY");
                }
                Ok(items)
            })?;
            if let Some(items) = items {
                // A tuple in parentheses is the tuple.
                let items = match <[SortingKeyItem; 1]>::try_from(items) {
                    Ok([item]) => elements_of_tuple(item).unwrap_or_else(|item| vec![*item]),
                    Err(items) => items,
                };
                return Ok(SortingKey { items, tuple: true, span: self.span_from(start) });
            }
        }
        let item = self.sorting_key_item()?;
        let (items, tuple) = match elements_of_tuple(item) {
            Ok(items) => (items, true),
            Err(item) => (vec![*item], false),
        };
        Ok(SortingKey { items, tuple, span: self.span_from(start) })
    }

    fn sorting_key_item(&mut self) -> Parsed<SortingKeyItem> {
        let expression = self.expression_without_alias()?;
        let descending = self.keyword(K::DESC) || self.keyword(K::DESCENDING);
        if !descending && !self.keyword(K::ASC) {
            let _ = self.keyword(K::ASCENDING);
        }
        Ok(SortingKeyItem { expression, descending })
    }

    /// The elements of a table's TTL, the word read already.
    pub(super) fn ttl_elements(&mut self) -> Parsed<Vec<TtlElement>> {
        self.list(|p| p.ttl_element())
    }

    pub(super) fn ttl_element(&mut self) -> Parsed<TtlElement> {
        let expression = self.expression_without_alias()?;
        let mut filter = None;
        let action = if self.keyword(K::TO) {
            let before = self.if_exists();
            let (destination, within) = self.ttl_destination()?;
            TtlAction::Move { destination, if_exists: before || within || self.if_exists() }
        } else if self.keywords(&[K::GROUP, K::BY], "GROUP BY") {
            let key = self.list(|p| p.expression())?;
            let mut assignments = Vec::new();
            if self.keyword(K::SET) {
                assignments.push(self.assignment()?);
                // A comma may also begin the next element.
                while self.at(T::Comma) && self.at_assignment_after_comma() {
                    self.advance();
                    assignments.push(self.assignment()?);
                }
            }
            TtlAction::GroupBy { key, assignments }
        } else if self.keyword(K::RECOMPRESS) {
            self.need_keyword(K::CODEC)?;
            TtlAction::Recompress(self.round_list(|p| p.bare_or_call())?)
        } else {
            let _ = self.keyword(K::DELETE);
            if self.keyword(K::WHERE) {
                filter = Some(self.expression_without_alias()?);
            }
            TtlAction::Delete
        };
        Ok(TtlElement { expression, action, filter })
    }

    /// `DISK [IF EXISTS] 'name'` or the same of a volume, and whether it may be missing.
    fn ttl_destination(&mut self) -> Parsed<(MoveDestination, bool)> {
        let is_disk = self.keyword(K::DISK);
        if !is_disk {
            self.need_keyword(K::VOLUME)?;
        }
        let if_exists = self.if_exists();
        let name = self.string_text()?;
        Ok((if is_disk { MoveDestination::Disk(name) } else { MoveDestination::Volume(name) }, if_exists))
    }

    fn at_assignment_after_comma(&mut self) -> bool {
        let mut ahead = 1;
        while matches!(self.ahead(ahead).kind, T::Word | T::QuotedIdentifier) && self.ahead(ahead + 1).kind == T::Dot {
            ahead += 2;
        }
        matches!(self.ahead(ahead).kind, T::Word | T::QuotedIdentifier) && self.ahead(ahead + 1).kind == T::Equals
    }

    /// `column = expression`.
    pub(super) fn assignment(&mut self) -> Parsed<Assignment> {
        let column = self.dotted_name()?;
        self.need(T::Equals)?;
        Ok(Assignment { column, expression: self.expression()? })
    }
}

/// The elements of a key that is one call of `tuple`; the key itself where it is not.
fn elements_of_tuple(item: SortingKeyItem) -> Result<Vec<SortingKeyItem>, Box<SortingKeyItem>> {
    match item.expression.kind {
        ExpressionKind::Function(call) if call.name == "tuple" && call.parameters.is_none() => {
            Ok(call.arguments.into_iter().map(|expression| SortingKeyItem { expression, descending: false }).collect())
        }
        kind => {
            let expression = Expression { kind, ..item.expression };
            Err(Box::new(SortingKeyItem { expression, descending: item.descending }))
        }
    }
}
