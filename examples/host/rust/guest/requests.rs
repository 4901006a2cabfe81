//! Requests to the API server. The host adds its address and the module's credentials.

use super::bincode::{Reader, Writer};
use super::json::{self, Value};
use super::tasks::start_request;

pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Response {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// For people: the status and the message of the `Status` object, if the body is one.
    pub fn reason(&self) -> String {
        let message = json::parse(&self.body)
            .ok()
            .and_then(|body| Some(body.text("message")?.to_string()));
        format!("{} {}", self.status, message.unwrap_or_default())
    }

    pub fn json(&self) -> Result<Value, json::Malformed> {
        json::parse(&self.body)
    }
}

/// Sends a request and waits for the response. `uri` is a path, with a query if need be; a body is JSON.
/// A request that the host cannot send is responded to with 503.
pub async fn request(method: &str, uri: &str, body: &str) -> Response {
    let mut writer = Writer::default();
    writer.string(method).string(uri);
    if body.is_empty() {
        writer.length(0);
    } else {
        writer
            .length(1)
            .string("content-type")
            .length(1)
            .string("application/json");
    }
    writer.string(body);
    let bytes = start_request(&writer.bytes)
        .next()
        .await
        .expect("a response");
    let mut reader = Reader::new(&bytes);
    let status = reader.u16();
    for _ in 0..reader.length() {
        reader.blob();
        for _ in 0..reader.length() {
            reader.blob();
        }
    }
    Response {
        status,
        body: reader.blob().to_vec(),
    }
}

/// Text as part of a path or a query.
pub fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{:02X}", byte),
    };
    text.bytes().map(escape).collect()
}
