//! The name under which a module reports.

use std::ffi::OsString;

/// Of the environment's `HOSTNAME`, or the module's own name, which is its first argument.
pub fn get() -> std::io::Result<OsString> {
    let name = std::env::var_os("HOSTNAME").or_else(|| std::env::args_os().next());
    Ok(name.unwrap_or_else(|| "module".into()))
}
