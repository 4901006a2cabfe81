/**
 * A trace of a cluster's current content: lists every configured kind, then writes one batch with all objects, in an order in which they
 * can be created again. Objects wait in a spool until all lists are complete, because an owner may be listed last; memory holds only names
 * and owners.
 *
 * It is not a consistent cut at one version: the lists are made one after the other.
 */
import {
  type ApiResource,
  type ApiStatus,
  type CollectedResponse,
  clusterUid,
  collectionPath,
  type Discovery,
  describeFailure,
  discover,
  type HttpClient,
  ListItem,
  ListScanner,
  ListSyntaxError,
  ObjectRedactor,
  pagePath,
  permissionHint,
  requestOnce,
  type Selection,
  type SpanListener,
  statusOfResponse,
  wholeListPath,
} from "../../kube/index.ts"
import {
  exactJsonIn,
  isJsonObject,
  type JsonObject,
  labelsOf,
  readOwnerReferences,
  type Spool,
  type TraceItem,
} from "../../trace/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import { redactionOfPods } from "../watchers/pod-stream.ts"
import {
  type HeldObject,
  itemsOf,
  type MissingKind,
  SnapshotLives,
  type SnapshotOrder,
  SnapshotOwners,
} from "./snapshot-items.ts"

// Lists all objects of one kind once, in pages; each page is processed and released before the next is requested, so memory is bounded by
// one page.
//
// A continue token that expires half-way (410) leads to one answer with everything; objects that were handed on before are not
// handed on again. Refusals for a moment (429, 503 and the like) are asked again, as often as {@link attempts} says.
//
// The requests are those of ApiClient; the pages are not parsed as it parses them, because the trace has the server's own bytes,
// with the kind and apiVersion that lists omit.

/** What to list of a kind: one namespace, or all if none is given. */
interface ListOrder {
  readonly resource: ApiResource
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
}

/** How a list ended. */
type ListEnd =
  | { readonly tag: "complete" }
  | { readonly tag: "refused"; readonly status: ApiStatus }
  | { readonly tag: "unreachable"; readonly detail: string }

/** Outside effects that lists need. */
interface ListSurroundings {
  readonly client: Pick<HttpClient, "get">
  readonly signal: AbortSignal
  /** Resolves after so many ms. */
  readonly sleep: (ms: number) => Promise<void>
}

/** Page size of Kubernetes' own clients. */
const pageSize = 500
/** A page of the largest objects that etcd accepts would have 750 MB. */
const longestPage = 1024 * 1024 * 1024
const pageDeadlineMs = 60_000
const attempts = 4
const pauseMs = 1000

/** Calls `item` with the bytes of each object, which are valid only during the call. Rejects only with what `item` throws. */
const listOnce = async (
  order: ListOrder,
  surroundings: ListSurroundings,
  item: (object: Buffer) => void,
): Promise<ListEnd> => {
  const { resource, namespace, labelSelector, fieldSelector } = order
  const selection: Selection = { path: collectionPath(resource, namespace), labelSelector, fieldSelector }
  let path = pagePath(selection, pageSize, undefined, undefined)
  let isWhole = false
  const completed = new ListItem(resource.gvk)
  while (true) {
    const answer = await ask(path, surroundings)
    if (!("body" in answer)) return answer
    if (answer.status === 410 && !isWhole) {
      isWhole = true
      path = wholeListPath(selection, undefined)
      continue
    }
    if (answer.status !== 200)
      return { tag: "refused", status: statusOfResponse(answer.status, answer.headers, answer.body) }
    const page = takeApart(answer.body, (bytes, start, end) => {
      completed.completeUnscanned(bytes, start, end)
      item(completed.bytes.subarray(completed.start, completed.end))
    })
    if (page.tag !== "page") return page
    if (page.next === undefined) return { tag: "complete" }
    path = pagePath(selection, pageSize, undefined, page.next)
  }
}

const takeApart = (
  body: Buffer,
  item: SpanListener,
): { readonly tag: "page"; readonly next: string | undefined } | ListEnd => {
  const scanner = new ListScanner(item)
  try {
    scanner.push(body, 0, body.length)
  } catch (cause) {
    if (!(cause instanceof ListSyntaxError)) throw cause
    return { tag: "unreachable", detail: cause.message }
  }
  if (!scanner.isComplete) return { tag: "unreachable", detail: "the list ends before its closing brace" }
  const { continueToken } = scanner.head
  return { tag: "page", next: continueToken === "" ? undefined : continueToken }
}

