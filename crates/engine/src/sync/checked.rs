//! The same names in tests: each is the real thing, or shuttle's where a model runs on this thread. So one build of the tests serves both.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

thread_local! {
    /// A model's threads are fibres of the thread that runs it.
    static IS_MODEL: Cell<bool> = const { Cell::new(false) };
}

/// Runs a model: all that is made within it is shuttle's.
pub(crate) fn within_model(run: impl FnOnce()) {
    IS_MODEL.set(true);
    run();
    IS_MODEL.set(false);
}

#[derive(Debug)]
enum Either<R, M> {
    Real(R),
    Model(M),
}

impl<R, M> Either<R, M> {
    fn new(real: impl FnOnce() -> R, model: impl FnOnce() -> M) -> Self {
        if IS_MODEL.get() { Self::Model(model()) } else { Self::Real(real()) }
    }
}

#[derive(Debug)]
pub(crate) struct Mutex<T>(Either<parking_lot::Mutex<T>, shuttle::sync::Mutex<T>>);

#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Either<parking_lot::MutexGuard<'a, T>, shuttle::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(match IS_MODEL.get() {
            true => Either::Model(shuttle::sync::Mutex::new(value)),
            false => Either::Real(parking_lot::Mutex::new(value)),
        })
    }

    /// Never poisoned: shuttle's lock is taken as it is.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(match &self.0 {
            Either::Real(mutex) => Either::Real(mutex.lock()),
            Either::Model(mutex) => Either::Model(mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)),
        })
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Either::Real(guard) => guard,
            Either::Model(guard) => guard,
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Either::Real(guard) => guard,
            Either::Model(guard) => guard,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Thread(Either<std::thread::Thread, shuttle::thread::Thread>);

/// The thread, or the model's, that calls.
pub(crate) fn current() -> Thread {
    Thread(Either::new(std::thread::current, shuttle::thread::current))
}

impl Thread {
    pub(crate) fn unpark(&self) {
        match &self.0 {
            Either::Real(thread) => thread.unpark(),
            Either::Model(thread) => thread.unpark(),
        }
    }
}

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::Ordering;

    use super::Either;

    /// An atomic of std's name with those of its methods that the engine calls.
    macro_rules! atomic {
        ($name:ident of $value:ty { $($method:ident($($argument:ident: $kind:ty),*) -> $result:ty;)* }) => {
            #[derive(Debug)]
            pub(crate) struct $name(Either<std::sync::atomic::$name, shuttle::sync::atomic::$name>);

            impl $name {
                pub(crate) fn new(value: $value) -> Self {
                    let real = || std::sync::atomic::$name::new(value);
                    Self(Either::new(real, || shuttle::sync::atomic::$name::new(value)))
                }

                $(pub(crate) fn $method(&self, $($argument: $kind),*) -> $result {
                    match &self.0 {
                        Either::Real(atomic) => atomic.$method($($argument),*),
                        Either::Model(atomic) => atomic.$method($($argument),*),
                    }
                })*
            }

            impl From<$value> for $name {
                fn from(value: $value) -> Self {
                    Self::new(value)
                }
            }
        };
    }

    atomic!(AtomicBool of bool {
        load(order: Ordering) -> bool;
        store(value: bool, order: Ordering) -> ();
        swap(value: bool, order: Ordering) -> bool;
    });

    atomic!(AtomicU64 of u64 {
        load(order: Ordering) -> u64;
        store(value: u64, order: Ordering) -> ();
        fetch_add(value: u64, order: Ordering) -> u64;
    });

    atomic!(AtomicUsize of usize {
        load(order: Ordering) -> usize;
        store(value: usize, order: Ordering) -> ();
        fetch_add(value: usize, order: Ordering) -> usize;
        fetch_sub(value: usize, order: Ordering) -> usize;
        fetch_or(value: usize, order: Ordering) -> usize;
        fetch_update(set: Ordering, fetch: Ordering, change: impl FnMut(usize) -> Option<usize>) -> Result<usize, usize>;
    });
}

mod tests {
    use std::sync::Arc;

    use super::atomic::{AtomicUsize, Ordering};
    use super::{Mutex, within_model};

    fn counted(add: impl Fn(&AtomicUsize) + Send + Sync + 'static) -> usize {
        let (count, add) = (Arc::new(AtomicUsize::new(0)), Arc::new(add));
        let (of_other, add_too) = (count.clone(), add.clone());
        let other = shuttle::thread::spawn(move || add_too(&of_other));
        add(&count);
        other.join().ok();
        count.load(Ordering::SeqCst)
    }

    fn add_in_two_steps(count: &AtomicUsize) {
        let before = count.load(Ordering::SeqCst);
        count.store(before + 1, Ordering::SeqCst);
    }

    #[test]
    #[should_panic(expected = "one was lost")]
    fn a_model_finds_what_two_threads_do_between_each_other() {
        within_model(|| shuttle::check_random(|| assert_eq!(counted(add_in_two_steps), 2, "one was lost"), 1_000));
    }

    #[test]
    fn a_lock_keeps_them_apart() {
        within_model(|| {
            let model = || {
                let lock = Mutex::new(());
                let add = move |count: &AtomicUsize| {
                    let _guard = lock.lock();
                    add_in_two_steps(count);
                };
                assert_eq!(counted(add), 2);
            };
            shuttle::check_random(model, 1_000);
        });
    }
}
