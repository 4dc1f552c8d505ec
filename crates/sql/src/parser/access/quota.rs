//! CREATE and ALTER QUOTA: intervals and their limits.

use super::super::{K, Parsed, Parser, T};
use crate::ast::{QuotaDefinition, QuotaLimitKind, QuotaLimits};

impl Parser<'_> {
    pub(super) fn quota_definition(&mut self) -> Parsed<QuotaDefinition> {
        let mut quota = QuotaDefinition::default();
        loop {
            if self.keywords(&[K::NOT, K::KEYED], "NOT KEYED") {
                quota.keys = Some(Vec::new());
            } else if self.keywords(&[K::KEYED, K::BY], "KEYED BY") || self.keywords(&[K::KEY, K::BY], "KEY BY") {
                let round = self.accept(T::OpenRound);
                quota.keys = Some(self.list(|p| {
                    let key = p.identifier_or_string()?.value.to_ascii_lowercase().replace(' ', "_");
                    Ok(key)
                })?);
                if round {
                    self.need(T::CloseRound)?;
                }
            } else if self.word_ahead(0, "IPV4_PREFIX_BITS") {
                self.advance();
                quota.ipv4_prefix_bits = Some(self.unsigned()?);
            } else if self.word_ahead(0, "IPV6_PREFIX_BITS") {
                self.advance();
                quota.ipv6_prefix_bits = Some(self.unsigned()?);
            } else if self.at_keyword(K::FOR) || (self.at(T::Comma) && self.keyword_ahead(1, K::FOR)) {
                let _ = self.accept(T::Comma);
                self.advance();
                quota.limits.push(self.quota_limits()?);
            } else if quota.to.is_none() && self.keyword(K::TO) {
                quota.to = Some(self.role_set()?);
            } else {
                return Ok(quota);
            }
        }
    }

    fn quota_limits(&mut self) -> Parsed<QuotaLimits> {
        let randomized = self.keyword(K::RANDOMIZED);
        let _ = self.keyword(K::INTERVAL);
        let interval = self.time_amount()?;
        let kind = if self.keywords(&[K::NO, K::LIMITS], "NO LIMITS") {
            QuotaLimitKind::NoLimits
        } else if self.keywords(&[K::TRACKING, K::ONLY], "TRACKING ONLY") {
            QuotaLimitKind::TrackingOnly
        } else {
            self.need_keyword(K::MAX)?;
            let mut limits = Vec::new();
            loop {
                let _ = self.keyword(K::MAX);
                let mut name = self.identifier()?.value.to_ascii_lowercase();
                while self.at(T::Word) {
                    name.push('_');
                    name.push_str(&self.identifier()?.value.to_ascii_lowercase());
                }
                let _ = self.accept(T::Equals);
                limits.push((name, self.literal()?));
                if !self.at(T::Comma) || self.keyword_ahead(1, K::FOR) {
                    break;
                }
                self.advance();
            }
            QuotaLimitKind::Max(limits)
        };
        Ok(QuotaLimits { randomized, interval, kind })
    }
}
