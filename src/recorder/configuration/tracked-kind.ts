/**
 * The kinds that a recorder records, and how it records each: the configuration file with every default filled in, so that no later module
 * checks whether a setting was given.
 */
import * as Schema from "effect/Schema"
import type { RedactionRules } from "../../kube/index.ts"
import type { GroupVersionKind } from "../../kube/offline.ts"

/**
 * When a change counts as an event. `all`: every new resourceVersion; with ignored fields, anything but those and
 * `metadata.{resourceVersion,generation,managedFields}`. `content`: the same without `status`. `spec`: SimKube's rule, `spec` alone (without a
 * Pod's `nodeName`).
 */
export const Detect = Schema.Literals(["all", "content", "spec"])
export type Detect = typeof Detect.Type

/**
 * What happens to objects that have an owner. `false`: recorded and exported. `"export"` (`true` in the file): recorded,
 * left out of exports. `"ingest"`: never recorded, which saves their space and cannot be undone.
 */
export const SkipOwned = Schema.Union([Schema.Literal(false), Schema.Literals(["export", "ingest"])])
export type SkipOwned = typeof SkipOwned.Type

const settings = {
  gvk: Schema.Struct({ group: Schema.String, version: Schema.String, kind: Schema.String }),
  /** `apps/v1.Deployment`: in the form of `formatGvk`, however the file spells it. */
  gvkText: Schema.String,
  /** Extended JSON pointers (`*` = every element of an array) to pod templates; empty for a kind without any. */
  podSpecTemplatePaths: Schema.Array(Schema.String),
  /** Whether starts and ends of the pods that these objects own, directly or not, are recorded. */
  trackLifecycle: Schema.Boolean,
  skipOwned: SkipOwned,
  /** Whether `metadata.managedFields` is kept in recorded objects. */
  keepManagedFields: Schema.Boolean,
  /** Passed to the API server unchanged; absent: all objects. */
  labelSelector: Schema.optionalKey(Schema.String),
  /** Passed to the API server unchanged; absent: all objects. */
  fieldSelector: Schema.optionalKey(Schema.String),
  /** What is replaced in its objects before they are recorded; absent: nothing. */
  redaction: Schema.optionalKey(
    Schema.Struct({
      secret: Schema.Boolean,
      env: Schema.Array(Schema.String),
      annotations: Schema.Array(Schema.String),
      toolAnnotations: Schema.Array(Schema.String),
      pointers: Schema.Array(Schema.String),
      headers: Schema.optionalKey(Schema.Array(Schema.String)),
      arguments: Schema.optionalKey(Schema.Array(Schema.String)),
      addresses: Schema.optionalKey(Schema.Boolean),
    }),
  ),
  /** At least one namespace, without repetition; absent: the whole cluster. Has no effect on cluster-scoped kinds. */
  namespaces: Schema.optionalKey(Schema.Array(Schema.String)),
  /** µs for which its events are kept; absent: as long as those of other kinds. */
  retainFor: Schema.optionalKey(Schema.Number),
  /** Bytes on disk that its events may take; absent: any. */
  retainBytes: Schema.optionalKey(Schema.Number),
}

/** One kind as the file describes it, before the defaults that depend on the kind. */
export const ConfiguredKind = Schema.Struct({
  ...settings,
  detect: Schema.optionalKey(Detect),
  ignore: Schema.optionalKey(Schema.Array(Schema.String)),
})
export interface ConfiguredKind extends Schema.Schema.Type<typeof ConfiguredKind> {}

/** One kind to record, with all defaults filled in. Plain data, so that it can be sent to a worker thread. */
export const TrackedKind = Schema.Struct({
  ...settings,
  detect: Detect,
  /** JSON pointers to fields whose changes never count. */
  ignore: Schema.Array(Schema.String),
  /** The part of its objects that is recorded here, the others by other recorders; absent: all. Not of the file: from the command line. */
  shard: Schema.optionalKey(
    Schema.Struct({ index: Schema.Number, count: Schema.Number, by: Schema.Literals(["uid", "namespace"]) }),
  ),
})
export interface TrackedKind extends Schema.Schema.Type<typeof TrackedKind> {}

