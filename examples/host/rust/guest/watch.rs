//! A watch that never ends: it lists, watches from the list's version, watches again where a watch ended, and lists again when the API
//! server no longer has that version. Failures are repeated after growing delays.

use super::backoff::Backoff;
use super::bincode::Writer;
use super::json::{self, Value};
use super::requests::{escaped, request};
use super::tasks::{delay, start_watch, Operation};
use super::wasi::log_error;

/// Which objects to watch.
pub struct Selection {
    /// Empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    /// The resource's name in paths.
    pub plural: &'static str,
    /// All namespaces without.
    pub namespace: Option<String>,
    pub label_selector: Option<&'static str>,
}

/// What a watch tells its controller.
pub enum Event {
    /// Everything that is there. Other objects, of which the controller heard before, are gone.
    Listed(Vec<Value>),
    /// An object was created or has changed.
    Applied(Value),
    Deleted(Value),
}

enum State {
    Unlisted,
    Listed,
    Watching { stream: Operation, has_heard: bool },
}

pub struct Watch {
    selection: Selection,
    state: State,
    /// The version up to which everything was heard.
    resource_version: String,
    backoff: Backoff,
}

/// Before a watch that follows one without a single value: a host that ends each watch at once must not be asked in a busy loop.
const PAUSE_MS: u64 = 1000;

impl Watch {
    pub fn new(selection: Selection) -> Self {
        Watch {
            selection,
            state: State::Unlisted,
            resource_version: String::new(),
            backoff: Backoff::default(),
        }
    }

    /// Waits for the next event. The first is the list.
    pub async fn next(&mut self) -> Event {
        loop {
            match &mut self.state {
                State::Unlisted => match self.list().await {
                    Ok(objects) => {
                        self.state = State::Listed;
                        return Event::Listed(objects);
                    }
                    Err(reason) => self.pause(&format!("cannot be listed: {}", reason)).await,
                },
                State::Listed => {
                    self.state = State::Watching {
                        stream: self.start(),
                        has_heard: false,
                    }
                }
                State::Watching { stream, has_heard } => match stream.next().await {
                    Some(bytes) => {
                        *has_heard = true;
                        if let Some(event) = self.receive(&bytes).await {
                            return event;
                        }
                    }
                    None => {
                        if !*has_heard {
                            delay(PAUSE_MS).await;
                        }
                        self.state = State::Listed;
                    }
                },
            }
        }
    }

    async fn pause(&mut self, what: &str) {
        let milliseconds = self.backoff.next_ms();
        log_error(&format!(
            "{} {}; next attempt in {} ms",
            self.selection.plural, what, milliseconds
        ));
        delay(milliseconds).await
    }

    async fn list(&mut self) -> Result<Vec<Value>, String> {
        let Selection {
            group,
            version,
            plural,
            namespace,
            label_selector,
            ..
        } = &self.selection;
        let root = if group.is_empty() {
            format!("/api/{}", version)
        } else {
            format!("/apis/{}/{}", group, version)
        };
        let scope = namespace
            .as_ref()
            .map(|name| format!("/namespaces/{}", name))
            .unwrap_or_default();
        let labels = label_selector
            .map(|labels| format!("&labelSelector={}", escaped(labels)))
            .unwrap_or_default();
        let mut objects = Vec::new();
        let mut page = String::new();
        loop {
            let response = request(
                "GET",
                &format!("{}{}/{}?limit=500{}{}", root, scope, plural, labels, page),
                "",
            )
            .await;
            if !response.is_success() {
                return Err(response.reason());
            }
            let list = response
                .json()
                .map_err(|malformed| format!("malformed JSON at byte {}", malformed.offset))?;
            let metadata = list.get("metadata").ok_or("a list without metadata")?;
            self.resource_version = metadata
                .text("resourceVersion")
                .ok_or("a list without a version")?
                .to_string();
            let next = metadata.text("continue").unwrap_or_default().to_string();
            if let Value::Object(members) = list {
                for (name, value) in members {
                    if let ("items", Value::Array(items)) = (name.as_str(), value) {
                        objects.extend(items);
                    }
                }
            }
            if next.is_empty() {
                return Ok(objects);
            }
            page = format!("&continue={}", escaped(&next));
        }
    }

    fn start(&self) -> Operation {
        let Selection {
            group,
            version,
            kind,
            namespace,
            label_selector,
            ..
        } = &self.selection;
        let api_version = if group.is_empty() {
            version.to_string()
        } else {
            format!("{}/{}", group, version)
        };
        let mut writer = Writer::default();
        writer
            .string(&api_version)
            .string(group)
            .string(kind)
            .string(version)
            .optional(namespace.as_deref());
        writer
            .string(&self.resource_version)
            .optional(None)
            .flag(false)
            .optional(*label_selector)
            .flag(true);
        start_watch(&writer.bytes)
    }

    /// What a value of the watch tells, if the controller has to know.
    async fn receive(&mut self, bytes: &[u8]) -> Option<Event> {
        let (kind, object) = match json::parse(bytes) {
            Ok(Value::Object(members)) => take_event(members),
            _ => (String::new(), Value::Null),
        };
        if let "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" = kind.as_str() {
            if let Some(version) = object
                .get("metadata")
                .and_then(|metadata| metadata.text("resourceVersion"))
            {
                self.resource_version = version.to_string();
                self.backoff.reset();
                return match kind.as_str() {
                    "BOOKMARK" => None,
                    "DELETED" => Some(Event::Deleted(object)),
                    _ => Some(Event::Applied(object)),
                };
            }
        }
        // The stream is dropped: whatever it still delivers is not heard.
        let is_error = matches!(object.get("code"), Some(Value::Number(code)) if code != "410")
            && kind == "ERROR";
        self.state = if is_error {
            State::Listed
        } else {
            State::Unlisted
        };
        let shown: String = String::from_utf8_lossy(bytes).chars().take(300).collect();
        self.pause(&format!(
            "cannot be watched from version {}: {}",
            self.resource_version, shown
        ))
        .await;
        None
    }
}

fn take_event(members: Vec<(String, Value)>) -> (String, Value) {
    let (mut kind, mut object) = (String::new(), Value::Null);
    for (name, value) in members {
        match (name.as_str(), value) {
            ("type", Value::String(text)) => kind = text,
            ("object", value) => object = value,
            _ => (),
        }
    }
    (kind, object)
}
