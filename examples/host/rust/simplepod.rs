//! Keeps one pod for each SimplePod: named like it, owned by it, with its image. A pod that is deleted is made again; one with another
//! image is deleted, and so made again. Pods of deleted SimplePods are left to Kubernetes' garbage collector.

mod guest;

use guest::backoff::Backoff;
use guest::json::{quoted, Value};
use guest::requests::request;
use guest::tasks::{delay, spawn};
use guest::wasi::{log, log_error, variable};
use guest::watch::{Event, Selection, Watch};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// So that only these pods are watched, not all of the cluster.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "simplepods.slinky.dev");
/// The image that the pod was made with: the one in its container may have been changed by a webhook.
const IMAGE_ANNOTATION: &str = "slinky.dev/image";

/// What the controller has to know about either kind of object.
#[derive(Default)]
struct Object {
    namespace: String,
    name: String,
    uid: String,
    is_being_deleted: bool,
    /// Of the spec, or of the pod's annotation.
    image: String,
    /// UID of the controlling owner.
    owner: String,
}

impl Object {
    fn new(json: &Value) -> Self {
        let text = |value: Option<&Value>, name| {
            value
                .and_then(|value| value.text(name))
                .unwrap_or_default()
                .to_string()
        };
        let metadata = json.get("metadata");
        let owners = metadata
            .map(|metadata| metadata.list("ownerReferences"))
            .unwrap_or_default();
        let annotations = metadata.and_then(|metadata| metadata.get("annotations"));
        let spec = json.get("spec").filter(|spec| spec.text("image").is_some());
        Object {
            namespace: text(metadata, "namespace"),
            name: text(metadata, "name"),
            uid: text(metadata, "uid"),
            is_being_deleted: metadata
                .and_then(|metadata| metadata.text("deletionTimestamp"))
                .is_some(),
            image: if spec.is_some() {
                text(spec, "image")
            } else {
                text(annotations, IMAGE_ANNOTATION)
            },
            owner: text(
                owners
                    .iter()
                    .find(|owner| owner.get("controller") == Some(&Value::Bool(true))),
                "uid",
            ),
        }
    }

    fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Objects by `namespace/name`; nothing before they are listed.
type Objects = Option<BTreeMap<String, Object>>;

#[derive(Default)]
struct State {
    simple_pods: Objects,
    pods: Objects,
    /// The objects that a task takes care of; true if something changed since the task last looked.
    busy: BTreeMap<String, bool>,
}

type Shared = Rc<RefCell<State>>;

struct Write {
    method: &'static str,
    uri: String,
    body: String,
}

impl State {
    /// What has to be written next, so that the pod is as it should be.
    fn next_write(&self, key: &str) -> Option<Write> {
        let wanted = self
            .simple_pods
            .as_ref()?
            .get(key)
            .filter(|wanted| !wanted.is_being_deleted)?;
        let pods = format!("/api/v1/namespaces/{}/pods", wanted.namespace);
        match self.pods.as_ref()?.get(key) {
            None => Some(Write {
                method: "POST",
                uri: pods,
                body: pod_of(wanted),
            }),
            // It goes first: its deletion brings us here again.
            Some(pod)
                if pod.is_being_deleted || pod.owner != wanted.uid || pod.image == wanted.image =>
            {
                None
            }
            Some(pod) => Some(Write {
                method: "DELETE",
                uri: format!("{}/{}", pods, pod.name),
                body: format!(r#"{{"preconditions":{{"uid":{}}}}}"#, quoted(&pod.uid)),
            }),
        }
    }
}

fn pod_of(wanted: &Object) -> String {
    let metadata = format!(
        r#"{{"name":{name},"namespace":{namespace},"labels":{{{label}:{by}}},"annotations":{{{annotation}:{image}}},"ownerReferences":[{{"apiVersion":"slinky.dev/v1","kind":"SimplePod","name":{name},"uid":{uid},"controller":true}}]}}"#,
        name = quoted(&wanted.name),
        namespace = quoted(&wanted.namespace),
        label = quoted(LABEL.0),
        by = quoted(LABEL.1),
        annotation = quoted(IMAGE_ANNOTATION),
        image = quoted(&wanted.image),
        uid = quoted(&wanted.uid),
    );
    let containers = format!(r#"[{{"name":"main","image":{}}}]"#, quoted(&wanted.image));
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{{"containers":{}}}}}"#,
        metadata, containers
    )
}

/// Takes care of one object until there is nothing to write. At most one such task runs for an object.
async fn reconcile(state: Shared, key: String) {
    let mut backoff = Backoff::default();
    loop {
        state.borrow_mut().busy.insert(key.clone(), false);
        let next = state.borrow().next_write(&key);
        let write = match next {
            Some(write) => write,
            None => break,
        };
        let response = request(write.method, &write.uri, &write.body).await;
        if response.is_success() {
            backoff.reset();
            log(&format!(
                "{} of pod {}: {}",
                write.method, key, response.status
            ));
            // The watch will show the pod. Until then there is nothing to do unless something else has changed.
            if !state.borrow().busy[&key] {
                break;
            }
        } else {
            let milliseconds = backoff.next_ms();
            log_error(&format!(
                "{} of pod {}: {}; next attempt in {} ms",
                write.method,
                key,
                response.reason(),
                milliseconds
            ));
            delay(milliseconds).await;
        }
    }
    state.borrow_mut().busy.remove(&key);
}

fn touch(state: &Shared, key: String) {
    if let Some(has_changed) = state.borrow_mut().busy.get_mut(&key) {
        *has_changed = true;
        return;
    }
    state.borrow_mut().busy.insert(key.clone(), false);
    spawn(reconcile(state.clone(), key))
}

/// Keeps one of the two sets of objects up to date, and has every object looked at that may need it.
async fn follow(state: Shared, selection: Selection, choose: fn(&mut State) -> &mut Objects) {
    let mut watch = Watch::new(selection);
    loop {
        let event = watch.next().await;
        let changed = {
            let mut state = state.borrow_mut();
            let objects = choose(&mut state);
            match event {
                Event::Listed(listed) => {
                    let listed = listed
                        .iter()
                        .map(Object::new)
                        .map(|object| (object.key(), object));
                    *objects = Some(listed.collect());
                    let keys = state
                        .simple_pods
                        .iter()
                        .flat_map(|objects| objects.keys().cloned());
                    keys.collect()
                }
                Event::Applied(json) => {
                    let object = Object::new(&json);
                    let key = object.key();
                    objects
                        .get_or_insert_with(BTreeMap::new)
                        .insert(key.clone(), object);
                    vec![key]
                }
                Event::Deleted(json) => {
                    let key = Object::new(&json).key();
                    objects.get_or_insert_with(BTreeMap::new).remove(&key);
                    vec![key]
                }
            }
        };
        for key in changed {
            touch(&state, key)
        }
    }
}

/// Called once by the host, through the guest library.
pub async fn start() {
    let namespace = variable("NAMESPACE");
    let state = Shared::default();
    let simple_pods = Selection {
        group: "slinky.dev",
        version: "v1",
        kind: "SimplePod",
        plural: "simplepods",
        namespace: namespace.clone(),
        label_selector: None,
    };
    let pods = Selection {
        group: "",
        version: "v1",
        kind: "Pod",
        plural: "pods",
        namespace,
        label_selector: Some("app.kubernetes.io/managed-by=simplepods.slinky.dev"),
    };
    spawn(follow(state.clone(), simple_pods, |state| {
        &mut state.simple_pods
    }));
    spawn(follow(state, pods, |state| &mut state.pods));
}
