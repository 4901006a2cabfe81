//! The structures of the ABI: bincode of version 1, numbers little endian, a length of 64 bits before all that has one.

use http::{HeaderMap, HeaderName, HeaderValue, Response};

/// Which objects to watch, and from where on.
pub(crate) struct Watch<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
    pub namespace: Option<&'a str>,
    /// Empty or 0: the current state first.
    pub resource_version: &'a str,
    pub field_selector: Option<&'a str>,
    pub label_selector: Option<&'a str>,
    pub allow_bookmarks: bool,
}

pub(crate) fn encode_watch(watch: &Watch) -> Vec<u8> {
    let api_version = match watch.group {
        "" => watch.version.to_string(),
        group => format!("{group}/{}", watch.version),
    };
    let mut bytes = Vec::new();
    for text in [&api_version, watch.group, watch.kind, watch.version] {
        write_bytes(&mut bytes, text.as_bytes());
    }
    write_optional(&mut bytes, watch.namespace);
    write_bytes(&mut bytes, watch.resource_version.as_bytes());
    write_optional(&mut bytes, watch.field_selector);
    // Uninitialized objects are a thing of the past.
    bytes.push(0);
    write_optional(&mut bytes, watch.label_selector);
    bytes.push(u8::from(watch.allow_bookmarks));
    bytes
}

pub(crate) fn encode_request(method: &str, uri: &str, headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len() + 512);
    write_bytes(&mut bytes, method.as_bytes());
    write_bytes(&mut bytes, uri.as_bytes());
    write_length(&mut bytes, headers.keys_len());
    for name in headers.keys() {
        write_bytes(&mut bytes, name.as_str().as_bytes());
        let values = headers.get_all(name);
        write_length(&mut bytes, values.iter().count());
        for value in values {
            write_bytes(&mut bytes, value.as_bytes());
        }
    }
    write_bytes(&mut bytes, body);
    bytes
}

/// `None` if the bytes are no response.
pub(crate) fn decode_response(bytes: &[u8]) -> Option<Response<Vec<u8>>> {
    let mut reader = Reader(bytes);
    let mut response = Response::builder().status(u16::from_le_bytes(*reader.0.split_off(..2)?.first_chunk()?));
    for _ in 0..reader.length()? {
        let name = HeaderName::from_bytes(reader.bytes()?).ok()?;
        for _ in 0..reader.length()? {
            response = response.header(&name, HeaderValue::from_bytes(reader.bytes()?).ok()?);
        }
    }
    response.body(reader.bytes()?.to_vec()).ok()
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(*self.0.split_off(..8)?.first_chunk()?)).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.0.split_off(..length)
    }
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend((length as u64).to_le_bytes())
}

fn write_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    write_length(bytes, value.len());
    bytes.extend(value)
}

fn write_optional(bytes: &mut Vec<u8>, value: Option<&str>) {
    bytes.push(u8::from(value.is_some()));
    if let Some(text) = value {
        write_bytes(bytes, text.as_bytes())
    }
}
