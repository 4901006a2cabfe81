//! Timers on delays of the host. All of them share few delays, because the host cannot take one back and counts those that are open: kube starts a
//! timer of minutes for each event of a watch.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

#[link(wasm_import_module = "delay-abi")]
extern "C" {
    #[link_name = "delay"]
    fn abi_delay(milliseconds: u64) -> u64;
}

#[derive(Default)]
struct Timers {
    /// By deadline, and by number where deadlines are equal.
    waiting: BTreeMap<(Instant, u64), Waker>,
    started: u64,
    /// Open delays of the host, and when each is over.
    delays: HashMap<u64, Instant>,
}

impl Timers {
    /// Sees to it that the host wakes us for the first of those that wait.
    fn ask(&mut self) {
        let Some(((first, _), _)) = self.waiting.first_key_value() else { return };
        if self.delays.values().any(|end| end <= first) {
            return;
        }
        let left = first.saturating_duration_since(Instant::now());
        // Rounded up: what wakes us earlier would have to be asked for again.
        let milliseconds = left.as_nanos().div_ceil(1_000_000).max(1);
        let id = unsafe { abi_delay(u64::try_from(milliseconds).unwrap_or(u64::MAX)) };
        self.delays.insert(id, *first);
    }
}

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
}

/// Whether the operation was a delay of ours. Wakes the tasks whose timers are over.
pub(crate) fn elapsed(id: u64) -> bool {
    let due = TIMERS.with_borrow_mut(|timers| {
        timers.delays.remove(&id)?;
        let later = timers.waiting.split_off(&(Instant::now(), u64::MAX));
        let due = std::mem::replace(&mut timers.waiting, later);
        timers.ask();
        Some(due)
    });
    let is_ours = due.is_some();
    due.into_iter().flatten().for_each(|(_, waker)| waker.wake());
    is_ours
}

/// Is over at its deadline, or as soon afterwards as the host wakes the module.
#[derive(Debug)]
pub struct Timer {
    deadline: Instant,
    /// Its number among those that wait.
    number: Option<u64>,
}

impl Timer {
    pub fn new(deadline: Instant) -> Self {
        Timer { deadline, number: None }
    }

    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    pub fn reset(&mut self, deadline: Instant) {
        self.forget();
        self.deadline = deadline;
    }

    pub fn poll_elapsed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            self.forget();
            return Poll::Ready(());
        }
        // Dropped outside, as the last waker of a task may drop timers with it.
        let _former = TIMERS.with_borrow_mut(|timers| {
            let number = *self.number.get_or_insert_with(|| {
                timers.started += 1;
                timers.started
            });
            let former = timers.waiting.insert((self.deadline, number), context.waker().clone());
            timers.ask();
            former
        });
        Poll::Pending
    }

    fn forget(&mut self) {
        if let Some(number) = self.number.take() {
            TIMERS.with_borrow_mut(|timers| timers.waiting.remove(&(self.deadline, number)));
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.forget()
    }
}
