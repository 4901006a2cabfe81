/**
 * SimKube's `trackedObjects`: the kinds of a trace and where their pod templates are (docs/facts/simkube.md#configuration).
 *
 * SimKube checks this map when it starts and again whenever it reads a trace. It rejects unknown keys in an entry, a known kind with other
 * paths than its own, and an unknown kind without paths. So only the few facts it knows are written ({@link encodeTrackedObjects}),
 * whatever else our own configuration contains about a kind; and reading ({@link readTrackedObjects}) is more lenient than SimKube.
 */

import * as Schema from "effect/Schema"
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/exact-json.ts"

/** SimKube's settings for one tracked kind. */
export interface TrackedObject {
  /** JSON pointers to pod templates, `*` meaning every element of an array; the empty string is the object itself. */
  readonly podSpecTemplatePaths: ReadonlyArray<string>
  /** Whether start and end of the pods owned by such an object are recorded. SimKube's default: false. */
  readonly trackLifecycle: boolean
  /** Whether objects with an owner are left out. SimKube's default: false. */
  readonly skipOwned: boolean
}

/** GVK string (`apps/v1.Deployment`) → its settings; in the order in which they are written. */
export type TrackedObjects = ReadonlyMap<string, TrackedObject>

/**
 * Kinds whose paths SimKube fills in and does not allow to be changed. ReplicaSet's is wrong (the template is at `/spec/template`), but
 * SimKube rejects a trace with another one (W-20).
 */
export const DEFAULT_TEMPLATE_PATHS: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["batch/v1.CronJob", ["/spec/jobTemplate/spec/template"]],
  ["apps/v1.DaemonSet", ["/spec/template"]],
  ["apps/v1.Deployment", ["/spec/template"]],
  ["batch/v1.Job", ["/spec/template"]],
  ["apps/v1.ReplicaSet", ["/spec"]],
  ["apps/v1.StatefulSet", ["/spec/template"]],
  ["v1.Pod", [""]],
])

/** Where Kubernetes itself has pod templates: not where SimKube looks for those of ReplicaSets, and in more kinds. */
const builtIn: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ...DEFAULT_TEMPLATE_PATHS,
  ["apps/v1.ReplicaSet", ["/spec/template"]],
  ["v1.ReplicationController", ["/spec/template"]],
  ["v1.PodTemplate", ["/template"]],
])

/** JSON pointers to the pod templates in objects of a kind of Kubernetes; `undefined` for kinds that have none, and for others. */
export const builtInTemplatePaths = (gvk: string): ReadonlyArray<string> | undefined => builtIn.get(gvk)

/** SimKube would reject this kind's entry. */
export class TrackedObjectError extends Schema.TaggedError<TrackedObjectError>()("TrackedObjectError", {
  gvk: Schema.String,
  /** `invalid-path`: a known kind with other paths than its own; `missing-path`: an unknown kind without any. */
  reason: Schema.Literals(["invalid-path", "missing-path"]),
  found: Schema.Array(Schema.String),
  /** The only paths allowed; empty if any would do. */
  allowed: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return this.reason === "missing-path"
      ? `${this.gvk}: SimKube needs podSpecTemplatePaths for this kind`
      : `${this.gvk}: podSpecTemplatePaths is ${JSON.stringify(this.found)}, SimKube allows only ${JSON.stringify(this.allowed)}`
  }
}

/** Fills in paths as SimKube does, by its rules. @throws TrackedObjectError if SimKube would reject the entry. */
export const normaliseTrackedObject = (gvk: string, tracked: TrackedObject): TrackedObject => {
  const found = tracked.podSpecTemplatePaths
  const allowed = DEFAULT_TEMPLATE_PATHS.get(canonicalGvk(gvk))
  if (allowed === undefined) {
    if (found.length === 0) throw new TrackedObjectError({ gvk, reason: "missing-path", found, allowed: [] })
    return tracked
  }
  if (found.length > 0 && (found.length !== allowed.length || found.some((path, index) => path !== allowed[index])))
    throw new TrackedObjectError({ gvk, reason: "invalid-path", found, allowed })
  return { ...tracked, podSpecTemplatePaths: allowed }
}

/** SimKube reads `/v1.Pod` as `v1.Pod`. */
const canonicalGvk = (gvk: string): string => (gvk.startsWith("/") ? gvk.slice(1) : gvk)

/** The result of {@link encodeTrackedObjects}. */
export interface EncodedTrackedObjects {
  /** The map below `config.trackedObjects`, in the encoding that SimKube accepts. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, boolean | ReadonlyArray<string>>>
  /** Kinds that SimKube's format cannot represent: it knows no template path for them and none was given (W-21). */
  readonly leftOut: ReadonlyArray<string>
}

/**
 * The tracked kinds in the form that SimKube's reader accepts, with its keys only. Known kinds get SimKube's own paths, because it rejects
 * any other. Kinds without pod templates, such as ConfigMap, are left out and named: SimKube would reject the whole trace, and a made-up
 * path would make the replay write into the objects.
 */
export const encodeTrackedObjects = (trackedObjects: TrackedObjects): EncodedTrackedObjects => {
  const entries = new Map<string, ReadonlyMap<string, boolean | ReadonlyArray<string>>>()
  const leftOut: string[] = []
  for (const [gvk, tracked] of trackedObjects) {
    const paths = DEFAULT_TEMPLATE_PATHS.get(canonicalGvk(gvk)) ?? tracked.podSpecTemplatePaths
    if (paths.length === 0) {
      leftOut.push(gvk)
      continue
    }
    const entry = new Map<string, boolean | ReadonlyArray<string>>([["podSpecTemplatePaths", paths]])
    // SimKube itself writes these two only when they are true.
    if (tracked.trackLifecycle) entry.set("trackLifecycle", true)
    if (tracked.skipOwned) entry.set("skipOwned", true)
    entries.set(gvk, entry)
  }
  return { entries, leftOut }
}

/**
 * Reads `config.trackedObjects` of a trace. Absent or null paths become an empty list unless the deprecated `podSpecTemplatePath` names
 * one; unknown keys are ignored (SimKube rejects them); nothing is checked against the known kinds, so that traces of older versions stay
 * readable. `undefined` if a value has the wrong type.
 */
export const readTrackedObjects = (value: JsonValue | undefined): TrackedObjects | undefined => {
  if (!isJsonObject(value)) return undefined
  const trackedObjects = new Map<string, TrackedObject>()
  for (const gvk of Object.keys(value)) {
    const entry = value[gvk]
    const tracked = isJsonObject(entry) ? readTrackedObject(entry) : undefined
    if (tracked === undefined) return undefined
    trackedObjects.set(gvk, tracked)
  }
  return trackedObjects
}

const readTrackedObject = (entry: JsonObject): TrackedObject | undefined => {
  const of = (key: string): JsonValue => (Object.hasOwn(entry, key) ? (entry[key] as JsonValue) : null)
  const plural = of("podSpecTemplatePaths") ?? []
  const singular = of("podSpecTemplatePath")
  const trackLifecycle = of("trackLifecycle") ?? false
  const skipOwned = of("skipOwned") ?? false
  if (!isStringArray(plural) || !(singular === null || typeof singular === "string")) return undefined
  if (typeof trackLifecycle !== "boolean" || typeof skipOwned !== "boolean") return undefined
  const podSpecTemplatePaths = plural.length === 0 && singular !== null ? [singular] : plural
  return { podSpecTemplatePaths, trackLifecycle, skipOwned }
}

const isStringArray = (value: JsonValue): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((item) => typeof item === "string")
