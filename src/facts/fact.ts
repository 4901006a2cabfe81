/**
 * A change of one object as a fact: what people ask about, and nothing else. Pure.
 *
 * Guarantee: no value of a secret is in a fact. It has no annotations and no variables of containers, neither values nor names; what redaction has replaced is
 * left out; phases and reasons are single words of at most 128 characters. Names of members are in it, such as the keys of Secrets and ConfigMaps.
 */
import type { ChangeAuthor, LiveChange } from "../archive/index.ts"
import { quantityOf } from "../kube/offline.ts"
import * as trace from "../trace/index.ts"
import { type JsonObject, memberIn, objectIn, objectsIn, textIn } from "../trace/index.ts"
import type { Fact } from "./facts-file.ts"

/** `author`: of an audit log. */
export const factOf = (
  { type, event, before }: Pick<LiveChange, "type" | "event" | "before">,
  clusterUid: string,
  author: ChangeAuthor | undefined,
): Fact => {
  const former = parsed(before)
  const present = type === "vanished" ? undefined : parsed(event.object)
  const object = present ?? former ?? {}
  const written = type === "deleted" ? undefined : present
  const { gvk } = event
  const [isPod, isNode, isEvent] = [gvk === trace.podKind, gvk === "v1.Node", trace.eventKinds.includes(gvk)]
  const status = objectIn(object, "status")
  const pod = podIn(object, isPod)
  const counted = countedIn(object, isPod)
  const then = type === "changed" && former !== undefined ? countedIn(former, isPod) : undefined
  const about = objectIn(object, "involvedObject") ?? objectIn(object, "regarding")
  const owners = objectsIn(objectIn(object, "metadata"), "ownerReferences")
  const owner = isEvent ? about : owners.find(({ controller }) => controller === true)
  const ready = conditionIn(status, "Ready")
  const allocatable = objectIn(status, "allocatable")
  return {
    ...{ time: event.time, cluster_uid: clusterUid, sequence: event.sequence, gvk },
    ...{ kind: gvk.slice(gvk.lastIndexOf(".") + 1), namespace: plain(event.namespace), name: event.name },
    ...{ uid: event.uid, resource_version: event.resourceVersion },
    operation: type,
    changed: written === undefined || former === undefined ? null : changedPaths(former, written),
    manager: plain((written && trace.managersBetween(former, written, event.time)?.[0]?.manager) ?? ""),
    username: author === undefined ? null : [author.user, ...[author.impersonated ?? []].flat()].join(" as "),
    owner: plain(owner === undefined ? "" : ["kind", "name"].flatMap((each) => textIn(owner, each) || []).join("/")),
    phase: word(isEvent ? textIn(object, "type") : isNode ? nodePhase(status, ready) : phaseIn(status)),
    reason: word(textIn(isEvent ? object : isNode ? ready : undefined, "reason") || reasonIn(status, isPod, former)),
    ...counted,
    node: isPod ? plain(textIn(pod, "nodeName")) : null,
    cpu: isNode ? amountIn(allocatable, "cpu") : requested(pod, "cpu"),
    memory: isNode ? amountIn(allocatable, "memory") : requested(pod, "memory"),
    images_before: formerly(then?.images, counted.images),
    replicas_before: formerly(then?.replicas, counted.replicas),
    restarts_before: formerly(then?.restarts, counted.restarts),
  }
}

/** The spec of a pod, or of the pods that an object makes. */
const podIn = (object: JsonObject, isPod: boolean): JsonObject | undefined => {
  const spec = objectIn(object, "spec")
  const template = objectIn(spec, "template") ?? objectIn(objectIn(objectIn(spec, "jobTemplate"), "spec"), "template")
  return isPod ? spec : objectIn(template, "spec")
}

/** What is asked of the state before as well. */
const countedIn = (object: JsonObject, isPod: boolean): Pick<Fact, "images" | "replicas" | "restarts"> => {
  const [pod, status] = [podIn(object, isPod), objectIn(object, "status")]
  const containers = [...objectsIn(pod, "containers"), ...objectsIn(pod, "initContainers")]
  return {
    images: pod === undefined ? null : [...new Set(containers.flatMap((each) => plain(textIn(each, "image")) ?? []))],
    replicas: numberIn(objectIn(object, "spec"), "replicas") ?? numberIn(status, "desiredNumberScheduled"),
    restarts: isPod ? sumOf(statusesIn(status).map((each) => numberIn(each, "restartCount"))) : null,
  }
}

/** A former value if it is another one. */
const formerly = <Value>(before: Value | null = null, now: Value | null): Value | null =>
  JSON.stringify(before) === JSON.stringify(now) ? null : before

const parsed = (bytes: Uint8Array | undefined): JsonObject | undefined => {
  const value = bytes === undefined || bytes.length === 0 ? undefined : trace.exactJsonIn(bytes)
  return trace.isJsonObject(value) ? value : undefined
}

/** What stands for a value that was redacted. */
const redacted = /redacted:[0-9a-f]{16}/

const plain = (text: string): string | null => (text === "" || redacted.test(text) ? null : text)

/** A sentence could contain anything. */
const word = (text: string): string | null => (/^[A-Za-z][\w.:/-]{0,127}$/.test(text) ? plain(text) : null)

