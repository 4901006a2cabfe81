/** Allowed changes of a pod, its binding, its eviction. No scheduler handles these pods. */

import type { JsonObject } from "../../exact-json.ts"
import { get, inNamespace, jsonPatch, mergePatch, post, put, remove, type Script } from "../script.ts"
import { unscheduledPod } from "./objects.ts"

const pods = inNamespace("v1", "pods")
const a = `${pods}/a`

const changes: Script = {
  name: "pod-changes",
  area: "rules",
  steps: [
    post(
      "create",
      pods,
      unscheduledPod("a", {
        schedulingGates: [{ name: "example.com/one" }, { name: "example.com/two" }],
      }),
    ),
    mergePatch("labels", a, { metadata: { labels: { x: "y" } } }),
    mergePatch("image", a, { spec: { containers: [{ name: "main", image: "example.com/main:2" }] } }),
    mergePatch("command", a, { spec: { containers: [{ name: "main", image: "x", command: ["x"] }] } }),
    mergePatch("node", a, { spec: { nodeName: "n" } }),
    mergePatch("fewer gates", a, { spec: { schedulingGates: [{ name: "example.com/one" }] } }),
    mergePatch("no gates", a, { spec: { schedulingGates: null } }),
    mergePatch("fewer tolerations", a, { spec: { tolerations: [] } }),
    jsonPatch("more tolerations", a, [
      { op: "add", path: "/spec/tolerations/-", value: { key: "k", operator: "Exists" } },
    ]),
    put("as it was", a, unscheduledPod("a")),
    mergePatch("status", `${a}/status`, {
      status: {
        phase: "Running",
        podIP: "10.9.8.7",
        podIPs: [{ ip: "10.9.8.7" }],
        containerStatuses: [
          {
            name: "main",
            image: "x",
            imageID: "y",
            ready: true,
            restartCount: 0,
            state: { running: { startedAt: "2020-01-01T00:00:00Z" } },
          },
        ],
      },
    }),
    mergePatch("resize", `${a}/resize`, {
      spec: { containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] },
    }),
    get("ephemeral containers", `${a}/ephemeralcontainers`),
    get("read", a),
  ],
}

const bindingOf = (name: string, more: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name, ...metadata },
  ...more,
})
const nowhere: JsonObject = { target: { kind: "Node", name: "nowhere" } }
const evictionOf = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name },
  ...more,
})

const binding: Script = {
  name: "binding",
  area: "writes",
  steps: [
    post("create", pods, unscheduledPod("a")),
    post("no target", `${a}/binding`, bindingOf("a", {})),
    post("another kind of target", `${a}/binding`, bindingOf("a", { target: { kind: "Pod", name: "x" } })),
    post("another UID", `${a}/binding`, bindingOf("a", nowhere, { uid: "11111111-2222-3333-4444-555555555555" })),
    post("bind", `${a}/binding`, bindingOf("a", nowhere, { annotations: { note: "x" }, labels: { l: "m" } })),
    post("bind again", `${a}/binding`, bindingOf("a", nowhere)),
    get("bound", a),
    post("a binding of the old way", inNamespace("v1", "bindings"), bindingOf("nope", nowhere)),
    post("gated", pods, unscheduledPod("g", { schedulingGates: [{ name: "example.com/gate" }] })),
    post("bind the gated", `${pods}/g/binding`, bindingOf("g", nowhere)),
    post("evict, dry run", `${pods}/g/eviction`, evictionOf("g", { deleteOptions: { dryRun: ["All"] } })),
    post("evict another name", `${pods}/g/eviction`, evictionOf("h")),
    post("evict", `${pods}/g/eviction`, evictionOf("g")),
    get("evicted", `${pods}/g`),
    remove("delete", a, { query: { gracePeriodSeconds: "0" } }),
  ],
}

export const podChanges: readonly Script[] = [changes, binding]
