//! Whether a view is to be refreshed now: its schedule, what has become of earlier refreshes, those of the views that it depends on, and what
//! people ask for. Times are given.

use squall_types::Result;

use super::schedule::Schedule;

/// How often a refresh that fails is tried again, and after how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retries {
    pub(crate) max: i64,
    pub(crate) initial_ms: i64,
    pub(crate) max_ms: i64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { max: 2, initial_ms: 100, max_ms: 60_000 }
    }
}

/// Where a view stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Turns {
    pub(crate) schedule: Schedule,
    pub(crate) retries: Retries,
    /// What counts as done; nothing of a view that is to be filled at once.
    pub(crate) completed: Option<i64>,
    /// Attempts at the present refresh that have failed.
    pub(crate) failures: i64,
    retry_at_ms: Option<i64>,
    /// `SYSTEM REFRESH VIEW`.
    is_wanted: bool,
    /// `SYSTEM STOP VIEW`.
    pub(crate) is_stopped: bool,
    /// Where in the span of RANDOMIZE FOR the next refresh falls, from 0 to 1.
    chance: f64,
    /// When the refresh that runs began, and whether it is out of the schedule.
    pub(crate) running: Option<(i64, bool)>,
}

/// What is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It is refreshed.
    Now,
    /// It is its turn at a time, in milliseconds since 1970.
    At(i64),
    /// Others come first.
    AfterOthers,
    /// It is being refreshed.
    Running,
    /// Somebody has stopped it.
    Stopped,
}

/// What a view knows of another that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dependency {
    pub(crate) completed: Option<i64>,
    /// When it is due next.
    pub(crate) next: Option<i64>,
}

impl Turns {
    pub(crate) fn new(schedule: Schedule, retries: Retries, completed: Option<i64>, chance: f64) -> Self {
        let (failures, retry_at_ms, is_wanted, is_stopped, running) = (0, None, false, false, None);
        Self { schedule, retries, completed, failures, retry_at_ms, is_wanted, is_stopped, chance, running }
    }

    /// When it is due next, but for RANDOMIZE FOR; nothing where that is at once.
    pub(crate) fn next(&self) -> Option<i64> {
        self.completed.map(|completed| self.schedule.next(completed))
    }

    /// As others see it who depend on it.
    pub(crate) fn as_dependency(&self) -> Dependency {
        Dependency { completed: self.completed, next: self.next() }
    }

    /// What is next. `dependencies` are the views that it depends on; `None` for one that is not there.
    pub(crate) fn turn(&self, now_ms: i64, dependencies: &[Option<Dependency>]) -> Turn {
        if self.running.is_some() {
            return Turn::Running;
        }
        if self.is_stopped {
            return Turn::Stopped;
        }
        if self.is_wanted {
            return Turn::Now;
        }
        if let Some(at) = self.retry_at_ms {
            return if at <= now_ms { Turn::Now } else { Turn::At(at) };
        }
        if !dependencies.iter().all(|dependency| dependency.is_some_and(|other| self.may_follow(other))) {
            return Turn::AfterOthers;
        }
        let Some(next) = self.next() else { return Turn::Now };
        let at = match (self.schedule.has_points(), dependencies.is_empty()) {
            // It comes so long after those that it depends on.
            (false, false) => {
                let last = dependencies.iter().flatten().filter_map(|other| other.completed).max();
                last.map_or(next, |last| self.schedule.next(last))
            }
            _ => next,
        };
        let at = self.schedule.spread(at, self.chance).saturating_mul(1000);
        if at <= now_ms { Turn::Now } else { Turn::At(at) }
    }

    /// Whether another one has done what this one's next refresh waits for: the same point in time, or a refresh since its own last.
    fn may_follow(&self, other: Dependency) -> bool {
        match (self.next(), self.schedule.has_points()) {
            (None, _) => other.completed.is_some(),
            (Some(next), true) => other.next.is_some_and(|others| others > next),
            (Some(_), false) => other.completed > self.completed,
        }
    }

    /// A refresh begins.
    pub(crate) fn begin(&mut self, now_ms: i64) {
        let is_early =
            self.next().is_some_and(|next| self.schedule.spread(next, self.chance) > now_ms.div_euclid(1000));
        let is_out_of_schedule = std::mem::take(&mut self.is_wanted) && is_early;
        if self.retry_at_ms.take().is_none() {
            self.failures = 0;
        }
        self.running = Some((now_ms, is_out_of_schedule));
    }

    /// The refresh that ran has ended. Where it has failed too often, the next one is that of the schedule.
    pub(crate) fn end(&mut self, now_ms: i64, result: &Result<()>, chance: f64) {
        let Some((began_ms, is_out_of_schedule)) = self.running.take() else { return };
        if result.is_err() {
            self.failures += 1;
            if self.retries.max < 0 || self.failures <= self.retries.max {
                let doubled = self.retries.initial_ms.saturating_mul(1 << (self.failures - 1).clamp(0, 32));
                self.retry_at_ms = Some(now_ms.saturating_add(doubled.min(self.retries.max_ms)));
                return;
            }
        } else {
            self.failures = 0;
        }
        self.give_up(began_ms, now_ms, is_out_of_schedule, chance);
    }

    /// The refresh that ran was cancelled: the next one is that of the schedule.
    pub(crate) fn cancel(&mut self, now_ms: i64, chance: f64) {
        if let Some((began_ms, is_out_of_schedule)) = self.running.take() {
            self.give_up(began_ms, now_ms, is_out_of_schedule, chance);
        }
    }

