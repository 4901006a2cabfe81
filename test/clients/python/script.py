"""What a script on the Python client does: objects of a manifest, lists in pages, watches, every kind of patch, exec, the dynamic client.

Prints a line for each step that did what it should. The first that does not ends the script with an error.
"""

import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

config.load_kube_config()
api = client.ApiClient()
core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
NAMESPACE = "default"
LABELS = {"app": "web"}


def ready_after(change) -> list[str]:
    """Makes the change while a watch runs; returns the types of its events until the Deployment is ready."""
    listed = apps.list_namespaced_deployment(NAMESPACE)
    wanted = change()
    types = []
    watcher = watch.Watch()
    version = listed.metadata.resource_version
    for event in watcher.stream(apps.list_namespaced_deployment, NAMESPACE, resource_version=version, timeout_seconds=60):
        types.append(event["type"])
        status = event["object"].status
        if status.ready_replicas == wanted and status.replicas == wanted:
            watcher.stop()
            return types
    raise AssertionError(f"the watch ended after {types}")


def create() -> int:
    container = {"name": "main", "image": "nginx", "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": LABELS, "ports": [{"port": 80}]},
    }
    utils.create_from_yaml(api, yaml_objects=[deployment, service])
    return 2


types = ready_after(create)
assert types[0] == "ADDED" and set(types[1:]) == {"MODIFIED"}, types
print("watch: ready")

names, token = [], None
while True:
    page = core.list_namespaced_pod(NAMESPACE, label_selector="app=web", limit=1, _continue=token)
    names += [pod.metadata.name for pod in page.items]
    token = page.metadata._continue
    if not token:
        break
assert len(names) == 2 and len(set(names)) == 2, names
print("list: 2 pages")

ready_after(lambda: apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}}).spec.replicas)
print("patch: scaled")

sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "envoy"}]}}}}
patched = apps.patch_namespaced_deployment("web", NAMESPACE, sidecar)
assert sorted(c.name for c in patched.spec.template.spec.containers) == ["main", "sidecar"], patched
operations = [{"op": "replace", "path": "/spec/replicas", "value": 1}]
patched = apps.patch_namespaced_deployment("web", NAMESPACE, operations)
assert patched.spec.replicas == 1, patched
applied = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "annotations": {"example.com/by": "python"}},
}
patched = apps.patch_namespaced_deployment(
    "web", NAMESPACE, applied, field_manager="script", _content_type="application/apply-patch+yaml"
)
assert [field.manager for field in patched.metadata.managed_fields if field.operation == "Apply"] == ["script"], patched
print("patch: strategic, JSON, applied")

try:
    stream(core.connect_get_namespaced_pod_exec, names[0], NAMESPACE, command=["true"], stdout=True)
    raise SystemExit("exec worked")
except ApiException as refusal:
    assert "501" in refusal.reason, refusal.reason
print("exec: 501")

maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
maps.create(namespace=NAMESPACE, body={"metadata": {"name": "first", "labels": LABELS}, "data": {"n": "1"}})
seen = []
for event in maps.watch(namespace=NAMESPACE, label_selector="app=web", timeout=60):
    seen.append((event["type"], event["object"].data.n))
    if event["type"] == "ADDED":
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}, "data": {"n": "2"}}
        maps.server_side_apply(namespace=NAMESPACE, name="first", body=body, field_manager="script", force_conflicts=True)
    elif event["type"] == "MODIFIED":
        maps.delete(namespace=NAMESPACE, name="first")
    else:
        break
assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")], seen
print("dynamic: created, applied, deleted")

apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")
deadline = time.monotonic() + 60
while True:
    try:
        apps.read_namespaced_deployment("web", NAMESPACE)
    except ApiException as refusal:
        assert refusal.status == 404, refusal
        break
    assert time.monotonic() < deadline, "the Deployment is still there"
    time.sleep(0.1)
assert core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items == []
print("delete: with all Pods")
