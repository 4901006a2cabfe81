//! An operator as a user of kube-rs would write it: a kind of its own, applied at the start; a finalizer; an owned Deployment and the status by
//! server-side apply; Events. A reflector prints what it holds whenever that changes.
//! The same sources are a program and, in ../../kube-module, a module of the controller host.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        events::{Event, EventType, Recorder, Reporter},
        finalizer::{self, finalizer},
        reflector,
        wait::{await_condition, conditions},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const MANAGER: &str = "cafes.example.com";

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Cafe", namespaced, status = "CafeStatus", shortname = "cf")]
#[kube(printcolumn = r#"{"name":"Open", "type":"integer", "jsonPath":".status.open"}"#)]
pub struct CafeSpec {
    #[schemars(range(min = 0, max = 9))]
    tables: i32,
    #[serde(default = "house_blend")]
    blend: String,
}

fn house_blend() -> String {
    "house".into()
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct CafeStatus {
    open: i32,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<finalizer::Error<kube::Error>>),
}

struct Context {
    client: Client,
    recorder: Recorder,
}

async fn reconcile(cafe: Arc<Cafe>, context: Arc<Context>) -> Result<Action, Failure> {
    let namespace = cafe.namespace().unwrap_or_default();
    let cafes: Api<Cafe> = Api::namespaced(context.client.clone(), &namespace);
    finalizer(&cafes, "cafes.example.com/tidy", cafe, |event| async {
        match event {
            finalizer::Event::Apply(cafe) => open(&context, &cafes, &cafe, &namespace).await,
            finalizer::Event::Cleanup(cafe) => close(&context, &cafe, &namespace).await,
        }
    })
    .await
    .map_err(|error| Failure::Finalizer(Box::new(error)))
}

/// Applies the Deployment, and the number of its ready replicas as the status.
async fn open(context: &Context, cafes: &Api<Cafe>, cafe: &Cafe, namespace: &str) -> Result<Action, kube::Error> {
    let name = cafe.name_any();
    let deployments: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let labels = json!({ "cafe": name });
    let wanted = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "ownerReferences": cafe.controller_owner_ref(&()).map(|owner| vec![owner]) },
        "spec": {
            "replicas": cafe.spec.tables,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels, "annotations": { "example.com/blend": cafe.spec.blend } },
                "spec": { "containers": [{ "name": "table", "image": "table" }] },
            },
        },
    });
    let parameters = PatchParams::apply(MANAGER).force();
    let deployment = deployments.patch(&name, &parameters, &Patch::Apply(&wanted)).await?;
    let ready = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let before = cafe.status.as_ref().map(|status| status.open);
    if before != Some(ready) {
        let status = json!({ "apiVersion": "example.com/v1", "kind": "Cafe", "status": CafeStatus { open: ready } });
        cafes.patch_status(&name, &parameters, &Patch::Apply(&status)).await?;
        let event = Event {
            type_: EventType::Normal,
            reason: "Opened".into(),
            note: Some(format!("{ready} tables are open")),
            action: "Open".into(),
            secondary: None,
        };
        context.recorder.publish(&event, &cafe.object_ref(&())).await?;
    }
    Ok(Action::requeue(Duration::from_secs(300)))
}

/// Leaves a ConfigMap behind, which shows that the finalizer ran before the object went.
async fn close(context: &Context, cafe: &Cafe, namespace: &str) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let mut note = ConfigMap::default();
    note.metadata.name = Some(format!("{}-closed", cafe.name_any()));
    match maps.create(&PostParams::default(), &note).await {
        Err(kube::Error::Api(status)) if status.code == 409 => (),
        other => drop(other?),
    }
    Ok(Action::await_change())
}

fn retry(_: Arc<Cafe>, failure: &Failure, _: Arc<Context>) -> Action {
    println!("failed {failure}");
    Action::requeue(Duration::from_millis(200))
}

/// Prints the names and tables of what the store holds, after every change.
async fn print_store(cafes: Api<Cafe>) -> Result<(), watcher::Error> {
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().streaming_lists().labels("open=yes");
    let mut changes = reflector(writer, watcher(cafes, config)).default_backoff().boxed();
    while let Some(event) = changes.try_next().await? {
        if matches!(event, watcher::Event::Init | watcher::Event::InitApply(_)) {
            continue;
        }
        let mut held: Vec<String> =
            reader.state().iter().map(|cafe: &Arc<Cafe>| format!("{}={}", cafe.name_any(), cafe.spec.tables)).collect();
        held.sort();
        println!("holds {}", held.join(" "));
    }
    Ok(())
}

/// Until its own signals end it.
pub async fn run(client: Client) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply(MANAGER).force();
    definitions.patch(Cafe::crd_name(), &parameters, &Patch::Apply(Cafe::crd())).await?;
    await_condition(definitions, Cafe::crd_name(), conditions::is_crd_established()).await?;
    println!("established");
    let cafes: Api<Cafe> = Api::all(client.clone());
    let reporter = Reporter { controller: MANAGER.into(), instance: None };
    let context = Arc::new(Context { client: client.clone(), recorder: Recorder::new(client.clone(), reporter) });
    let controller = Controller::new(cafes.clone(), watcher::Config::default())
        .owns(Api::<Deployment>::all(client), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, retry, context)
        .for_each(|_| async {});
    tokio::select! {
        () = controller => Ok(()),
        ended = print_store(cafes) => Ok(ended?),
    }
}
