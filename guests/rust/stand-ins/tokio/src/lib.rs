//! tokio as a WebAssembly module can have it: its own scheduler, channels and streams of bytes; time from the host; signals that never come.

pub use kubereel_abi::real_tokio::*;

pub mod time;

pub mod signal {
    /// Waits for ever: the host ends a module without asking it.
    pub async fn ctrl_c() -> std::io::Result<()> {
        std::future::pending().await
    }
}
