//! The transport of `kube::Client`: requests go to the host's import for requests, and those with `watch=true` to its import for watches, which the modules of
//! a host share.

use crate::encoding::{decode_response, encode_request, encode_watch, Watch};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use kube::client::Body;
use kubereel_abi::Operation;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tower::{BoxError, Service};

/// Kinds by path of their group's version and plural: a watch names the kind, and a URI the plural.
type Kinds = Arc<Mutex<HashMap<String, String>>>;

/// Sends what `kube` asks for through the host, which adds address and credentials.
#[derive(Clone, Default)]
pub struct HostService {
    kinds: Kinds,
}

impl Service<Request<Body>> for HostService {
    type Response = Response<HostBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let kinds = self.kinds.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let query: HashMap<_, _> = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).collect();
            if matches!(query.get("watch").map(AsRef::as_ref), Some("true" | "1")) {
                let get = |name| query.get(name).map(AsRef::as_ref).filter(|value: &&str| !value.is_empty());
                return watch(&kinds, parts.uri.path(), get).await;
            }
            let uri = parts.uri.path_and_query().map_or("/", |uri| uri.as_str());
            let body = body.collect_bytes().await?;
            Ok(exchange(parts.method.as_str(), uri, &parts.headers, &body).await?.map(HostBody::whole))
        })
    }
}

async fn exchange(method: &str, uri: &str, headers: &HeaderMap, body: &[u8]) -> Result<Response<Vec<u8>>, BoxError> {
    let answer = kubereel_abi::request(&encode_request(method, uri, headers, body)).next().await;
    answer.and_then(|bytes| decode_response(&bytes)).ok_or_else(|| "the host answered with what is no response".into())
}

/// The response to a watch: its events one by one, or why there is no such watch.
async fn watch<'a>(kinds: &Kinds, path: &str, query: impl Fn(&'static str) -> Option<&'a str>) -> Result<Response<HostBody>, BoxError> {
    let Some((group, version, namespace, plural)) = resource_of(path) else {
        return Ok(refusal(400, "BadRequest", format!("{path} is no path of a kind, which is what the host watches")));
    };
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let key = format!("{root}/{plural}");
    let known = kinds.lock().unwrap().get(&key).cloned();
    let kind = match known {
        Some(kind) => kind,
        None => {
            let discovery = exchange("GET", &root, &HeaderMap::new(), &[]).await?;
            if !discovery.status().is_success() {
                return Ok(discovery.map(HostBody::whole));
            }
            let resources: Value = serde_json::from_slice(discovery.body())?;
            let resource = resources["resources"].as_array().and_then(|all| all.iter().find(|one| one["name"] == plural));
            let Some(kind) = resource.and_then(|one| one["kind"].as_str()) else {
                return Ok(refusal(404, "NotFound", format!("the server has no {key}")));
            };
            kinds.lock().unwrap().insert(key, kind.to_string());
            kind.to_string()
        }
    };
    let operation = kubereel_abi::watch(&encode_watch(&Watch {
        group,
        version,
        kind: &kind,
        namespace,
        resource_version: query("resourceVersion").unwrap_or_default(),
        field_selector: query("fieldSelector"),
        label_selector: query("labelSelector"),
        allow_bookmarks: query("allowWatchBookmarks") == Some("true"),
    }));
    Ok(Response::new(HostBody::Events(operation)))
}

/// Group, version, namespace and plural of `/api/VERSION/…` or `/apis/GROUP/VERSION/…`.
fn resource_of(path: &str) -> Option<(&str, &str, Option<&str>, &str)> {
    let segments: Vec<_> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match segments.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    match rest {
        [plural] => Some((group, version, None, plural)),
        ["namespaces", namespace, plural] => Some((group, version, Some(namespace), plural)),
        _ => None,
    }
}

fn refusal(code: u16, reason: &str, message: String) -> Response<HostBody> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code,
    });
    let mut response = Response::new(HostBody::whole(status.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a code of HTTP");
    response
}

/// Of a response.
pub enum HostBody {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// A watch: one line for each event. Dropping it ends the watch.
    Events(Operation),
}

impl HostBody {
    fn whole(body: Vec<u8>) -> Self {
        HostBody::Whole(Some(body.into()))
    }
}

impl http_body::Body for HostBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            HostBody::Whole(body) => Poll::Ready(body.take()),
            HostBody::Events(operation) => operation.poll_next(context).map(|value| {
                value.map(|mut line| {
                    line.push(b'\n');
                    line.into()
                })
            }),
        };
        data.map(|data| data.map(|bytes| Ok(Frame::data(bytes))))
    }
}