const numberIn = (value: JsonObject | undefined, name: string): number | null => {
  const found = memberIn(value, name)
  return typeof found === "number" ? found : null
}

/** `null`: none of them is known. */
const sumOf = (amounts: ReadonlyArray<number | null>): number | null =>
  amounts.reduce((sum, amount) => (amount === null ? sum : (sum ?? 0) + amount), null)

/** What every write changes. */
const bookkeeping = new Set(["resourceVersion", "generation", "managedFields", "uid"].map((name) => `metadata.${name}`))

/** Paths of one change; whoever wants more asks for its history. */
const mostPaths = 64

/** A member, an item by its number or its name, or a member with an odd name. */
const pathPart = /\["(?:[^"\\]|\\.)*"\]|\[[^\]]*\]|\.?[^.[]+/g

/** Their members' names may tell a secret. */
const withSecretNames = /^\.?\w*?(?:env(?:s|Vars|ironment)?|annotations)$/i

/** What items of lists are known by, without what may be a value. */
const knownBy = /^\[(?:\d|"|(?:name|type|containerPort)=)/

const shownPath = (path: string): string => {
  let shown = ""
  for (const [part] of path.matchAll(pathPart)) {
    if (part.includes("redacted:")) break
    shown += part.startsWith("[") && !knownBy.test(part) ? "[…]" : part
    if (withSecretNames.test(part)) break
  }
  return shown
}

const changedPaths = (before: JsonObject, after: JsonObject): ReadonlyArray<string> => {
  const options = { isLeftOut: (path: string) => bookkeeping.has(path), maximum: 4 * mostPaths }
  const found = trace.differencesBetween(before, after, options)
  return [...new Set(found.map(({ path }) => shownPath(path)).filter((path) => path !== ""))].slice(0, mostPaths)
}

const amountIn = (amounts: JsonObject | undefined, resource: string): number | null =>
  quantityOf(memberIn(amounts, resource)) ?? null

/** Of all containers together, with sidecars and without those that only initialise. */
const requested = (pod: JsonObject | undefined, resource: string): number | null => {
  const sidecars = objectsIn(pod, "initContainers").filter(({ restartPolicy }) => restartPolicy === "Always")
  const requests = [...objectsIn(pod, "containers"), ...sidecars].map((each) =>
    objectIn(objectIn(each, "resources"), "requests"),
  )
  return sumOf(requests.map((each) => amountIn(each, resource)))
}

const conditionIn = (status: JsonObject | undefined, type: string): JsonObject | undefined =>
  objectsIn(status, "conditions").find((each) => each.type === type)

const nodePhase = (status: JsonObject | undefined, ready: JsonObject | undefined): string =>
  status === undefined ? "" : ready?.status === "True" ? "Ready" : ready?.status === "False" ? "NotReady" : "Unknown"

/** A Job has no phase, but a condition when it has ended. */
const phaseIn = (status: JsonObject | undefined): string =>
  textIn(status, "phase") || (["Complete", "Failed"].find((type) => conditionIn(status, type)?.status === "True") ?? "")

const statusesIn = (status: JsonObject | undefined): ReadonlyArray<JsonObject> => [
  ...objectsIn(status, "containerStatuses"),
  ...objectsIn(status, "initContainerStatuses"),
]

/** How a container ended last. */
const endIn = (container: JsonObject | undefined): JsonObject | undefined =>
  objectIn(objectIn(container, "state"), "terminated") ?? objectIn(objectIn(container, "lastState"), "terminated")

/** Conditions that say with True that something is wrong; others do with False. */
const troubles = ["DisruptionTarget", "Failed", "ReplicaFailure", "Stalled"]

/**
 * Why a pod is disturbed, failed, has ended a container with this change, or waits, in this order; of other objects, the reason of a condition. How a container ended is
 * said once, so that ends can be counted, and only where the state before is known.
 */
const reasonIn = (status: JsonObject | undefined, isPod: boolean, former: JsonObject | undefined): string => {
  const said = (...types: ReadonlyArray<string>): ReadonlyArray<string> =>
    types
      .map((type) => [type, conditionIn(status, type)] as const)
      .filter(([type, condition]) => condition?.status === (troubles.includes(type) ? "True" : "False"))
      .map(([, condition]) => textIn(condition, "reason"))
  const known = new Map(statusesIn(objectIn(former, "status")).map((each) => [each.name, endIn(each)]))
  const ends = statusesIn(status)
    .filter((each) => former !== undefined && known.get(each.name ?? "")?.finishedAt !== endIn(each)?.finishedAt)
    .map((each) => textIn(endIn(each), "reason"))
  const waits = statusesIn(status).map((each) => textIn(objectIn(objectIn(each, "state"), "waiting"), "reason"))
  const reasons = [
    ...[...said("DisruptionTarget"), textIn(status, "reason"), ...ends.filter((end) => end === "OOMKilled"), ...ends],
    ...[...waits, ...(isPod ? said("PodScheduled") : said(...troubles, "Progressing", "Available", "Ready"))],
  ]
  return reasons.find((reason) => reason !== "") ?? ""
}
