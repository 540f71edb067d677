//! Tasks are done once each, whatever becomes of some of them.

use std::{
    collections::HashSet,
    sync::{Barrier, Mutex},
};

use super::*;

#[test]
fn every_task_is_done_once() {
    for threads in 0..=4 {
        Team::with(threads, |team| {
            for count in (0..20).chain([1000]) {
                let done: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                team.run(count, |task| _ = done[task].fetch_add(1, Ordering::Relaxed)).unwrap();
                for (task, times) in done.into_iter().enumerate() {
                    let times = times.into_inner();
                    assert_eq!(times, 1, "task {task} of {count} on {threads} threads");
                }
            }
        });
    }
}

#[test]
fn all_threads_take_part_in_one_work_after_another() {
    const THREADS: usize = 3;
    Team::with(THREADS, |team| {
        for _ in 0..50 {
            // Every task waits until each thread has one.
            let (all, ids) = (Barrier::new(THREADS), Mutex::new(HashSet::new()));
            team.run(THREADS, |_| {
                all.wait();
                ids.lock().unwrap().insert(thread::current().id());
            })
            .unwrap();
            let ids = ids.into_inner().unwrap();
            assert!(ids.contains(&thread::current().id()));
            assert_eq!(ids.len(), THREADS);
        }
    });
}

#[test]
fn a_panic_on_any_thread_is_an_error_and_nothing_else() {
    Team::with(2, |team| {
        let leader = thread::current().id();
        for on_leader in [true, false] {
            let (both, done) = (Barrier::new(2), AtomicUsize::new(0));
            let result = team.run(50, |task| {
                if task < 2 {
                    both.wait();
                    let here = thread::current().id() == leader;
                    assert_ne!(here, on_leader, "as wanted");
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert!(result.is_err(), "on the leader: {on_leader}");
            assert_eq!(done.into_inner(), 49);
            assert!(team.run(50, |_| ()).is_ok(), "it can go on");
        }
    });
}

#[test]
fn a_leader_that_panics_keeps_nobody_waiting() {
    for threads in [1, 3] {
        let led = catch_unwind(|| Team::with(threads, |_| panic!("as wanted")));
        assert!(led.is_err());
    }
}
