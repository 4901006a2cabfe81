//! The tasks of the module, on tokio's scheduler of one thread. It never waits: when nothing can go on, the call of the host returns.

use std::cell::RefCell;
use std::fmt::Debug;
use std::future::{poll_fn, Future};
use std::process::exit;
use std::task::{Poll, Waker};
use real_tokio::runtime::{Builder, Runtime};

/// Whether all tasks wait, and who wants to know.
#[derive(Default)]
struct Stall {
    is_reached: bool,
    waker: Option<Waker>,
}

thread_local! {
    static STALL: RefCell<Stall> = RefCell::default();
    static RUNTIME: Runtime = Builder::new_current_thread()
        // The scheduler would block the thread now, and goes on instead, because what it blocks for has been woken.
        .on_thread_park(|| {
            let waker = STALL.with_borrow_mut(|stall| {
                stall.is_reached = true;
                stall.waker.take()
            });
            if let Some(waker) = waker {
                waker.wake();
            }
        })
        .build()
        .expect("a scheduler without drivers");
}

pub(crate) fn run_until_stalled() {
    let stalled = poll_fn(|context| {
        STALL.with_borrow_mut(|stall| {
            if std::mem::take(&mut stall.is_reached) {
                return Poll::Ready(());
            }
            stall.waker = Some(context.waker().clone());
            Poll::Pending
        })
    });
    RUNTIME.with(|runtime| runtime.block_on(stalled))
}

/// What the main function of a module may return.
pub trait Outcome {
    /// What to log, if it failed.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<Error: Debug> Outcome for Result<(), Error> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("{error:?}"))
    }
}

/// Runs the main function of the module. When it is over the module exits, as a process would, and the host starts it again after a pause.
pub fn start<Main>(main: Main)
where
    Main: Future<Output: Outcome> + Send + 'static,
{
    RUNTIME.with(|runtime| {
        runtime.spawn(async {
            let failure = main.await.failure();
            if let Some(failure) = &failure {
                eprintln!("Error: {failure}");
            }
            exit(i32::from(failure.is_some()))
        })
    });
    run_until_stalled()
}

/// A module has one thread, and older C libraries of WASI lack what the standard library asks of threads that it could have started.
mod no_threads {
    #[no_mangle]
    extern "C" fn pthread_join(_: usize, _: usize) -> i32 {
        unreachable!("there are no threads")
    }

    #[no_mangle]
    extern "C" fn pthread_detach(_: usize) -> i32 {
        unreachable!("there are no threads")
    }
}
