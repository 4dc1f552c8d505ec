//! SYSTEM: the words of the command, then what its kind allows.

use super::{K, Parsed, Parser, T};
use crate::ast::{Literal, Statement, System, SystemArgument, SystemCommand, SystemTarget, TableName};

impl Parser<'_> {
    /// `SYSTEM …`.
    pub(super) fn system(&mut self) -> Parsed<Statement> {
        self.advance();
        let Some(command) = self.system_command() else {
            self.missed("SYSTEM command");
            return self.fail("RELOAD");
        };
        let mut system = System { command, cluster: self.on_cluster()?, tables: Vec::new(), arguments: Vec::new() };
        match command.target() {
            SystemTarget::None => {}
            SystemTarget::Table => system.tables.push(self.system_table()?),
            SystemTarget::OptionalTable => {
                if self.at_name() {
                    system.tables.push(self.system_table()?);
                }
            }
            SystemTarget::OptionalTables => {
                if self.at_name() {
                    system.tables = self.list(|p| p.system_table())?;
                }
            }
            SystemTarget::Arguments => {}
        }
        if system.cluster.is_none() {
            system.cluster = self.on_cluster()?;
        }
        // Options: `SYNC REPLICA t LIGHTWEIGHT FROM 'r1'`, `DROP REPLICA 'r' FROM TABLE t`.
        while !matches!(self.peek().kind, T::End | T::Semicolon) && !self.at_output() && !self.at_parallel() {
            system.arguments.push(self.system_argument()?);
        }
        Ok(Statement::System(Box::new(system)))
    }

    fn at_name(&mut self) -> bool {
        let clause = self.at_keyword(K::ON) && matches!(self.ahead(1).keyword, K::CLUSTER | K::VOLUME);
        matches!(self.peek().kind, T::Word | T::QuotedIdentifier | T::OpenCurly)
            && !clause
            && !self.at_output()
            && !self.at_parallel()
    }

    fn at_output(&mut self) -> bool {
        matches!(self.peek().keyword, K::FORMAT | K::SETTINGS) && self.ahead(1).kind == T::Word
    }

    pub(super) fn at_parallel(&mut self) -> bool {
        self.at_keyword(K::PARALLEL) && self.keyword_ahead(1, K::WITH)
    }

    /// The longest command whose words stand here.
    fn system_command(&mut self) -> Option<SystemCommand> {
        let mut found: Option<(SystemCommand, usize)> = None;
        for command in SystemCommand::ALL {
            let words = command.keywords();
            let length = words.split(' ').count();
            if found.is_some_and(|(_, longest)| longest >= length) {
                continue;
            }
            let matches = words.split(' ').enumerate().all(|(ahead, word)| {
                self.word_ahead(ahead, word) || (ahead == 0 && word == "CLEAR" && self.word_ahead(0, "DROP"))
            });
            if matches {
                found = Some((*command, length));
            }
        }
        let (command, length) = found?;
        self.skip(length);
        Some(command)
    }

    /// A table's name, which a string may be as well.
    fn system_table(&mut self) -> Parsed<TableName> {
        if matches!(self.peek().kind, T::String) {
            let table = self.identifier_or_string()?;
            let span = table.span;
            return Ok(TableName { database: None, table, uuid: None, span });
        }
        let mut name = self.table_name()?;
        // `RELOAD DICTIONARY` may name one of a file by a name with more dots.
        while self.accept(T::Dot) {
            name.table.value.push('.');
            name.table.value.push_str(&self.identifier()?.value);
        }
        Ok(name)
    }

    fn system_argument(&mut self) -> Parsed<SystemArgument> {
        let token = self.peek();
        match token.kind {
            T::Word if is_system_keyword(token.keyword) && self.ahead(1).kind != T::Dot => {
                self.advance();
                Ok(SystemArgument::Keyword(token.keyword.text().to_string()))
            }
            T::Word | T::QuotedIdentifier => Ok(SystemArgument::Name(self.dotted_name()?)),
            T::Comma => {
                self.advance();
                Ok(SystemArgument::Keyword(",".to_string()))
            }
            T::Number | T::Minus | T::String | T::HereDoc => {
                let value: Literal = self.literal()?;
                Ok(SystemArgument::Literal(value))
            }
            _ => self.fail("end of query"),
        }
    }
}

/// Whether a word after a command is one of the grammar's; others are names.
pub(crate) fn is_system_keyword(keyword: K) -> bool {
    matches!(
        keyword,
        K::ALL
            | K::AND
            | K::DATABASE
            | K::DAY
            | K::DEFAULT
            | K::EXCEPT
            | K::FOR
            | K::FROM
            | K::HOUR
            | K::LIGHTWEIGHT
            | K::MINUTE
            | K::MONTH
            | K::ON
            | K::PULL
            | K::SECOND
            | K::SET
            | K::SHARD
            | K::STRICT
            | K::TABLE
            | K::TIME
            | K::VOLUME
            | K::WEEK
            | K::WITH
            | K::YEAR
    )
}
