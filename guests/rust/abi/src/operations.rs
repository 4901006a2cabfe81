//! Requests and watches: each has an id, under which the host delivers its values. The exports of the ABI are here.

use crate::{tasks, timers};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

#[link(wasm_import_module = "http-proxy-abi")]
extern "C" {
    #[link_name = "request"]
    fn abi_request(pointer: *const u8, length: usize) -> u64;
}
#[link(wasm_import_module = "kube-watch-abi")]
extern "C" {
    #[link_name = "watch"]
    fn abi_watch(pointer: *const u8, length: usize) -> u64;
    #[link_name = "cancel"]
    fn abi_cancel(id: u64);
}

/// What has come for an operation and was not taken yet.
#[derive(Default)]
struct Inbox {
    values: VecDeque<Vec<u8>>,
    /// The last value has come.
    is_over: bool,
    waker: Option<Waker>,
}

thread_local! {
    /// Of the operations that somebody still waits for.
    static INBOXES: RefCell<HashMap<u64, Inbox>> = RefCell::default();
}

/// A request, which has one value, or a watch, which has many. Dropping a watch ends it in the host; a request is carried out all the same.
pub struct Operation {
    id: u64,
    is_watch: bool,
}

impl Operation {
    fn new(id: u64, is_watch: bool) -> Self {
        INBOXES.with_borrow_mut(|inboxes| inboxes.insert(id, Inbox::default()));
        Operation { id, is_watch }
    }

    /// The next value; `None` when there are no more.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        // The former waker is dropped outside, as the last one of a task may drop operations with it.
        let (value, _former) = INBOXES.with_borrow_mut(|inboxes| {
            let inbox = inboxes.entry(self.id).or_default();
            match inbox.values.pop_front() {
                Some(value) => (Poll::Ready(Some(value)), None),
                None if inbox.is_over => (Poll::Ready(None), None),
                None => (Poll::Pending, inbox.waker.replace(context.waker().clone())),
            }
        });
        value
    }

    /// Waits for the next value; `None` when there are no more.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        poll_fn(|context| self.poll_next(context)).await
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        let inbox = INBOXES.with_borrow_mut(|inboxes| inboxes.remove(&self.id));
        if self.is_watch && !inbox.is_some_and(|inbox| inbox.is_over) {
            unsafe { abi_cancel(self.id) }
        }
    }
}

/// Sends an encoded request. Its one value is an encoded response.
pub fn request(bytes: &[u8]) -> Operation {
    Operation::new(unsafe { abi_request(bytes.as_ptr(), bytes.len()) }, false)
}

/// Registers an encoded watch. Each value is the JSON of one event.
pub fn watch(bytes: &[u8]) -> Operation {
    Operation::new(unsafe { abi_watch(bytes.as_ptr(), bytes.len()) }, true)
}

fn deliver(id: u64, value: Option<Vec<u8>>, is_last: bool) {
    let waker = INBOXES.with_borrow_mut(|inboxes| {
        // Of an operation that nobody waits for any more the value is dropped.
        let inbox = inboxes.get_mut(&id)?;
        inbox.values.extend(value);
        inbox.is_over = is_last;
        inbox.waker.take()
    });
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Takes over the memory of a value that the host wrote; pointer 0 is no value.
fn value(pointer: *mut u8, length: usize) -> Option<Vec<u8>> {
    // It is what `allocate` returned for exactly this length.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(pointer, length)) }.into_vec())
}

/// The version of the ABI that this crate speaks.
const VERSION: u32 = 2;

/// Called once before all else, with the newest version that the host speaks. Returns the one that is spoken; 0 if there is none.
#[no_mangle]
extern "C" fn negotiate(newest: u32) -> u32 {
    if newest >= VERSION { VERSION } else { 0 }
}

#[no_mangle]
extern "C" fn allocate(size: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; size].into_boxed_slice()).cast()
}

#[no_mangle]
extern "C" fn wakeup_future(id: u64, pointer: *mut u8, length: usize) {
    if !timers::elapsed(id) {
        deliver(id, value(pointer, length), true);
    }
    tasks::run_until_stalled()
}

#[no_mangle]
extern "C" fn wakeup_stream(id: u64, pointer: *mut u8, length: usize) {
    deliver(id, value(pointer, length), pointer.is_null());
    tasks::run_until_stalled()
}
