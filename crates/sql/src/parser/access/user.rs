//! CREATE and ALTER USER: ways of authentication, hosts, roles.

use super::super::{K, Parsed, Parser, T};
use crate::ast::{AccessEntity, AllowedHost, AuthenticationArgument, AuthenticationMethod, Literal, UserDefinition};

impl Parser<'_> {
    pub(super) fn user_definition(&mut self, alter: bool, entity: &mut AccessEntity) -> Parsed<UserDefinition> {
        let mut user = UserDefinition::default();
        loop {
            let start = self.position;
            if alter && self.keywords(&[K::RESET, K::AUTHENTICATION, K::METHODS], "RESET AUTHENTICATION METHODS TO NEW")
            {
                self.need_keyword(K::TO)?;
                self.need_keyword(K::NEW)?;
                user.reset_authentication = true;
                continue;
            }
            if alter && self.at_keyword(K::ADD) && matches!(self.ahead(1).keyword, K::IDENTIFIED | K::NOT) {
                self.advance();
                user.add_authentication = true;
            }
            if self.at_keyword(K::IDENTIFIED) || (self.at_keyword(K::NOT) && self.keyword_ahead(1, K::IDENTIFIED)) {
                self.authentication(&mut user)?;
                continue;
            }
            if alter && matches!(self.peek().keyword, K::ADD | K::DROP) && self.keyword_ahead(1, K::HOST) {
                let add = self.at_keyword(K::ADD);
                self.skip(2);
                let hosts = self.hosts()?;
                *(if add { &mut user.add_hosts } else { &mut user.drop_hosts }) = Some(hosts);
                continue;
            }
            if self.keyword(K::HOST) {
                user.hosts = Some(self.hosts()?);
            } else if self.keywords(&[K::VALID, K::UNTIL], "VALID UNTIL") {
                user.valid_until = Some(self.expression()?);
            } else if self.keywords(&[K::DEFAULT, K::ROLE], "DEFAULT ROLE") {
                user.default_roles = Some(self.role_set()?);
            } else if self.keywords(&[K::DEFAULT, K::DATABASE], "DEFAULT DATABASE") {
                let none = self.word_ahead(0, "NONE");
                if none {
                    self.advance();
                }
                user.default_database = Some(if none { None } else { Some(self.identifier()?) });
            } else if self.keyword(K::GRANTEES) {
                if self.at(T::OpenCurly) {
                    return self.fail("RolesOrUsersSet");
                }
                user.grantees = Some(self.role_set()?);
            } else if entity.cluster.is_none()
                && let Some(cluster) = self.on_cluster()?
            {
                entity.cluster = Some(cluster);
            } else if user.settings.is_none()
                && let Some(settings) = self.access_settings(alter)?
            {
                user.settings = Some(settings);
            } else if self.at_keyword(K::IN) && entity.storage.is_none() {
                self.advance();
                entity.storage = Some(self.identifier()?);
            }
            if self.position == start {
                return Ok(user);
            }
        }
    }

    /// `IDENTIFIED …`, `NOT IDENTIFIED`; several methods are separated by commas.
    fn authentication(&mut self, user: &mut UserDefinition) -> Parsed<()> {
        if self.keyword(K::NOT) {
            self.need_keyword(K::IDENTIFIED)?;
            user.authentication.push(AuthenticationMethod {
                method: Some("no_password".into()),
                arguments: Vec::new(),
                valid_until: None,
            });
            return Ok(());
        }
        self.advance();
        loop {
            let method = self.authentication_method()?;
            user.authentication.push(method);
            let more = self.at(T::Comma) && (self.keyword_ahead(1, K::BY) || self.ahead(1).kind == T::Word);
            if !more {
                return Ok(());
            }
            self.advance();
        }
    }

    fn authentication_method(&mut self) -> Parsed<AuthenticationMethod> {
        let mut method = AuthenticationMethod { method: None, arguments: Vec::new(), valid_until: None };
        if self.keyword(K::WITH) || !matches!(self.peek().keyword, K::BY) {
            method.method = Some(self.identifier()?.value.to_ascii_lowercase());
        }
        loop {
            let keyword = match self.peek().keyword {
                K::BY => "BY",
                K::SALT => "SALT",
                K::SERVER => "SERVER",
                K::REALM => "REALM",
                K::CN => "CN",
                K::SAN => "SAN",
                K::SCHEME => "SCHEME",
                K::KEY => "KEY",
                K::TYPE => "TYPE",
                _ => break,
            };
            self.advance();
            // `BY KEY 'a' TYPE 't'`.
            if keyword == "BY" && self.at_keyword(K::KEY) {
                continue;
            }
            loop {
                let value =
                    if self.at(T::OpenCurly) { self.parameter_text()? } else { Literal::String(self.string()?) };
                method.arguments.push(AuthenticationArgument { keyword: keyword.to_string(), value });
                let same = self.at(T::Comma) && matches!(self.ahead(1).kind, T::String | T::HereDoc);
                if !same {
                    break;
                }
                self.advance();
            }
            // `BY KEY 'a' TYPE 't', KEY 'b' TYPE 'u'`.
            if self.at(T::Comma) && self.keyword_ahead(1, K::KEY) {
                self.advance();
            } else if self.at_keyword(K::BY) && keyword != "BY" {
                break;
            }
        }
        if self.keywords(&[K::VALID, K::UNTIL], "VALID UNTIL") {
            method.valid_until = Some(self.expression()?);
        }
        Ok(method)
    }

    /// `{name:Type}` as the text that it is.
    fn parameter_text(&mut self) -> Parsed<Literal> {
        let parameter = self.query_parameter()?;
        Ok(Literal::string(self.span_bytes(parameter.span)))
    }

    /// Hosts in ClickHouse's order: by kind, then as written.
    fn hosts(&mut self) -> Parsed<Vec<AllowedHost>> {
        let mut hosts = self.list(|p| p.host())?;
        hosts.sort_by_key(|host| match host {
            AllowedHost::Any | AllowedHost::None => 0,
            AllowedHost::Local => 1,
            AllowedHost::Ip(_) => 2,
            AllowedHost::Name(_) => 3,
            AllowedHost::Regexp(_) => 4,
            AllowedHost::Like(_) => 5,
        });
        Ok(hosts)
    }

    fn host(&mut self) -> Parsed<AllowedHost> {
        if self.keyword(K::ANY) {
            return Ok(AllowedHost::Any);
        }
        if self.keyword(K::LOCAL) {
            return Ok(AllowedHost::Local);
        }
        if self.word_ahead(0, "NONE") {
            self.advance();
            return Ok(AllowedHost::None);
        }
        if self.keyword(K::NAME) {
            if self.keyword(K::REGEXP) {
                return Ok(AllowedHost::Regexp(self.string_text()?));
            }
            return Ok(AllowedHost::Name(self.string_text()?));
        }
        if self.keyword(K::REGEXP) {
            return Ok(AllowedHost::Regexp(self.string_text()?));
        }
        if self.keyword(K::IP) {
            return Ok(AllowedHost::Ip(self.string_text()?));
        }
        self.need_keyword(K::LIKE)?;
        Ok(AllowedHost::Like(self.string_text()?))
    }
}
