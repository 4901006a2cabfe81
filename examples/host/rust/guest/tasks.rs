//! Asynchronous functions on the ABI. The host enters the guest only through the exports below; each lets the tasks that can go on do so
//! until all of them wait for the host again, and returns.

use super::wasi;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

#[link(wasm_import_module = "http-proxy-abi")]
extern "C" {
    #[link_name = "request"]
    fn abi_request(pointer: *const u8, length: usize) -> u64;
}
#[link(wasm_import_module = "delay-abi")]
extern "C" {
    #[link_name = "delay"]
    fn abi_delay(milliseconds: u64) -> u64;
}
#[link(wasm_import_module = "kube-watch-abi")]
extern "C" {
    #[link_name = "watch"]
    fn abi_watch(pointer: *const u8, length: usize) -> u64;
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// What has come for an operation and was not taken yet.
#[derive(Default)]
struct Inbox {
    values: VecDeque<Vec<u8>>,
    /// The last value has come.
    is_over: bool,
    /// The task that waits for the next value.
    waiting: Option<u64>,
    /// Nobody will take further values: they are dropped when they come.
    is_abandoned: bool,
}

#[derive(Default)]
struct Scheduler {
    /// The tasks that wait. The one that runs is not among them.
    tasks: BTreeMap<u64, Task>,
    started: u64,
    running: u64,
    ready: VecDeque<u64>,
    inboxes: BTreeMap<u64, Inbox>,
}

thread_local! {
    static SCHEDULER: RefCell<Scheduler> = RefCell::default();
}

fn with<Result>(act: impl FnOnce(&mut Scheduler) -> Result) -> Result {
    SCHEDULER.with(|scheduler| act(&mut scheduler.borrow_mut()))
}

/// Starts a task. It runs as soon as all others wait.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    with(|scheduler| {
        scheduler.started += 1;
        scheduler.tasks.insert(scheduler.started, Box::pin(task));
        scheduler.ready.push_back(scheduler.started);
    })
}

/// An operation of the host: a request or a delay, which has one value, or a watch, which has many. Dropping it does not end a watch
/// in the host, but nothing more is heard of it.
pub struct Operation {
    id: u64,
}

impl Operation {
    fn new(id: u64) -> Self {
        with(|scheduler| scheduler.inboxes.insert(id, Inbox::default()));
        Operation { id }
    }

    /// Waits for the next value; nothing if a delay is over or a watch has ended.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        NextValue { id: self.id }.await
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        with(|scheduler| {
            let inbox = scheduler.inboxes.entry(self.id).or_default();
            inbox.values.clear();
            inbox.is_abandoned = true;
            if inbox.is_over {
                scheduler.inboxes.remove(&self.id);
            }
        })
    }
}

struct NextValue {
    id: u64,
}

impl Future for NextValue {
    type Output = Option<Vec<u8>>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        with(|scheduler| {
            let inbox = scheduler.inboxes.entry(self.id).or_default();
            match inbox.values.pop_front() {
                Some(value) => Poll::Ready(Some(value)),
                None if inbox.is_over => Poll::Ready(None),
                None => {
                    inbox.waiting = Some(scheduler.running);
                    Poll::Pending
                }
            }
        })
    }
}

/// Sends an encoded request.
pub fn start_request(bytes: &[u8]) -> Operation {
    Operation::new(unsafe { abi_request(bytes.as_ptr(), bytes.len()) })
}

/// Registers an encoded watch.
pub fn start_watch(bytes: &[u8]) -> Operation {
    Operation::new(unsafe { abi_watch(bytes.as_ptr(), bytes.len()) })
}

/// Waits for that many milliseconds.
pub async fn delay(milliseconds: u64) {
    Operation::new(unsafe { abi_delay(milliseconds) })
        .next()
        .await;
}

/// Only the host wakes a task, through its inbox.
struct NoWaker;

impl Wake for NoWaker {
    fn wake(self: Arc<Self>) {}
}

fn run_until_stalled() {
    let waker = Waker::from(Arc::new(NoWaker));
    let mut context = Context::from_waker(&waker);
    while let Some(id) = with(|scheduler| scheduler.ready.pop_front()) {
        // The task is taken out while it runs, because it starts others and asks the host meanwhile.
        let mut task = match with(|scheduler| scheduler.tasks.remove(&id)) {
            Some(task) => task,
            None => continue,
        };
        with(|scheduler| scheduler.running = id);
        if task.as_mut().poll(&mut context).is_pending() {
            with(|scheduler| scheduler.tasks.insert(id, task));
        }
    }
}

fn deliver(id: u64, value: Option<Vec<u8>>, is_last: bool) {
    with(|scheduler| {
        let inbox = scheduler
            .inboxes
            .get_mut(&id)
            .filter(|inbox| !inbox.is_over);
        let inbox = inbox.expect("a wake-up of an operation that was never asked for, or is over");
        inbox.is_over = is_last;
        if !inbox.is_abandoned {
            inbox.values.extend(value);
            scheduler.ready.extend(inbox.waiting.take());
        } else if is_last {
            scheduler.inboxes.remove(&id);
        }
    });
    run_until_stalled()
}

/// Takes over the memory of a value that the host wrote; pointer 0 is no value.
fn value(pointer: *mut u8, length: usize) -> Option<Vec<u8>> {
    if pointer.is_null() {
        return None;
    }
    // What `allocate` returned for exactly this length.
    Some(unsafe { Box::from_raw(std::slice::from_raw_parts_mut(pointer, length)) }.into_vec())
}

#[no_mangle]
pub extern "C" fn run() {
    // This target has no standard error output: without this a panic would be a trap that says nothing.
    std::panic::set_hook(Box::new(|panic| wasi::log_error(&panic.to_string())));
    spawn(crate::start());
    run_until_stalled()
}

#[no_mangle]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; size].into_boxed_slice()).cast()
}

#[no_mangle]
pub extern "C" fn wakeup_future(id: u64, pointer: *mut u8, length: usize) {
    deliver(id, value(pointer, length), true)
}

#[no_mangle]
pub extern "C" fn wakeup_stream(id: u64, pointer: *mut u8, length: usize) {
    deliver(id, value(pointer, length), pointer.is_null())
}
