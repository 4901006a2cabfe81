"""Keeps a Deployment, a Service and a ConfigMap for each WebApp, as examples/host/webapp/webapp.ts does, with kopf."""
import datetime
import hashlib
import json

import kopf
import kubernetes
from kubernetes import client
from kubernetes.client.rest import ApiException

MANAGER, ROUTES, WAKE = "webapp", "webapp-routes", "example.com/wake"


@kopf.on.startup()
def connect(settings, **_):
    try:
        kubernetes.config.load_incluster_config()
    except kubernetes.config.ConfigException:
        kubernetes.config.load_kube_config()
    settings.persistence.finalizer = "example.com/routes"
    settings.posting.enabled = False


@kopf.index("", "v1", "configmaps")
def config_maps(namespace, name, body, **_):
    return {(namespace, name): body.get("data") or {}}


@kopf.index("apps", "v1", "deployments", labels={"app.kubernetes.io/managed-by": MANAGER})
def deployments(namespace, name, status, **_):
    return {(namespace, name): status.get("readyReplicas", 0)}


@kopf.index("example.com", "v1", "webapps")
def users(namespace, name, spec, **_):
    return {(namespace, spec.get("sharedSettings")): name}


def wake(namespace, name):
    """kopf's handlers see changes of their own kind only, so a change of another kind is written into it."""
    annotations = {WAKE: datetime.datetime.now().isoformat()}
    try:
        client.CustomObjectsApi().patch_namespaced_custom_object(
            "example.com", "v1", namespace, "webapps", name, {"metadata": {"annotations": annotations}}
        )
    except ApiException as error:
        if error.status != 404:
            raise


@kopf.on.event("apps", "v1", "deployments", labels={"app.kubernetes.io/managed-by": MANAGER})
def deployment_changed(namespace, name, **_):
    wake(namespace, name)


@kopf.on.event("", "v1", "configmaps")
def config_map_changed(namespace, name, users, **_):
    for app in list(users.get((namespace, name), [])):
        wake(namespace, app)


@kopf.on.delete("example.com", "v1", "webapps")
def clean_up(namespace, name, **_):
    patch_route(namespace, name, None)


def first(index, key):
    return next(iter(index.get(key, [])), None)


def patch_route(namespace, name, address):
    core = client.CoreV1Api()
    try:
        core.patch_namespaced_config_map(ROUTES, namespace, {"data": {name: address}})
    except ApiException as error:
        if error.status != 404:
            raise
        if address is not None:
            core.create_namespaced_config_map(namespace, {"metadata": {"name": ROUTES}, "data": {name: address}})


def apply(body):
    kind, metadata = body["kind"], body["metadata"]
    resource = kubernetes.dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=body["apiVersion"], kind=kind)
    return resource.server_side_apply(
        name=metadata["name"], namespace=metadata["namespace"], body=body, field_manager=MANAGER, force_conflicts=True
    )


def parts(name, spec, shared):
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": MANAGER}
    settings, port, sources = spec.get("settings", {}), spec["port"], [name, spec.get("sharedSettings")]
    digest = hashlib.sha256(json.dumps([settings, shared], sort_keys=True).encode()).hexdigest()[:16]
    container = {
        "name": "web",
        "image": spec["image"],
        "ports": [{"containerPort": port}],
        "envFrom": [{"configMapRef": {"name": source}} for source in sources if source],
    }
    template = {
        "metadata": {"labels": labels, "annotations": {"example.com/settings": digest}},
        "spec": {"containers": [container]},
    }
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": labels}, "data": settings}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": {"labels": labels}, "spec": {"selector": labels, "ports": [{"port": port}]}}
    deployment = {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": labels}, "spec": deployment}


@kopf.on.create("example.com", "v1", "webapps")
@kopf.on.update("example.com", "v1", "webapps", field="spec")
@kopf.on.update("example.com", "v1", "webapps", field=("metadata", "annotations", WAKE))
@kopf.on.resume("example.com", "v1", "webapps")
def reconcile(name, namespace, spec, meta, status, body, patch, config_maps, deployments, **_):
    shared_name = spec.get("sharedSettings")
    shared = first(config_maps, (namespace, shared_name)) if shared_name else {}
    for part in parts(name, spec, shared):
        part["metadata"] |= {"name": name, "namespace": namespace}
        kopf.append_owner_reference(part, owner=body)
        apply(part)
    patch_route(namespace, name, f"{name}:{spec['port']}")

    ready, wanted = first(deployments, (namespace, name)) or 0, spec["replicas"]
    reason = "SettingsMissing" if shared is None else "AllReady" if ready >= wanted else "ReplicasNotReady"
    message = f"there is no ConfigMap {shared_name}" if shared is None else f"{ready} of {wanted} replicas are ready"
    before = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    state = "True" if reason == "AllReady" else "False"
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    since = before.get("lastTransitionTime") if before.get("status") == state else now
    condition = {"type": "Ready", "status": state, "reason": reason, "message": message, "lastTransitionTime": since}
    patch.status.update({"observedGeneration": meta["generation"], "readyReplicas": ready, "conditions": [condition | {"observedGeneration": meta["generation"]}]})
    if before.get("reason") != reason:
        kopf.event(body, type="Normal" if state == "True" else "Warning", reason=reason, message=message)
