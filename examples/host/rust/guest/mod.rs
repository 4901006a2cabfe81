//! What a controller needs to be a guest of ABI `rust_v1alpha1`: asynchronous functions that wait for the host, requests, delays, and
//! watches that list by themselves. No crates, so that `rustc` alone builds it.

pub mod backoff;
pub mod bincode;
pub mod json;
pub mod requests;
pub mod tasks;
pub mod wasi;
pub mod watch;