/** Every other kind of the server that can be watched: the settings of each, and the exceptions, as `isException` of every-kind.ts has them. */
export const EveryKind = Schema.Struct({
  except: Schema.Array(Schema.String),
  skipOwned: SkipOwned,
  keepManagedFields: Schema.Boolean,
  detect: Schema.optionalKey(Detect),
  ignore: Schema.optionalKey(Schema.Array(Schema.String)),
  labelSelector: Schema.optionalKey(Schema.String),
  fieldSelector: Schema.optionalKey(Schema.String),
  namespaces: Schema.optionalKey(Schema.Array(Schema.String)),
  /** µs for which the events of each of them are kept; absent: as long as those of kinds without limits of their own. */
  retainFor: Schema.optionalKey(Schema.Number),
  /** Bytes on disk that the events of each may take; absent: any. */
  retainBytes: Schema.optionalKey(Schema.Number),
  /** What the configuration says of redaction; which rules that makes depends on the kind. */
  redactionSettings: Schema.Struct({
    env: Schema.Array(Schema.String),
    annotations: Schema.Array(Schema.String),
    pointers: Schema.ReadonlyMap(Schema.String, Schema.Array(Schema.String)),
    without: Schema.Array(Schema.String),
  }),
})
export interface EveryKind extends Schema.Schema.Type<typeof EveryKind> {}

/** The whole configuration. `kinds` keeps the order of the file and contains each kind once. */
export const RecorderConfiguration = Schema.Struct({
  kinds: Schema.Array(TrackedKind),
  /** The settings of all kinds that `kinds` does not name; absent: no others are recorded. */
  every: Schema.optionalKey(EveryKind),
  /** Name of the file it was read from, as given. */
  source: Schema.String,
  /** µs for which what was recorded is kept; absent: for ever. */
  retainFor: Schema.optionalKey(Schema.Number),
  /** Bytes that the recording may take on disk; absent: any. */
  retainBytes: Schema.optionalKey(Schema.Number),
})
export interface RecorderConfiguration extends Schema.Schema.Type<typeof RecorderConfiguration> {}

/** The defaults that depend on the kind. They belong to the code that detects changes, so they are passed in. */
export interface DetectionDefaults {
  readonly defaultDetect: (gvk: GroupVersionKind) => Detect
  readonly defaultIgnore: (gvk: GroupVersionKind, detect: Detect) => readonly string[]
}

/**
 * The only place where defaults that depend on the kind are filled in. A given `ignore` replaces the default list instead of extending it,
 * as lists do in Kubernetes: otherwise what the default leaves out could never be recorded. `redaction`: from `redactionOf`.
 */
export const resolveKind = (
  kind: ConfiguredKind,
  defaults: DetectionDefaults,
  redaction: RedactionRules | undefined,
): TrackedKind => {
  const detect = kind.detect ?? defaults.defaultDetect(kind.gvk)
  const ignore = kind.ignore ?? defaults.defaultIgnore(kind.gvk, detect)
  return { ...kind, detect, ignore, ...(redaction !== undefined && { redaction }) }
}

/**
 * Restricts the recording to namespaces, for a recorder with a Role and no ClusterRole. A kind that names its own namespaces keeps them,
 * because its list is more specific. An empty list changes nothing.
 */
export const withinNamespaces = (
  configuration: RecorderConfiguration,
  namespaces: readonly string[],
): RecorderConfiguration =>
  namespaces.length === 0
    ? configuration
    : {
        ...configuration,
        kinds: configuration.kinds.map((kind) => ({ namespaces, ...kind })),
        ...(configuration.every !== undefined && { every: { namespaces, ...configuration.every } }),
      }

/** Kinds all of whose objects are recorded: their owners never need to be looked up at the API server. */
export const recordedWhole = (kinds: ReadonlyArray<TrackedKind>): ReadonlyArray<string> =>
  kinds.flatMap(({ gvkText, labelSelector, fieldSelector, namespaces, shard, skipOwned }) =>
    [labelSelector, fieldSelector, namespaces, shard].every((part) => part === undefined) && skipOwned !== "ingest"
      ? [gvkText]
      : [],
  )

/** Those of `kinds` that are not among the others. */
export const withoutKinds = (
  kinds: ReadonlyArray<TrackedKind>,
  others: ReadonlyArray<TrackedKind>,
): ReadonlyArray<TrackedKind> => {
  const names = new Set(others.map(({ gvkText }) => gvkText))
  return kinds.filter(({ gvkText }) => !names.has(gvkText))
}
