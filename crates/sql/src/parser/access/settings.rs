//! SETTINGS of users, roles and profiles: values, bounds, and what ALTER changes of them.

use super::super::{K, Parsed, Parser, T};
use crate::ast::{AccessSetting, AccessSettings, Writability};

impl Parser<'_> {
    /// `SETTINGS …`, and for ALTER its `ADD`, `MODIFY` and `DROP`; none when nothing of it is there.
    pub(super) fn access_settings(&mut self, alter: bool) -> Parsed<Option<AccessSettings>> {
        let mut settings = AccessSettings::default();
        let mut any = false;
        loop {
            let next = self.ahead(1).keyword;
            let target = matches!(next, K::SETTING | K::SETTINGS | K::PROFILE | K::PROFILES);
            match self.peek().keyword {
                K::SETTING | K::SETTINGS | K::PROFILE | K::PROFILES if settings.replace.is_none() => {
                    if matches!(self.peek().keyword, K::SETTINGS | K::SETTING) {
                        self.advance();
                    }
                    settings.replace = Some(if self.word_ahead(0, "NONE") {
                        self.advance();
                        Vec::new()
                    } else {
                        self.list(|p| p.access_setting())?
                    });
                }
                K::DROP if alter && next == K::ALL => {
                    self.skip(2);
                    if self.keyword(K::SETTINGS) {
                        settings.drop_all_settings = true;
                    } else {
                        self.need_keyword(K::PROFILES)?;
                        settings.drop_all_profiles = true;
                    }
                }
                verb @ (K::ADD | K::MODIFY | K::DROP) if alter && target => {
                    self.skip(2);
                    let profiles = matches!(next, K::PROFILE | K::PROFILES);
                    let mut list = Vec::new();
                    loop {
                        list.push(if profiles {
                            AccessSetting::Profile(self.identifier_or_string()?.value)
                        } else {
                            self.access_setting()?
                        });
                        let clause = matches!(self.ahead(1).keyword, K::ADD | K::MODIFY | K::DROP);
                        if !self.at(T::Comma) || (clause && self.ahead(2).kind == T::Word) {
                            break;
                        }
                        self.advance();
                    }
                    match verb {
                        K::ADD => settings.add.extend(list),
                        K::MODIFY => settings.modify.extend(list),
                        _ => settings.drop.extend(list),
                    }
                }
                _ => {
                    // ALTER replaces all by taking away what there is.
                    if alter && let Some(replace) = settings.replace.take() {
                        settings.drop_all_settings = true;
                        settings.drop_all_profiles = true;
                        settings.add.splice(0..0, replace);
                    }
                    return Ok(any.then_some(settings));
                }
            }
            any = true;
            if alter && self.at(T::Comma) && matches!(self.ahead(1).keyword, K::ADD | K::MODIFY | K::DROP) {
                self.advance();
            }
        }
    }

    fn access_setting(&mut self) -> Parsed<AccessSetting> {
        if matches!(self.peek().keyword, K::PROFILE | K::INHERIT) && self.ahead(1).kind != T::Equals {
            self.advance();
            return Ok(AccessSetting::Profile(self.identifier_or_string()?.value));
        }
        let name = self.dotted_name()?;
        let (mut value, mut min, mut max, mut writability) = (None, None, None, None);
        let mut disallowed = Vec::new();
        if self.accept(T::Equals) || matches!(self.peek().kind, T::Number | T::String | T::Minus) {
            value = Some(self.compound_literal()?);
        }
        loop {
            if self.keyword(K::MIN) {
                let _ = self.accept(T::Equals);
                min = Some(self.literal()?);
            } else if self.keyword(K::MAX) {
                let _ = self.accept(T::Equals);
                max = Some(self.literal()?);
            } else if self.keyword(K::DISALLOWED) {
                disallowed = self.round_list(|p| p.literal())?;
            } else if self.keyword(K::READONLY) || self.keyword(K::CONST) {
                writability = Some(Writability::Const);
            } else if self.keyword(K::WRITABLE) {
                writability = Some(Writability::Writable);
            } else if self.keyword(K::CHANGEABLE_IN_READONLY) {
                writability = Some(Writability::ChangeableInReadonly);
            } else {
                return Ok(AccessSetting::Setting { name, value, min, max, disallowed, writability });
            }
        }
    }
}
