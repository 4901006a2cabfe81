//! Controllers written with `kube`, as WebAssembly modules on the host of kubereel: its requests, watches and time are the host's.
//!
//! ```ignore
//! kubereel_guest::run!(main);
//!
//! async fn main() -> Result<(), kube::Error> {
//!     let client = kubereel_guest::client();
//!     …
//! }
//! ```

mod encoding;
mod service;

pub use kubereel_abi::start;
pub use service::HostService;

use kube::client::retry::RetryPolicy;
use kube::Client;
use tower::{retry::RetryLayer, Layer};

/// A client with the identity of the module. Its default namespace is the environment's `NAMESPACE`, or `default`.
///
/// As the client of `Client::try_default` it repeats requests that are answered 429, 503 or 504, after growing pauses.
pub fn client() -> Client {
    let namespace = std::env::var("NAMESPACE").unwrap_or_else(|_| "default".into());
    Client::new(RetryLayer::new(RetryPolicy::server_retry()).layer(HostService::default()), namespace)
}

/// Makes an asynchronous function without parameters the module's main function. It returns nothing, or a `Result`. When it is over, the module ends, and
/// the host starts it again after a pause.
#[macro_export]
macro_rules! run {
    ($main:path) => {
        // Under another name than a function of the module may have.
        #[export_name = "run"]
        extern "C" fn kubereel_run() {
            $crate::start($main())
        }
    };
}
