//! The few functions of WASI preview 1 that a guest needs, called directly: the target `wasm32-unknown-unknown` has no library for them.

#[link(wasm_import_module = "wasi_snapshot_preview1")]
extern "C" {
    fn fd_write(descriptor: u32, vectors: *const [u32; 2], count: u32, written: *mut u32) -> u32;
    fn random_get(buffer: *mut u8, length: u32) -> u32;
    fn environ_sizes_get(count: *mut u32, size: *mut u32) -> u32;
    fn environ_get(pointers: *mut u32, buffer: *mut u8) -> u32;
}

fn write(descriptor: u32, line: &str) {
    let text = format!("{}\n", line);
    let mut written = 0;
    // A log that cannot be written has nowhere to be reported.
    unsafe {
        fd_write(
            descriptor,
            &[text.as_ptr() as u32, text.len() as u32],
            1,
            &mut written,
        )
    };
}

/// Writes a line to the standard output, which the host adds to its log.
pub fn log(line: &str) {
    write(1, line)
}

/// Writes a line to the standard error output.
pub fn log_error(line: &str) {
    write(2, line)
}

/// A random number from 0 to less than 1.
pub fn random() -> f64 {
    let mut bytes = [0; 4];
    assert_eq!(
        unsafe { random_get(bytes.as_mut_ptr(), 4) },
        0,
        "random_get failed"
    );
    f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0
}

/// The value of an environment variable, which the module's YAML file sets; nothing if it is not set, or empty.
pub fn variable(name: &str) -> Option<String> {
    let (mut count, mut size) = (0, 0);
    assert_eq!(
        unsafe { environ_sizes_get(&mut count, &mut size) },
        0,
        "environ_sizes_get failed"
    );
    let mut pointers = vec![0; count as usize];
    let mut buffer = vec![0; size as usize];
    assert_eq!(
        unsafe { environ_get(pointers.as_mut_ptr(), buffer.as_mut_ptr()) },
        0,
        "environ_get failed"
    );
    let text = String::from_utf8_lossy(&buffer).into_owned();
    let value = text
        .split('\0')
        .find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.to_string()).filter(|value| !value.is_empty())
}
