/**
 * What the API server does with objects that controllers also write to: generations, defaults, `/scale`. Deployments are
 * paused and others want no replicas; statuses, versions and what the controller manager owns are left out of the
 * comparison.
 */

import type { JsonObject } from "../../exact-json.ts"
import {
  apply,
  get,
  inNamespace,
  isGone,
  jsonPatch,
  mergePatch,
  post,
  put,
  remove,
  type Script,
  type Step,
  strategicPatch,
} from "../script.ts"
import { emptyReplicaSet, emptyStatefulSet, pausedDeployment } from "./objects.ts"

const deployments = inNamespace("apps/v1", "deployments")
const web = `${deployments}/web`

const generations: Script = {
  name: "generation",
  area: "writes",
  controlled: true,
  steps: [
    post("create", deployments, pausedDeployment("web")),
    mergePatch("a label changes no generation", web, { metadata: { labels: { a: "b" } } }),
    mergePatch("replicas do", web, { spec: { replicas: 2 } }),
    mergePatch("the same replicas do not", web, { spec: { replicas: 2 } }),
    mergePatch("a generation of the client's own is ignored", web, { metadata: { generation: 77 } }),
    mergePatch("status through the object is ignored", web, { status: { replicas: 9 } }),
    put("replaced without a status", web, pausedDeployment("web", { replicas: 2 })),
    put("replaced with other replicas", web, pausedDeployment("web", { replicas: 0 })),
    mergePatch("selector must not change", web, { spec: { selector: { matchLabels: { other: "x" } } } }),
    mergePatch("template must fit the selector", web, { spec: { template: { metadata: { labels: { app: "y" } } } } }),
    mergePatch("negative replicas", web, { spec: { replicas: -1 } }),
    mergePatch("both strategies", web, { spec: { strategy: { type: "Recreate" } } }),
    mergePatch("the other strategy", web, { spec: { strategy: { type: "Recreate", rollingUpdate: null } } }),
    mergePatch("no replicas means one", web, { spec: { replicas: null } }),
    mergePatch("two things at once", web, {
      spec: { replicas: -1, minReadySeconds: -2, progressDeadlineSeconds: 0 },
    }),
    strategicPatch("a second container", web, {
      spec: { template: { spec: { containers: [{ name: "b", image: "x:1" }] } } },
    }),
    post("no selector", deployments, pausedDeployment("x", { selector: null })),
    post("empty selector", deployments, pausedDeployment("x", { selector: {} })),
    post("no template", deployments, pausedDeployment("x", { template: null })),
    post("bad restart policy", deployments, {
      ...pausedDeployment("x"),
      spec: {
        selector: { matchLabels: { app: "x" } },
        template: {
          metadata: { labels: { app: "x" } },
          spec: { restartPolicy: "Never", containers: [{ name: "c", image: "y" }] },
        },
      },
    }),
    remove("delete in the background", web, { query: { propagationPolicy: "Background" } }),
    get("it is gone", web, { until: isGone }),
  ],
}

const scaleOf = (name: string, more: JsonObject): JsonObject => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name },
  ...more,
})

const scaling = (plural: string, object: JsonObject): readonly Step[] => {
  const path = inNamespace("apps/v1", plural, "s")
  const name = (text: string): string => `${plural}: ${text}`
  return [
    post(name("create"), inNamespace("apps/v1", plural), object),
    get(name("get scale"), `${path}/scale`),
    put(name("put scale"), `${path}/scale`, scaleOf("s", { spec: { replicas: 0 } })),
    mergePatch(name("patch scale"), `${path}/scale`, { spec: { replicas: 0 } }),
    put(name("negative scale"), `${path}/scale`, scaleOf("s", { spec: { replicas: -1 } })),
    put(name("scale of another name"), `${path}/scale`, scaleOf("t", { spec: { replicas: 0 } })),
    put(name("scale at a stale version"), `${path}/scale`, {
      ...scaleOf("s", { spec: { replicas: 0 } }),
      metadata: { name: "s", resourceVersion: "1" },
    }),
    put(name("something else"), `${path}/scale`, object),
    get(name("read"), path),
  ]
}

const deploymentScale = inNamespace("apps/v1", "deployments", "s", "scale")

const scales: Script = {
  name: "scale",
  area: "writes",
  controlled: true,
  steps: [
    ...scaling("deployments", pausedDeployment("s", { replicas: 0 })),
    ...scaling("replicasets", emptyReplicaSet("s")),
    ...scaling("statefulsets", emptyStatefulSet("s")),
    put("three", deploymentScale, scaleOf("s", { spec: { replicas: 3 } })),
    get("three it is", inNamespace("apps/v1", "deployments", "s")),
    mergePatch("dry run of four", deploymentScale, { spec: { replicas: 4 } }, { query: { dryRun: "All" } }),
    jsonPatch("JSON patch", deploymentScale, [{ op: "replace", path: "/spec/replicas", value: 5 }]),
    apply("apply", deploymentScale, "scaler", scaleOf("s", { spec: { replicas: 6 } })),
    apply("apply by force", deploymentScale, "scaler", scaleOf("s", { spec: { replicas: 6 } }), {
      query: { force: "true" },
    }),
    get("six it is", inNamespace("apps/v1", "deployments", "s")),
    get("no scale of a DaemonSet", inNamespace("apps/v1", "daemonsets", "s", "scale")),
    get("no scale of a Job", inNamespace("batch/v1", "jobs", "s", "scale")),
    get(
      "scale of a replication controller that is not there",
      inNamespace("v1", "replicationcontrollers", "s", "scale"),
    ),
  ],
}

export const generationsAndScales: readonly Script[] = [generations, scales]
