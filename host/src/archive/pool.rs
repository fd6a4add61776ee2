//! Workers that take jobs in turn and answer in order.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A job, and where its answer goes.
type Job<J, D> = (J, SyncSender<D>);
type Make<J, D> = dyn Fn() -> Box<dyn FnMut(J) -> D> + Send + Sync;

/// Threads, each with a state of its own. A thread starts when there is a job that no other waits for.
pub(super) struct Pool<J, D> {
    workers: usize,
    make: Arc<Make<J, D>>,
    jobs: Option<Sender<Job<J, D>>>,
    queue: Arc<Mutex<Receiver<Job<J, D>>>>,
    pending: VecDeque<Receiver<D>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static, D: Send + 'static> Pool<J, D> {
    /// At most `workers` threads; each calls `make` once and then what it got for every job.
    pub(super) fn new(workers: usize, make: impl Fn() -> Box<dyn FnMut(J) -> D> + Send + Sync + 'static) -> Self {
        let (jobs, queue) = channel();
        Self {
            workers: workers.max(1),
            make: Arc::new(make),
            jobs: Some(jobs),
            queue: Arc::new(Mutex::new(queue)),
            pending: VecDeque::new(),
            threads: Vec::new(),
        }
    }

    /// Whether as many jobs are under way as keep every worker busy and one waiting. The caller then takes an answer before it brings
    /// the next job: this bounds the memory.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() > self.workers
    }

    /// Starts `job`.
    pub(super) fn start(&mut self, job: J) {
        let (answer, pending) = sync_channel(1);
        self.pending.push_back(pending);
        if let Some(jobs) = &self.jobs {
            // Fails only if all workers panicked: `next` then says so.
            let _ = jobs.send((job, answer));
        }
        if self.threads.len() < self.workers.min(self.pending.len()) {
            let (make, queue) = (self.make.clone(), self.queue.clone());
            self.threads.push(std::thread::spawn(move || {
                let mut work = make();
                loop {
                    // The lock is held while waiting: one worker waits for a job, the others for the lock.
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((job, answer)) = job else { return };
                    // Nobody listens if the pool was dropped meanwhile.
                    let _ = answer.send(work(job));
                }
            }));
        }
    }

    /// The answer to the oldest job; `None` where none is under way.
    ///
    /// # Panics
    /// If the worker panicked.
    pub(super) fn next(&mut self) -> Option<D> {
        let answer = self.pending.pop_front()?.recv();
        Some(answer.expect("a worker panicked; its message is above"))
    }
}

impl<J, D> Drop for Pool<J, D> {
    fn drop(&mut self) {
        self.jobs = None;
        // Jobs that nobody waits for any more are not begun.
        while let Ok(queue) = self.queue.try_lock()
            && queue.try_recv().is_ok()
        {}
        for thread in self.threads.drain(..) {
            // A panic was reported where it happened, and to whoever waited for the answer.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn answers_come_in_order_whoever_is_faster() {
        let mut pool = Pool::new(3, || {
            Box::new(|job: u64| {
                std::thread::sleep(Duration::from_millis(job % 3 * 3));
                job * job
            })
        });
        let mut answers = Vec::new();
        for job in 0..50 {
            while pool.is_full() {
                answers.extend(pool.next());
            }
            pool.start(job);
        }
        while let Some(answer) = pool.next() {
            answers.push(answer);
        }
        assert_eq!(answers, (0..50).map(|job| job * job).collect::<Vec<_>>());
    }

    #[test]
    fn dropping_it_does_not_wait_for_jobs_in_the_queue() {
        let started = Arc::new(Mutex::new(0));
        let count = started.clone();
        let mut pool = Pool::new(1, move || {
            let count = count.clone();
            Box::new(move |(): ()| {
                *count.lock().unwrap() += 1;
                std::thread::sleep(Duration::from_millis(100));
            })
        });
        for _ in 0..100 {
            pool.start(());
        }
        drop(pool);
        assert!(*started.lock().unwrap() <= 2);
    }
}
