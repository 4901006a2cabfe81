/**
 * The audit log of a real API server, imported: an observer that shares no code with the import watches the cluster while the scripted workload runs, and
 * while objects end in every way there is. Every state that the log has is the one that was watched, and what exists at the end is
 * what the server lists.
 */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { churn, kubectl } from "../command.ts"
import { get } from "../connection.ts"
import { at, equal, type Json, type JsonObject, parseExactly, textAt } from "../exact-json.ts"
import { type ObjectLine, parseLedger } from "../ledger.ts"
import { type ObservedKind, Observer } from "../observer.ts"
import { redactedLedger } from "../redacted-ledger.ts"
import { type LoggedCluster, openLoggedCluster } from "./logged-cluster.ts"

const kinds: ReadonlyArray<ObservedKind> = [
  ...["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"].map((kind) => ({
    gvk: `apps/v1.${kind}`,
    path: `/apis/apps/v1/${kind.toLowerCase()}s`,
  })),
  { gvk: "batch/v1.Job", path: "/apis/batch/v1/jobs" },
  { gvk: "batch/v1.CronJob", path: "/apis/batch/v1/cronjobs" },
  { gvk: "discovery.k8s.io/v1.EndpointSlice", path: "/apis/discovery.k8s.io/v1/endpointslices" },
  ...["Pod", "ConfigMap", "Service", "ServiceAccount", "Namespace", "PersistentVolumeClaim"].map((kind) => ({
    gvk: `v1.${kind}`,
    path: `/api/v1/${kind.toLowerCase()}s`,
  })),
  { gvk: "audit.example.com/v1.Widget", path: "/apis/audit.example.com/v1/widgets" },
]

const prefix = `audit-${process.pid}`
const space = `${prefix}-own`
const password = `planted-${process.pid}-Qx7Zk2Wv`
const key = "a key of more than 16 bytes"

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.audit.example.com}
spec:
  group: audit.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
