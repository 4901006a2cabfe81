/**
 * Objects that came by a list, on a real control plane that has no streaming lists, as before Kubernetes 1.32: what is exported equals what
 * `kubectl get -o json` shows, types included, at the start and after a list that follows a lost history.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { eventually } from "../harness/eventually.ts"
import { kubectl, kubectlJson, type Recorder, startRecorder } from "./command.ts"
import { at, isObject, type Json, parseExactly, textAt } from "./exact-json.ts"
import { OwnControlPlane } from "./k8s/own-control-plane.ts"

/** Kinds with kubectl's names of them; Namespaces and Services exist from the start. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["apps/v1.Deployment", "deployments.apps"],
  ["v1.ConfigMap", "configmaps"],
  ["v1.Namespace", "namespaces"],
  ["v1.Service", "services"],
  ["rbac.authorization.k8s.io/v1.ClusterRole", "clusterroles.rbac.authorization.k8s.io"],
  ["example.com/v1.Widget", "widgets.example.com"],
])

const manifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: Widgets}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {kind: none, apiVersion: "9", big: "9007199254740993"}
`
const widget =
  "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: default}\nspec: {kind: inner, size: 9007199254740993}\n"

interface Recorded {
  /** By kind, the last state of each object by namespace and name. */
  readonly last: ReadonlyMap<string, ReadonlyMap<string, Json>>
  /** How many states were recorded, by kind. */
  readonly states: ReadonlyMap<string, number>
  readonly gaps: ReadonlyArray<string>
}

let plane: OwnControlPlane
let directory = ""
let recorder: Recorder

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-listed-"))
  plane = await OwnControlPlane.start({ flags: "--feature-gates=WatchList=false" })
  await apply(manifests)
  await kubectl(plane.cluster, "wait", "--for=condition=Established", "crd/widgets.example.com")
  await apply(widget)
  const lines = [...kinds.keys()].map((gvk) => `  ${gvk}: {}\n`)
  await writeFile(join(directory, "tracer.yml"), `trackedObjects:\n${lines.join("")}`)
  await mkdir(join(directory, "data"))
})
afterAll(async () => {
  await recorder?.stop()
  await plane?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const apply = async (text: string): Promise<void> => {
  const file = join(directory, "manifests.yml")
  await writeFile(file, text)
  await kubectl(plane.cluster, "apply", "--server-side", "-f", file)
}

const record = async (): Promise<void> => {
  recorder = await startRecorder(plane.cluster, join(directory, "tracer.yml"), join(directory, "data"))
}

const recorded = async (): Promise<Recorded> => {
  const filters = { excluded_namespaces: [], excluded_labels: [] }
  const request = { start_ts: 0, end_ts: 4_000_000_000, export_path: "file:///export", format: "ndjson", filters }
  const response = await fetch(`${recorder.address}/export`, { method: "POST", body: JSON.stringify(request) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}\n${recorder.log()}`)
  const last = new Map<string, Map<string, Json>>()
  const states = new Map<string, number>()
  const gaps: string[] = []
  for (const line of text.split("\n").slice(1, -2)) {
    const event = parseExactly(line)
    const gvk = textAt(event, "gvk")
    if (textAt(event, "action") === "gap") gaps.push(gvk)
    else {
      const ofKind = last.get(gvk) ?? new Map<string, Json>()
      last.set(gvk, ofKind.set(`${textAt(event, "namespace")}/${textAt(event, "name")}`, at(event, "object") ?? null))
      states.set(gvk, (states.get(gvk) ?? 0) + 1)
    }
  }
  return { last, states, gaps }
}

const shown = async (resource: string): Promise<ReadonlyMap<string, Json>> => {
  const list = await kubectlJson(plane.cluster, "get", resource, "--all-namespaces", "--show-managed-fields")
  const items = at(list, "items")
  if (!Array.isArray(items)) throw new Error(`kubectl showed no list of ${resource}`)
  return new Map(
    items.map((item: Json) => [`${textAt(item, "metadata", "namespace")}/${textAt(item, "metadata", "name")}`, item]),
  )
}

test("the first list is recorded with every object as kubectl shows it", async () => {
  await record()
  const { last, states } = await recorded()
  for (const [gvk, resource] of kinds) {
    const objects = await shown(resource)
    expect(objects.size, gvk).toBeGreaterThan(0)
    expect(last.get(gvk), gvk).toEqual(objects)
    // Nothing of the first list was recorded twice.
    expect(states.get(gvk), gvk).toBe(objects.size)
    for (const object of objects.values())
      expect(isObject(object) && `${textAt(object, "apiVersion")}.${textAt(object, "kind")}`).toBe(gvk)
  }
})

test("a list after a lost history records what has changed, as kubectl shows it, and nothing else", async () => {
  const before = await recorded()
  expect(await recorder.stop()).toBe(0)
  await kubectl(plane.cluster, "patch", "configmap", "settings", "-p", '{"data":{"kind":"some"}}')
  await kubectl(plane.cluster, "patch", "widget", "a", "--type=merge", "-p", '{"spec":{"kind":"other"}}')
  await kubectl(plane.cluster, "create", "clusterrole", "reader", "--verb=get", "--resource=pods")
  await plane.compact()
  await plane.kill(plane.first)
  await plane.startFirst()
  await record()
  const changed = new Map([
    ["v1.ConfigMap", 1],
    ["example.com/v1.Widget", 1],
    ["rbac.authorization.k8s.io/v1.ClusterRole", 1],
  ])
  // A server may accept a watch, and report only then that it no longer has the version.
  await eventually(async () => {
    const { last, states, gaps } = await recorded()
    expect(new Set(gaps)).toEqual(new Set(kinds.keys()))
    for (const [gvk, resource] of kinds) {
      expect(last.get(gvk), gvk).toEqual(await shown(resource))
      expect(states.get(gvk), gvk).toBe((before.states.get(gvk) ?? 0) + (changed.get(gvk) ?? 0))
    }
  })
})
