//! Parallel production with the results taken in order: what keeps generated data the same whatever the number of threads.

use std::sync::mpsc;

/// Makes the things `0..count` on `workers` threads and gives them to `take` in that order, until `take` fails. At most two
/// finished things a worker wait in memory.
///
/// # Errors
/// The first error of `take`.
pub fn in_order<T: Send, E>(
    count: u64,
    workers: usize,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let workers = workers.max(1);
    std::thread::scope(|scope| {
        // Worker w makes the things w, w + workers, w + 2 * workers, …, so taking from the workers in turn gives the order. Each
        // waits while its own channel is full, and stops when the receiver is gone.
        let made: Vec<mpsc::Receiver<T>> = (0..workers as u64)
            .map(|worker| {
                let (sender, receiver) = mpsc::sync_channel(1);
                let make = &make;
                scope.spawn(move || (worker..count).step_by(workers).try_for_each(|number| sender.send(make(number))));
                receiver
            })
            .collect();
        // A worker that panicked hangs up early; the scope then passes its panic on.
        made.iter().cycle().take(count as usize).map_while(|receiver| receiver.recv().ok()).try_for_each(&mut take)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_depend_on_workers() {
        for workers in [1, 2, 3, 16] {
            let mut taken = Vec::new();
            in_order(
                100,
                workers,
                |number| number * number,
                |square| {
                    taken.push(square);
                    Ok::<(), ()>(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..100).map(|number| number * number).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn an_error_stops_everyone() {
        let mut taken = 0;
        let outcome = in_order(
            u64::MAX,
            3,
            |number| number,
            |number| {
                taken += 1;
                if number == 10 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!((outcome, taken), (Err("full"), 11));
    }
}
