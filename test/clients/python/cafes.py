"""An operator on kopf: a ConfigMap for each Cafe, results in its status, an Event, a finalizer; it also hears of Pods."""

import kopf
from kubernetes import client, config

config.load_kube_config()
core = client.CoreV1Api()


@kopf.on.create("example.com", "v1", "cafes")
def opened(spec, body, name, namespace, **_):
    menu = {"metadata": {"name": name}, "data": {"tables": str(spec["tables"])}}
    kopf.adopt(menu)
    core.create_namespaced_config_map(namespace, menu)
    kopf.info(body, reason="Opened", message=f"with {spec['tables']} tables")
    return {"tables": spec["tables"]}


@kopf.on.update("example.com", "v1", "cafes", field="spec.tables")
def rearranged(old, new, name, namespace, **_):
    core.patch_namespaced_config_map(name, namespace, {"data": {"tables": str(new)}})
    return {"from": old, "to": new}


@kopf.on.delete("example.com", "v1", "cafes")
def closed(name, namespace, **_):
    core.create_namespaced_config_map(namespace, {"metadata": {"name": f"{name}-closed"}})


@kopf.on.event("", "v1", "pods", labels={"cafe": kopf.PRESENT})
def served(type, labels, status, **_):
    print(f"pod of {labels['cafe']}: {type} {status.get('phase')}", flush=True)