const ask = async (
  path: string,
  { client, signal, sleep }: ListSurroundings,
): Promise<CollectedResponse | (ListEnd & { tag: "unreachable" })> => {
  for (let attempt = 1; ; attempt++) {
    const answer = await requestOnce(client, path, {
      maximumBytes: longestPage,
      deadlineMs: pageDeadlineMs,
      signal,
    })
    const isTransient = answer.tag === "response" && (answer.status === 429 || answer.status >= 500)
    if (isTransient && attempt < attempts && !signal.aborted) {
      const status = statusOfResponse(answer.status, answer.headers, answer.body)
      await sleep((status.retryAfterSeconds ?? 0) * 1000 || pauseMs * attempt)
    } else return answer.tag === "response" ? answer : { tag: "unreachable", detail: describeFailure(answer) }
  }
}

interface SnapshotSurroundings extends Omit<ListSurroundings, "client"> {
  readonly client: Pick<HttpClient, "get">
  /** Of the hashes that stand for redacted values. */
  readonly redactionKey: Uint8Array
  /** Holds the objects. Owned by the caller. */
  readonly spool: Spool
  /** µs since the Unix epoch. */
  readonly now: () => number
  /** Called after each object, with the number of objects so far. */
  readonly onProgress: (objects: number) => void
}

/** The content of a snapshot, before it is written. */
export interface Snapshot {
  readonly missing: ReadonlyArray<MissingKind>
  /** The trace, which can be read once. The owners in {@link unknownOwners} are complete when it ends. */
  readonly items: () => AsyncGenerator<TraceItem, void>
  readonly unknownOwners: () => ReadonlyArray<string>
}

/**
 * What must exist first: namespaces, definitions of kinds, then what workloads refer to, then workloads from the outermost owner inwards.
 * Other kinds come in the middle.
 */
const firstKinds = ["Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass", "RuntimeClass"]
const baseKinds = [
  "ServiceAccount",
  "Role",
  "ClusterRole",
  "RoleBinding",
  "ClusterRoleBinding",
  "ConfigMap",
  "Secret",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Node",
  "ResourceQuota",
  "LimitRange",
  "Service",
]
const lastKinds = ["CronJob", "Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"]

const rankOf = (kind: string): number => {
  const places = [...firstKinds, ...baseKinds, "", ...lastKinds]
  const place = places.indexOf(kind)
  return place < 0 ? places.indexOf("") : place
}

/** Lists everything. Kinds that cannot be listed are named; rejects only for defects, SpoolError, and an abort. */
export const takeSnapshot = async (order: SnapshotOrder, surroundings: SnapshotSurroundings): Promise<Snapshot> => {
  const time = surroundings.now()
  const kinds = order.kinds.toSorted((left, right) => rankOf(left.gvk.kind) - rankOf(right.gvk.kind))
  const owners = new SnapshotOwners(surroundings.client, surroundings.signal)
  const lives = kinds.some(({ trackLifecycle }) => trackLifecycle) ? new SnapshotLives() : undefined
  const missing: MissingKind[] = []
  const held: HeldObject[] = []
  for (const kind of kinds) {
    const seen = new Set<string>()
    const lost = await listKind(kind, surroundings, (bytes, object) => {
      const entry = hold(kind, object, bytes.length, order)
      if (entry === undefined || seen.has(entry.uid)) return
      seen.add(entry.uid)
      owners.learn(entry.uid, entry.owners)
      if (kind.gvkText === podKind) lives?.observe(object, entry.namespace, entry.name, entry.owners)
      surroundings.spool.append(bytes)
      held.push(entry)
      surroundings.onProgress(held.length)
    })
    if (lost !== undefined) missing.push(lost)
  }
  if (lives !== undefined && !kinds.some(({ gvkText }) => gvkText === podKind)) {
    const pods = podsBelow(kinds)
    const lost = await listKind(pods, surroundings, (bytes, object) => {
      const pod = hold(pods, object, bytes.length, order)
      if (pod !== undefined) lives.observe(object, pod.namespace, pod.name, pod.owners)
    })
    if (lost !== undefined) missing.push(lost)
  }
  const uid = await clusterUid(surroundings.client)
  surroundings.signal.throwIfAborted()
  return {
    missing,
    items: () => itemsOf({ order, held, owners, lives, missing, time, clusterUid: uid, spool: surroundings.spool }),
    unknownOwners: () => owners.unknown,
  }
}

