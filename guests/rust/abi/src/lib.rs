//! What the host of kubereel gives a WebAssembly module: operations whose values come later, timers, and the calls in which tasks run.
//!
//! The host enters the module only through its exports. Each lets all tasks go on until they wait for the host again, and returns.

mod operations;
mod tasks;
mod timers;

pub use operations::{request, watch, Operation};
pub use tasks::{start, Outcome};
pub use timers::Timer;

/// The tokio on which tasks run, for the stand-in of that name.
pub use real_tokio;