    fn give_up(&mut self, began_ms: i64, now_ms: i64, is_out_of_schedule: bool, chance: f64) {
        let [began, ended] = [began_ms, now_ms].map(|time| time.div_euclid(1000));
        self.completed = Some(self.schedule.completed(self.completed, began, ended, is_out_of_schedule));
        self.retry_at_ms = None;
        self.chance = chance;
    }

    /// Somebody wants it refreshed at once.
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
        self.failures = 0;
    }

    /// Whether an attempt has failed and another one follows.
    pub(crate) fn is_retried(&self) -> bool {
        self.retry_at_ms.is_some()
    }

    /// It follows another clause from now on.
    pub(crate) fn reschedule(&mut self, schedule: Schedule, retries: Retries) {
        (self.schedule, self.retries) = (schedule, retries);
        (self.failures, self.retry_at_ms) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use squall_types::{Error, ErrorCode};

    use super::*;

    fn turns(clause: &str, completed: Option<i64>) -> Turns {
        let strategy = squall_sql::parse_refresh(clause, &squall_sql::ParserLimits::default()).unwrap();
        Turns::new(Schedule::of(&strategy).unwrap(), Retries::default(), completed, 0.5)
    }

    fn failed() -> Result<()> {
        Err(Error::new(ErrorCode::BAD_ARGUMENTS, "no"))
    }

    /// Runs views over a clock that jumps to whatever is next: when each was refreshed. Each refresh takes a second; `fails` says which fail.
    fn simulate(
        views: &mut [(&str, Turns, Vec<usize>)],
        until_s: i64,
        fails: impl Fn(usize, i64) -> bool,
    ) -> Vec<(i64, String)> {
        let (mut now, mut log) = (0, Vec::new());
        while now < until_s * 1000 {
            let mut soonest = until_s * 1000;
            for at in 0..views.len() {
                let dependencies: Vec<_> =
                    views[at].2.iter().map(|other| views.get(*other).map(|other| other.1.as_dependency())).collect();
                let (name, turns, _) = &mut views[at];
                if let Some((began, _)) = turns.running {
                    if began + 1000 <= now {
                        let result = if fails(at, began) { failed() } else { Ok(()) };
                        turns.end(now, &result, 0.5);
                        soonest = now;
                    } else {
                        soonest = soonest.min(began + 1000);
                    }
                    continue;
                }
                match turns.turn(now, &dependencies) {
                    Turn::Now => {
                        turns.begin(now);
                        log.push((now / 1000, (*name).to_owned()));
                        soonest = soonest.min(now + 1000);
                    }
                    Turn::At(time) => soonest = soonest.min(time.max(now + 1)),
                    Turn::AfterOthers | Turn::Running | Turn::Stopped => {}
                }
            }
            now = soonest;
        }
        log
    }

    fn of(log: &[(i64, String)], name: &str) -> Vec<i64> {
        log.iter().filter(|(_, view)| view == name).map(|(at, _)| *at).collect()
    }

    #[test]
    fn views_follow_their_schedules_and_those_that_they_depend_on() {
        let mut views = [
            ("hourly", turns("EVERY 1 HOUR", None), vec![]),
            ("after", turns("AFTER 10 MINUTE", Some(0)), vec![]),
            ("follows", turns("EVERY 1 HOUR", Some(0)), vec![0]),
            ("then", turns("AFTER 30 MINUTE", Some(0)), vec![0]),
            ("orphan", turns("EVERY 1 MINUTE", Some(0)), vec![9]),
        ];
        let log = simulate(&mut views, 3 * 3600, |_, _| false);
        assert_eq!(of(&log, "hourly"), [0, 3600, 7200]);
        assert_eq!(of(&log, "after")[..3], [600, 1201, 1802]);
        assert_eq!(of(&log, "follows"), [3601, 7201]);
        assert_eq!(of(&log, "then"), [3600 + 1800, 7200 + 1800]);
        assert!(of(&log, "orphan").is_empty());
    }

    #[test]
    fn a_refresh_that_fails_is_tried_again_and_then_waits_for_its_next_time() {
        let mut views =
            [("view", turns("EVERY 1 HOUR", None), vec![]), ("follows", turns("EVERY 1 HOUR", Some(0)), vec![0])];
        let log = simulate(&mut views, 2 * 3600, |at, began| at == 0 && began < 3_600_000 + 1);
        // Three attempts at once, a second each; at the next time one fails and the second does not.
        assert_eq!(of(&log, "view"), [0, 1, 2, 3600, 3601]);
        assert_eq!(views[0].1.failures, 0);
        assert_eq!(of(&log, "follows"), [3602]);
    }

    #[test]
    fn people_may_want_it_at_once_stop_it_and_cancel_it() {
        let mut view = turns("EVERY 1 HOUR", Some(0));
        assert_eq!(view.turn(5_000, &[]), Turn::At(3_600_000));
        view.want();
        assert_eq!(view.turn(5_000, &[None]), Turn::Now);
        view.begin(5_000);
        assert_eq!(view.turn(5_000, &[]), Turn::Running);
        view.end(9_000, &Ok(()), 0.5);
        assert_eq!((view.turn(9_000, &[]), view.completed), (Turn::At(3_600_000), Some(0)));
        view.is_stopped = true;
        assert_eq!(view.turn(3_600_000, &[]), Turn::Stopped);
        view.is_stopped = false;
        assert_eq!(view.turn(3_700_000, &[]), Turn::Now);
        view.begin(3_700_000);
        view.cancel(3_701_000, 0.5);
        assert_eq!(view.turn(3_701_000, &[]), Turn::At(7_200_000));
    }
}