const podKind = "v1.Pod"

/** The pods whose lifecycles count, if pods themselves are not part of the trace. */
const podsBelow = (kinds: ReadonlyArray<TrackedKind>): TrackedKind => {
  const tracking = kinds.filter(({ trackLifecycle }) => trackLifecycle)
  const namespaces = tracking.flatMap((kind) => kind.namespaces ?? [])
  const isWhole = tracking.some((kind) => kind.namespaces === undefined)
  const redaction = redactionOfPods(tracking)
  return {
    gvk: { group: "", version: "v1", kind: "Pod" },
    gvkText: podKind,
    podSpecTemplatePaths: [""],
    trackLifecycle: false,
    skipOwned: false,
    keepManagedFields: false,
    detect: "all",
    ignore: [],
    ...(redaction !== undefined && { redaction }),
    ...(!isWhole && { namespaces: [...new Set(namespaces)] }),
  }
}

/** Calls `item` with every object of a kind; returns why the list may be incomplete. */
const listKind = async (
  kind: TrackedKind,
  surroundings: SnapshotSurroundings,
  item: (bytes: Uint8Array, object: JsonObject) => void,
): Promise<MissingKind | undefined> => {
  const { client, signal } = surroundings
  const { gvkText, labelSelector, fieldSelector, redaction } = kind
  const redactor = redaction && new ObjectRedactor(redaction, surroundings.redactionKey)
  const discovery = await discover(client, kind.gvk, { signal })
  signal.throwIfAborted()
  if (discovery.tag !== "found") return missingKind(gvkText, discovery)
  const { resource } = discovery
  for (const namespace of (resource.namespaced ? kind.namespaces : undefined) ?? [undefined]) {
    const end = await listOnce({ resource, namespace, labelSelector, fieldSelector }, surroundings, (listed) => {
      // Only a whole JSON value can be redacted; nothing else becomes an object either.
      if (exactJsonIn(listed) === undefined) return
      const bytes = redactor?.redacted(listed, 0, listed.length) ?? listed
      const object = parsedObject(bytes)
      if (object !== undefined) item(bytes, object)
    })
    signal.throwIfAborted()
    if (end.tag === "refused") return refusedKind(gvkText, end.status, collectionPath(resource, namespace))
    if (end.tag === "unreachable") return { gvk: gvkText, state: "failing", detail: end.detail }
  }
  return undefined
}

/** The facts kept about an object; `undefined` if the value is not an object. */
const hold = (
  kind: TrackedKind,
  object: JsonObject,
  length: number,
  { filters }: SnapshotOrder,
): HeldObject | undefined => {
  const { metadata } = object
  if (!isJsonObject(metadata)) return undefined
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "")
  const namespace = text("namespace")
  const owners = readOwnerReferences(metadata.ownerReferences)
  const isExcluded =
    filters.excludesNamespace(namespace) ||
    (filters.needsLabels && filters.excludesLabels(labelsOf(object))) ||
    (kind.skipOwned !== false && owners.length > 0)
  const facts = { uid: text("uid"), namespace, name: text("name"), resourceVersion: text("resourceVersion") }
  return { gvk: kind.gvkText, ...facts, owners, length, isExcluded }
}

const parsedObject = (bytes: Uint8Array): JsonObject | undefined => {
  const value = exactJsonIn(bytes)
  return isJsonObject(value) ? value : undefined
}

const missingKind = (gvk: string, discovery: Exclude<Discovery, { tag: "found" }>): MissingKind => {
  if (discovery.tag === "failed") return refusedKind(gvk, discovery.status, "")
  return { gvk, state: discovery.tag === "absent" ? "waiting" : "failing", detail: discovery.detail }
}

/** `path`: of the collection; the empty string before discovery. */
const refusedKind = (gvk: string, { code, reason, message }: ApiStatus, path: string): MissingKind => {
  if (code === 401) return { gvk, state: "forbidden", detail: `HTTP 401 ${reason}: ${message}` }
  if (code !== 403) return { gvk, state: "failing", detail: message }
  return { gvk, state: "forbidden", detail: `${message}; ${permissionHint(path, ["list"])}` }
}
