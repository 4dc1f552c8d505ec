//! The open loop: requests are due at moments of their own, whether the server keeps up or not. Here is when they are due, and the queue in
//! which those that are due wait for a client that is free. A request's latency counts from the moment at which it was due, so a server
//! that stops for a second is seen to have kept everybody waiting who came in that second (no coordinated omission).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::datagen::Random;

/// How the gaps between two requests are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// Exponentially, as independent clients come.
    #[default]
    Poisson,
    /// All alike.
    Constant,
}

/// The moments at which requests are due.
#[derive(Debug)]
pub struct Schedule {
    due: Instant,
    seconds: f64,
    gaps: Gaps,
    random: Random,
}

impl Schedule {
    /// From `begin` on, `rate` a second.
    pub fn new(begin: Instant, rate: f64, gaps: Gaps, random: Random) -> Self {
        Schedule { due: begin, seconds: 1.0 / rate, gaps, random }
    }

    /// The next moment.
    pub fn next_due(&mut self) -> Instant {
        let seconds = match self.gaps {
            Gaps::Constant => self.seconds,
            Gaps::Poisson => -(1.0 - self.random.unit()).ln() * self.seconds,
        };
        self.due += Duration::from_secs_f64(seconds);
        self.due
    }
}

/// Requests that are due, and clients that wait for one.
#[derive(Debug, Default)]
pub struct Arrivals(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    due: VecDeque<Instant>,
    /// The client that became free last is called first, so that few connections are used where few are enough.
    free: Vec<Waker>,
    closed: bool,
}

impl Arrivals {
    /// A request is due. Returns whether a client was free.
    pub fn push(&self, due: Instant) -> bool {
        let mut queue = self.0.lock();
        queue.due.push_back(due);
        let free = queue.free.pop();
        drop(queue);
        free.map(Waker::wake).is_some()
    }

    /// Takes out requests that were due before `moment`; returns how many there were.
    pub fn expire(&self, moment: Instant) -> Vec<Instant> {
        let mut queue = self.0.lock();
        let expired = queue.due.iter().take_while(|&&due| due < moment).count();
        queue.due.drain(..expired).collect()
    }

    /// No more requests come.
    pub fn close(&self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        queue.free.drain(..).for_each(Waker::wake);
    }

    /// The next request that is due, for a client that is free; none once there are no more.
    pub async fn next(&self) -> Option<Instant> {
        poll_fn(|context| {
            let mut queue = self.0.lock();
            match queue.due.pop_front() {
                Some(due) => Poll::Ready(Some(due)),
                None if queue.closed => Poll::Ready(None),
                None => {
                    queue.free.push(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// A timer of the kernel, exact to some microseconds; tokio's counts whole milliseconds, which would be in every latency.
#[derive(Debug)]
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// Makes it, within a tokio runtime.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open and nobody else closes it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the descriptor is open, and owned by what it becomes part of.
        Ok(Timer(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?))
    }

    /// Waits until `moment`.
    ///
    /// # Errors
    /// What the kernel says.
    pub async fn until(&self, moment: Instant) -> io::Result<()> {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let value = libc::timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::from(left.subsec_nanos() as i32),
            };
            let setting = libc::itimerspec { it_interval: none, it_value: value };
            // SAFETY: the descriptor is a timer's, the setting lives through the call, and the old one is not asked for.
            let failed = unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &setting, std::ptr::null_mut()) } != 0;
            if failed {
                return Err(io::Error::last_os_error());
            }
            // Setting it anew has taken back what it said before, but not tokio's memory of it.
            self.0.readable().await?.clear_ready();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_keep_their_rate() {
        let begin = Instant::now();
        for gaps in [Gaps::Constant, Gaps::Poisson] {
            let mut schedule = Schedule::new(begin, 1000.0, gaps, Random::new(1, 1));
            let last = (0..100_000).map(|_| schedule.next_due()).last().unwrap();
            let seconds = (last - begin).as_secs_f64();
            // Six standard deviations of the sum.
            assert!((98.0..102.0).contains(&seconds), "{gaps:?}: {seconds}");
        }
    }

    #[tokio::test]
    async fn requests_wait_in_turn_and_none_is_lost() {
        let arrivals = Arrivals::default();
        let now = Instant::now();
        assert!(!arrivals.push(now));
        assert!(!arrivals.push(now + Duration::from_secs(1)));
        assert!(!arrivals.push(now + Duration::from_secs(2)));
        assert_eq!(arrivals.expire(now + Duration::from_millis(1)), [now]);
        assert_eq!(arrivals.next().await, Some(now + Duration::from_secs(1)));
        arrivals.close();
        assert_eq!(arrivals.next().await, Some(now + Duration::from_secs(2)));
        assert_eq!(arrivals.next().await, None);
    }

    #[tokio::test]
    async fn timers_never_fire_early() {
        let timer = Timer::new().unwrap();
        for microseconds in [0, 50, 700, 100] {
            let moment = Instant::now() + Duration::from_micros(microseconds);
            timer.until(moment).await.unwrap();
            assert!(Instant::now() >= moment);
        }
    }
}