`

const manifest = `
apiVersion: v1
kind: Secret
metadata: {name: database}
stringData: {password: ${password}}
---
apiVersion: audit.example.com/v1
kind: Widget
metadata: {name: dial, finalizers: [example.com/hold]}
spec: {replicas: 1, big: 9007199254740993}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/hold]}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: front, image: front, env: [{name: DB_PASSWORD, value: ${password}}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: evicted}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: main}]}
`

let logged: LoggedCluster
let directory = ""
let observer: Observer
const path = (name: string): string => join(directory, name)

beforeAll(async () => {
  logged = await openLoggedCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-audit-"))
  await writeFile(path("key"), key)
  await apply(definition)
  await kubectl(logged.cluster, "wait", "--for=condition=Established", "crd/widgets.audit.example.com")
  // Waits for the storage of the kind, which the server makes a moment later.
  await kubectl(logged.cluster, "get", "widgets.audit.example.com", "--all-namespaces")
  observer = await Observer.start({ connection: logged.cluster.connection, kinds, file: path("ledger") })
})
afterAll(async () => {
  await observer?.stop()
  await churn(logged.cluster, prefix, "clean")
  await kubectl(logged.cluster, "delete", "namespace", space, "--ignore-not-found", "--wait=false")
  for (const held of ["configmap/held", "widget/dial"])
    await free(held).catch(() => "it is gone, unless the test failed")
  await kubectl(logged.cluster, "delete", "crd", "widgets.audit.example.com", "--ignore-not-found", "--wait=false")
  await logged[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

const apply = async (text: string, ...words: ReadonlyArray<string>): Promise<void> => {
  await writeFile(path("manifest.yaml"), text)
  await kubectl(logged.cluster, ...words, "apply", "-f", path("manifest.yaml"))
}

const own = (...words: string[]): Promise<string> => kubectl(logged.cluster, "-n", space, ...words)

const create = async (address: string, body: Json): Promise<void> => {
  await writeFile(path("body.json"), JSON.stringify(body))
  await kubectl(logged.cluster, "create", "--raw", address, "-f", path("body.json"))
}

const free = (name: string): Promise<string> =>
  own("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')

/** Writes of every kind that are not in the scripted workload. */
const live = async (): Promise<void> => {
  await kubectl(logged.cluster, "create", "namespace", space)
  await apply(manifest, "-n", space)
  await own("rollout", "status", "deployment/front", "--timeout=60s")
  await own("wait", "--for=condition=Ready", "pod/evicted", "--timeout=60s")
  const generated = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" }, data: { a: "1" } }
  for (let count = 0; count < 3; count++) await create(`/api/v1/namespaces/${space}/configmaps`, generated)
  await own("scale", "deployment/front", "--replicas=3")
  await own("scale", "widgets/dial", "--replicas=4")
  await own("patch", "widgets/dial", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":4}}')
  await own("apply", "--server-side", "--force-conflicts", "-f", path("manifest.yaml"))
  await own("create", "configmap", "never", "--from-literal=a=1", "--dry-run=server")
  await own("delete", "deployment", "front", "--dry-run=server")
  await own("create", "configmap", "held").catch(() => "it exists, so this fails")
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "evicted", namespace: space } }
  await create(`/api/v1/namespaces/${space}/pods/evicted/eviction`, eviction)
  await own("wait", "--for=delete", "pod/evicted", "--timeout=60s")
  await own("delete", "configmap", "held", "--wait=false")
  await free("configmap/held")
  await kubectl(
    logged.cluster,
    "delete",
    "--raw",
    `/api/v1/namespaces/${space}/configmaps?fieldSelector=metadata.name%21%3Dkube-root-ca.crt`,
  )
  await own("delete", "deployment", "front", "--cascade=foreground", "--timeout=60s")
  await own("delete", "widget", "dial", "--wait=false")
  await free("widget/dial")
}

interface Line {
  readonly action: string
  readonly gvk: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly object?: JsonObject
}

interface Trace {
  /** Of the observed kinds. */
  readonly lines: ReadonlyArray<Line>
  readonly all: ReadonlyArray<Line>
  readonly text: string
  readonly said: string
}

const importLog = async (): Promise<Trace> => {
  const reel = fileURLToPath(new URL("../../../bin/reel.js", import.meta.url))
  const words = ["import", "audit", logged.log, "-o", path("day.ndjson"), "-f", "--redact-key-file", path("key")]
  const { stderr } = await promisify(execFile)(process.execPath, [reel, ...words])
  const text = await readFile(path("day.ndjson"), "utf8")
  const parsed = text.split("\n").flatMap((line) => (line === "" ? [] : [parseExactly(line) as unknown as Line]))
  const observed = new Set(kinds.map(({ gvk }) => gvk))
  return { lines: parsed.filter(({ gvk }) => observed.has(gvk)), all: parsed, text, said: stderr }
}

/** The objects that the server lists, redacted, by UID. */
const listed = async (): Promise<ReadonlyMap<string, JsonObject>> => {
  const all = new Map<string, JsonObject>()
  for (const { gvk, path } of kinds) {
    const { body } = await get(logged.cluster.connection, path)
    for (const item of at(body, "items") as unknown as ReadonlyArray<JsonObject>) {
      const object = withKind(gvk, item)
      const [line] = redactedLedger([{ line: "listed", gvk, uid: "", resourceVersion: "", object }], key)
      all.set(textAt(object, "metadata", "uid"), (line as ObjectLine).object)
    }
  }
  return all
}

/** Items of lists have neither. */
const withKind = (gvk: string, item: JsonObject): JsonObject => {
  const apiVersion = gvk.slice(0, gvk.lastIndexOf("."))
  return { apiVersion, kind: gvk.slice(apiVersion.length + 1), ...item }
}

/** What exists at the end of a trace, by UID. */
const stateOf = ({ lines }: Trace): ReadonlyMap<string, JsonObject> => {
  const state = new Map<string, JsonObject>()
  for (const { action, uid, object } of lines)
    if (action === "applied" && object !== undefined) state.set(uid, object)
    else state.delete(uid)
  return state
}

/** UIDs of the Events that exist at the end of a trace. */
const eventsOf = ({ all }: Trace): ReadonlySet<string> => {
  const uids = new Set<string>()
  for (const { action, gvk, uid } of all)
    if (/^(?:events\.k8s\.io\/)?v1\.Event$/.test(gvk)) {
      if (action === "applied") uids.add(uid)
      else uids.delete(uid)
    }
  return uids
}

const describeObject = (object: JsonObject | undefined): string =>
  `${textAt(object, "kind")} ${textAt(object, "metadata", "namespace")}/${textAt(object, "metadata", "name")} ${textAt(object, "metadata", "resourceVersion")}`

/** How what was imported differs from what the server lists; controllers may be at work in between, so it is tried until it does not. */
const settledDifferences = async (): Promise<{ readonly trace: Trace; readonly found: ReadonlyArray<string> }> => {
  const deadline = performance.now() + 60_000
  for (;;) {
    await observer.settle()
    const trace = await importLog()
    const [server, state] = [await listed(), stateOf(trace)]
    const found = [...new Set([...server.keys(), ...state.keys()])].flatMap((uid) => {
      const [there, here] = [server.get(uid), state.get(uid)]
      if (there === undefined) return [`exists only in the trace: ${describeObject(here)}`]
      if (here === undefined) return [`is missing: ${describeObject(there)}`]
      return equal(there, here) ? [] : [`differs: ${describeObject(there)}, ${describeObject(here)}`]
    })
    if (found.length === 0 || performance.now() > deadline) return { trace, found }
    await sleep(500)
  }
}

/** The states that the observer saw, redacted, by UID and version, and what came before each. */
const watched = async () => {
  const states = new Map<string, { readonly object: JsonObject; readonly before: JsonObject | undefined }>()
  const last = new Map<string, JsonObject>()
  const deleted = new Set<string>()
  for (const line of redactedLedger(parseLedger(await readFile(path("ledger"), "utf8")), key)) {
    if (line.line === "list") continue
    const { gvk, uid, resourceVersion } = line
    const object = withKind(gvk, line.object)
    if (line.line === "DELETED") deleted.add(uid)
    else states.set(`${uid} ${resourceVersion}`, { object, before: last.get(uid) })
    last.set(uid, object)
  }
  return { states, deleted }
}

const without = (object: JsonObject, ...names: ReadonlyArray<string>): JsonObject => {
  const metadata = Object.entries(at(object, "metadata") as JsonObject).filter(([name]) => !names.includes(name))
  return { ...object, metadata: Object.fromEntries(metadata) }
}

const isMarked = (object: JsonObject): boolean => at(object, "metadata", "deletionTimestamp") !== undefined

test("what exists at the end is what the server has, and every state is one that was watched", async () => {
  await Promise.all([churn(logged.cluster, prefix), live()])
  const { trace, found } = await settledDifferences()
  expect(found).toEqual([])
  expect(trace.text).not.toContain(password)
  expect(trace.text).not.toContain(Buffer.from(password).toString("base64"))
  expect(trace.said).not.toMatch(/no objects for|no audit entry|out of order/)

  const { states, deleted } = await watched()
  const imported = new Set(trace.lines.map(({ uid, resourceVersion }) => `${uid} ${resourceVersion}`))
  const seen = new Set([...states.keys()].map((state) => state.slice(0, state.indexOf(" "))))
  const versions = new Set<string>()
  const strange: string[] = []
  for (const { action, uid, resourceVersion, object } of trace.lines) {
    const id = `${uid} ${resourceVersion}`
    const state = states.get(id)
    if (action !== "applied" || object === undefined || state === undefined || versions.has(id)) continue
    versions.add(id)
    // What a change of scale leaves out is documented.
    const isScaled = !equal(at(object, "spec", "replicas"), at(state.before, "spec", "replicas"))
    const fields = isScaled ? ["generation", "managedFields"] : []
    if (!equal(without(object, ...fields), without(state.object, ...fields))) strange.push(describeObject(object))
  }
  expect(strange).toEqual([])
  // The log has no version of bindings, of evictions, of the marks of deleted collections, and of a pod's last moment; all others are there.
  const missing = [...states].filter(([id, { object, before }]) => {
    if (imported.has(id) || before === undefined) return false
    const isBinding = textAt(object, "spec", "nodeName") !== textAt(before, "spec", "nodeName")
    const isMark = at(before, "metadata", "deletionTimestamp") === undefined && isMarked(object)
    const isLast = isMarked(object) && at(object, "metadata", "deletionGracePeriodSeconds") === 0
    const isEvicted = JSON.stringify(at(object, "status", "conditions") ?? []).includes('"EvictionByEvictionAPI"')
    return !isBinding && !isMark && !isLast && !isEvicted
  })
  // Two writes of one object at the same time may be logged in the other order. The former state is then left out, which is said.
  const superseded = Number(/(\d+) changes? left out that the logs have after/.exec(trace.said)?.[1] ?? 0)
  expect(missing.map(([, { object }]) => describeObject(object)).slice(superseded)).toEqual([])
  const ended = new Set(
    trace.lines.filter(({ action, uid }) => action === "deleted" && seen.has(uid)).map(({ uid }) => uid),
  )
  expect([...deleted].filter((uid) => !ended.has(uid))).toEqual([])
  expect(ended.size).toBeGreaterThan(10)
}, 180_000)

test("what was deleted with its namespaces is gone, and the namespaces are", async () => {
  await churn(logged.cluster, prefix, "clean")
  await kubectl(logged.cluster, "delete", "namespace", space)
  const { trace, found } = await settledDifferences()
  expect(found).toEqual([])
  expect(trace.lines.filter(({ action }) => action === "vanished")).toEqual([])
  // Events are made in one group and deleted in another.
  const { body } = await get(logged.cluster.connection, "/api/v1/events")
  const items = at(body, "items") as unknown as ReadonlyArray<JsonObject>
  expect([...eventsOf(trace)].toSorted()).toEqual(items.map((item) => textAt(item, "metadata", "uid")).toSorted())
}, 180_000)
