//! Keeps a Deployment, a Service and a ConfigMap for each WebApp, as examples/host/webapp/webapp.ts does, with kube. It is a module of `reel host` with
//! module.rs, and a process of its own with process.rs.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        events::{Event, EventType, Recorder},
        finalizer::{self, finalizer},
        reflector::ObjectRef,
        watcher,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANAGER: &str = "webapp";
const FINALIZER: &str = "example.com/routes";
const ROUTES: &str = "webapp-routes";

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "WebApp", namespaced, status = "WebAppStatus", schema = "disabled")]
#[serde(rename_all = "camelCase")]
pub struct WebAppSpec {
    image: String,
    #[serde(default = "one")]
    replicas: i32,
    #[serde(default = "http")]
    port: i32,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    shared_settings: Option<String>,
}

fn one() -> i32 {
    1
}

fn http() -> i32 {
    8080
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebAppStatus {
    observed_generation: Option<i64>,
    #[serde(default)]
    ready_replicas: i32,
    #[serde(default)]
    conditions: Vec<Condition>,
}

struct Operator {
    client: Client,
    recorder: Recorder,
}

/// Until its own signals end it.
pub async fn run(client: Client) {
    let config = watcher::Config::default().streaming_lists();
    let config_maps = Api::<ConfigMap>::all(client.clone());
    let controller = Controller::new(Api::<WebApp>::all(client.clone()), config.clone());
    let apps = controller.store();
    let sharing = move |map: ConfigMap| {
        let shares = |app: &WebApp| app.namespace() == map.namespace() && app.spec.shared_settings == map.metadata.name;
        apps.state_filter(shares).into_iter().map(|app| ObjectRef::from_obj(&*app))
    };
    let recorder = Recorder::new(client.clone(), MANAGER.into());
    controller
        .owns(Api::<Deployment>::all(client.clone()), config.clone())
        .owns(Api::<Service>::all(client.clone()), config.clone())
        .owns(config_maps.clone(), config.clone())
        .watches(config_maps, config, sharing)
        .shutdown_on_signal()
        .run(reconcile, retry, Arc::new(Operator { client, recorder }))
        .for_each(|reconciled| async {
            if let Err(error) = reconciled {
                println!("{error}");
            }
        })
        .await;
}

fn retry(_: Arc<WebApp>, _: &finalizer::Error<kube::Error>, _: Arc<Operator>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

async fn reconcile(app: Arc<WebApp>, operator: Arc<Operator>) -> Result<Action, finalizer::Error<kube::Error>> {
    let apps: Api<WebApp> = operator.of(&app);
    finalizer(&apps, FINALIZER, app, |event| async {
        match event {
            finalizer::Event::Apply(app) => operator.keep(&app).await?,
            finalizer::Event::Cleanup(app) => operator.route(&app, None).await?,
        }
        Ok(Action::await_change())
    })
    .await
}

impl Operator {
    /// The objects of a kind in the namespace of a WebApp.
    fn of<K>(&self, app: &WebApp) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &app.namespace().unwrap_or_default())
    }

    async fn keep(&self, app: &WebApp) -> Result<(), kube::Error> {
        let WebAppSpec { image, replicas, port, settings, shared_settings } = &app.spec;
        let shared = match shared_settings {
            Some(name) => self.of::<ConfigMap>(app).get_opt(name).await?.map(|map| map.data.unwrap_or_default()),
            None => Some(BTreeMap::new()),
        };
        let name = app.name_any();
        let labels = labels(&name);
        self.apply::<ConfigMap>(app, json!({ "data": settings })).await?;
        self.apply::<Service>(app, json!({ "spec": { "selector": labels, "ports": [{ "port": port }] } })).await?;
        let hash = format!("{:x}", Sha256::digest(json!([settings, shared]).to_string()));
        let sources = [Some(&name), shared_settings.as_ref()].into_iter().flatten();
        let environment: Vec<Value> = sources.map(|of| json!({ "configMapRef": { "name": of } })).collect();
        let container = json!({
            "name": "web", "image": image, "ports": [{ "containerPort": port }], "envFrom": environment,
        });
        let template = json!({
            "metadata": { "labels": labels, "annotations": { "example.com/settings": hash[..16] } },
            "spec": { "containers": [container] },
        });
        let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": template });
        let deployment: Deployment = self.apply(app, json!({ "spec": spec })).await?;
        self.route(app, Some(format!("{name}:{port}"))).await?;
        let ready = deployment.status.and_then(|status| status.ready_replicas).unwrap_or(0);
        self.say(app, ready, shared.is_none()).await
    }

    /// Applies an object of the WebApp's name that the WebApp owns.
    async fn apply<K>(&self, app: &WebApp, mut object: Value) -> Result<K, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let name = app.name_any();
        object["apiVersion"] = K::api_version(&()).into();
        object["kind"] = K::kind(&()).into();
        object["metadata"] = json!({
            "name": name, "labels": labels(&name), "ownerReferences": [app.controller_owner_ref(&())],
        });
        self.of::<K>(app).patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await
    }

    /// Enters the WebApp in the ConfigMap of all routes, or takes it out. Several WebApps write into it, so none of them applies it as a whole.
    async fn route(&self, app: &WebApp, address: Option<String>) -> Result<(), kube::Error> {
        let maps: Api<ConfigMap> = self.of(app);
        let name = app.name_any();
        let all = maps.get_opt(ROUTES).await?;
        if all.as_ref().and_then(|all| all.data.as_ref()?.get(&name)) == address.as_ref() {
            return Ok(());
        }
        let change = json!({ "metadata": { "name": ROUTES }, "data": { name: address } });
        if all.is_none() {
            let first = serde_json::from_value(change.clone()).map_err(kube::Error::SerdeError)?;
            match maps.create(&PostParams::default(), &first).await {
                // Another WebApp was faster.
                Err(kube::Error::Api(status)) if status.is_already_exists() => (),
                created => return created.map(drop),
            }
        }
        maps.patch(ROUTES, &PatchParams::default(), &Patch::Merge(change)).await.map(drop)
    }

    /// The status, and an Event if its reason is another one than before.
    async fn say(&self, app: &WebApp, ready: i32, is_missing: bool) -> Result<(), kube::Error> {
        let (replicas, shared) = (app.spec.replicas, app.spec.shared_settings.as_deref().unwrap_or_default());
        let counted = format!("{ready} of {replicas} replicas are ready");
        let (status, reason, message) = match is_missing {
            true => ("False", "SettingsMissing", format!("there is no ConfigMap {shared}")),
            false if ready < replicas => ("False", "ReplicasNotReady", counted),
            false => ("True", "AllReady", counted),
        };
        let before = app.status.as_ref().and_then(|status| status.conditions.iter().find(|of| of.type_ == "Ready"));
        let since = before.filter(|former| former.status == status).map(|former| former.last_transition_time.clone());
        let condition = Condition {
            type_: "Ready".into(),
            status: status.into(),
            reason: reason.into(),
            message: message.clone(),
            observed_generation: app.meta().generation,
            last_transition_time: since.unwrap_or_else(|| Time(Timestamp::now())),
        };
        let observed_generation = condition.observed_generation;
        let now = WebAppStatus { observed_generation, ready_replicas: ready, conditions: vec![condition] };
        if app.status.as_ref() != Some(&now) {
            let patch = Patch::Merge(json!({ "status": now }));
            self.of::<WebApp>(app).patch_status(&app.name_any(), &PatchParams::default(), &patch).await?;
        }
        if before.is_some_and(|former| former.reason == reason) {
            return Ok(());
        }
        let type_ = if status == "True" { EventType::Normal } else { EventType::Warning };
        let (reason, action, note) = (reason.into(), "Reconcile".into(), Some(message));
        self.recorder.publish(&Event { type_, reason, note, action, secondary: None }, &app.object_ref(&())).await
    }
}

fn labels(name: &str) -> Value {
    json!({ "app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": MANAGER })
}
