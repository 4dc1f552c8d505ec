//! INSERT, DELETE and UPDATE.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    Delete, ExpressionKind, Identifier, Insert, InsertSource, InsertTarget, QueryBody, Statement, TableName, Update,
    WithItem, Written,
};
use crate::error::SYNTAX_ERROR;

impl Insert {
    /// Whether the rows come as text after the statement, or from the client.
    pub fn has_inline_data(&self) -> bool {
        matches!(self.source, InsertSource::Data { .. } | InsertSource::Input { .. })
    }

    /// Offset of the first byte of the inline data in the text, when some follow the statement.
    pub fn inline_data_offset(&self) -> Option<usize> {
        match &self.source {
            InsertSource::Data { offset, .. } | InsertSource::Input { offset, .. } => offset.0,
            _ => None,
        }
    }

    /// The format of the inline data, `Values` for `VALUES`.
    pub fn inline_format(&self) -> Option<&str> {
        match &self.source {
            InsertSource::Data { format, .. } | InsertSource::Input { format, .. } => Some(&format.value),
            _ => None,
        }
    }
}

impl Parser<'_> {
    /// INSERT; `with` are the items of a WITH before it.
    pub(super) fn insert(&mut self, with: Option<(Vec<WithItem>, bool)>) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::INTO)?;
        if self.at_keyword(K::TABLE) && !matches!(self.ahead(1).kind, T::Dot | T::OpenRound) {
            self.advance();
        }
        let target = if self.at_keyword(K::FUNCTION) && matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier) {
            self.advance();
            let name = self.identifier()?;
            InsertTarget::Function(self.function_with_settings(name)?)
        } else {
            InsertTarget::Table(self.insert_table()?)
        };
        let partition_by =
            if self.keywords(&[K::PARTITION, K::BY], "PARTITION BY") { Some(self.expression()?) } else { None };
        let mut columns = None;
        if self.at(T::OpenRound) && !self.at_query() {
            self.advance();
            let mut list = Vec::new();
            while !self.accept(T::CloseRound) {
                list.push(self.insert_column()?);
                if !self.accept(T::Comma) {
                    self.need(T::CloseRound)?;
                    break;
                }
            }
            columns = Some(list);
        }
        let mut settings = self.settings_clause()?;
        let mut source = self.insert_source()?;
        if settings.is_empty() && !matches!(source, InsertSource::Data { .. } | InsertSource::Query(_)) {
            settings = self.settings_clause()?;
        }
        if let Some((items, recursive)) = with {
            match &mut source {
                InsertSource::Query(query) | InsertSource::Input { query, .. } => match first_select(&mut query.body) {
                    Some(select) if select.with.is_empty() => {
                        select.with = items;
                        select.recursive = recursive;
                    }
                    _ => return self.fatal(SYNTAX_ERROR, "WITH before INSERT and in its SELECT"),
                },
                _ => return self.fail("SELECT"),
            }
        }
        Ok(Statement::Insert(Box::new(Insert { target, columns, partition_by, settings, source })))
    }

    /// The table's name, which a string may be as well.
    fn insert_table(&mut self) -> Parsed<TableName> {
        if matches!(self.peek().kind, T::String) {
            let table = self.identifier_or_string()?;
            let span = table.span;
            return Ok(TableName { database: None, table, uuid: None, span });
        }
        self.table_name()
    }

    /// A column, `*`, `COLUMNS(…)`, each with its transformers.
    fn insert_column(&mut self) -> Parsed<crate::ast::Expression> {
        let matcher = self.at(T::Asterisk)
            || (self.at_keyword(K::COLUMNS) && self.ahead(1).kind == T::OpenRound)
            || (matches!(self.ahead(1).kind, T::Dot) && self.ahead(2).kind == T::Asterisk);
        if matcher {
            return self.expression();
        }
        let start = self.start();
        let mut parts = vec![self.identifier()?];
        while self.accept(T::Dot) {
            parts.push(self.identifier()?);
        }
        Ok(crate::ast::Expression::new(ExpressionKind::Identifier(parts), self.span_from(start)))
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        if self.keywords(&[K::FROM, K::INFILE], "FROM INFILE") {
            let path = self.string_text()?;
            let compression = if self.keyword(K::COMPRESSION) { Some(self.string_text()?) } else { None };
            let format = if self.keyword(K::FORMAT) { Some(self.identifier()?) } else { None };
            return Ok(InsertSource::Infile { path, compression, format });
        }
        if self.at_keyword(K::VALUES) {
            let token = self.peek();
            self.position += 1;
            let format = Identifier {
                value: "Values".into(),
                parameter: false,
                span: crate::ast::Span::new(token.start, token.end),
            };
            let offset = Written(self.inline_data(token.end as usize, false)?);
            return Ok(InsertSource::Data { format, offset });
        }
        if self.at_keyword(K::FORMAT) {
            let name = self.ahead(1);
            if !matches!(name.kind, T::Word | T::QuotedIdentifier) {
                self.advance();
                return self.fail("identifier");
            }
            self.position += 1;
            let format = self.identifier()?;
            let offset = Written(self.inline_data(name.end as usize, true)?);
            return Ok(InsertSource::Data { format, offset });
        }
        if self.at_keyword(K::WATCH) {
            return Ok(InsertSource::Watch(Box::new(self.watch()?)));
        }
        if self.at_query() {
            let first = self.position;
            let mut query = Box::new(self.query()?);
            if query.output.format.is_none() || !self.calls_input_since(first) {
                return Ok(InsertSource::Query(query));
            }
            if let Some(format) = query.output.format.take() {
                let offset = Written(self.inline_data(format.span.end as usize, true)?);
                return Ok(InsertSource::Input { query, format, offset });
            }
            return Ok(InsertSource::Query(query));
        }
        for what in ["VALUES", "FORMAT", "SELECT", "WITH", "WATCH", "FROM INFILE", "SETTINGS", "PARTITION BY"] {
            self.missed(what);
        }
        self.fail("INSERT source")
    }

    /// Whether the tokens from one on have a call of the function `input`.
    fn calls_input_since(&self, first: usize) -> bool {
        let tokens = self.tokens.get(first..self.position).unwrap_or_default();
        tokens.windows(2).any(|pair| {
            let [name, open] = pair else { return false };
            let text = self.text.get(name.start as usize..name.end as usize).unwrap_or_default();
            let is_name = matches!(name.kind, T::Word | T::QuotedIdentifier);
            is_name && open.kind == T::OpenRound && matches!(text, b"input" | b"`input`" | b"\"input\"")
        })
    }

    /// Offset of the data after a format's name: after blanks and at most one line feed.
    fn inline_data(&mut self, after: usize, formatted: bool) -> Parsed<Option<usize>> {
        let mut at = after;
        let byte = |at: usize| self.text.get(at).copied();
        while matches!(byte(at), Some(b' ' | b'\t' | 0x0c)) {
            at += 1;
        }
        if byte(at) == Some(b';') {
            let rest = self.text.get(at + 1..).unwrap_or(&[]);
            if formatted && !rest.iter().all(u8::is_ascii_whitespace) {
                return self.fatal(
                    SYNTAX_ERROR,
                    "You have excessive ';' symbol before data for INSERT.\nHere are two examples:\n\nINSERT INTO statement \
                     VALUES (1, 'Hello'), (2, 'World');\n\nINSERT INTO statement FORMAT TSV 1\\tHello\n",
                );
            }
            return Ok(None);
        }
        if byte(at) == Some(b'\r') {
            at += 1;
        }
        if byte(at) == Some(b'\n') {
            at += 1;
        }
        Ok((at < self.text.len()).then_some(at))
    }

    /// `DELETE FROM table [ON CLUSTER c] [IN PARTITION p] WHERE …`.
    pub(super) fn delete(&mut self) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::FROM)?;
        let table = self.table_name()?;
        let cluster = self.on_cluster()?;
        let partition = self.in_partition()?;
        self.need_keyword(K::WHERE)?;
        let filter = self.expression()?;
        let settings = self.settings_clause()?;
        Ok(Statement::Delete(Box::new(Delete { table, cluster, partition, filter, settings })))
    }

    /// `UPDATE table [ON CLUSTER c] SET … [IN PARTITION p] WHERE …`.
    pub(super) fn update(&mut self) -> Parsed<Statement> {
        self.advance();
        let table = self.table_name()?;
        let cluster = self.on_cluster()?;
        self.need_keyword(K::SET)?;
        let assignments = self.list(|p| p.assignment())?;
        let partition = self.in_partition()?;
        self.need_keyword(K::WHERE)?;
        let filter = self.expression()?;
        let settings = self.settings_clause()?;
        Ok(Statement::Update(Box::new(Update { table, cluster, assignments, partition, filter, settings })))
    }
}

/// The first SELECT of a query.
fn first_select(body: &mut QueryBody) -> Option<&mut crate::ast::Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation(operation) => operation.operands.first_mut().and_then(first_select),
    }
}
