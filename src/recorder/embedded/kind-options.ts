/** What to record, written in a program: the settings of the configuration file, and the text that such a file would have. */
import { defaultConfiguration } from "../configuration/default-configuration.ts"
import type { Detect, SkipOwned } from "../configuration/tracked-kind.ts"

/** How a kind is recorded; every setting has a default (docs/reference/configuration.md). */
export interface KindOptions {
  /** JSON pointers to pod templates, of custom kinds; those of built-in kinds are known. */
  readonly podSpecTemplatePaths?: ReadonlyArray<string>
  /** Also record starts and ends of the pods that these objects own, directly or not. Default false. */
  readonly trackLifecycle?: boolean
  /** What happens to objects with an owner: recorded (`false`), left out of exports (`"export"`), not recorded (`"ingest"`). Default false. */
  readonly skipOwned?: SkipOwned
  /** Which changes count. Default: `all`; `content` for kinds without a status. */
  readonly detect?: Detect
  /** JSON pointers to fields whose changes never count. */
  readonly ignore?: ReadonlyArray<string>
  /** Whether recorded objects keep `metadata.managedFields`. Default true. */
  readonly keepManagedFields?: boolean
  /** Default: all objects. */
  readonly labelSelector?: string
  /** Default: all objects. */
  readonly fieldSelector?: string
  /** Default: the whole cluster. */
  readonly namespaces?: ReadonlyArray<string>
  /** How long its events are kept, such as `30d`. Default: for ever. */
  readonly retainFor?: string
  /** How much its events may take on disk, such as `2Gi`. Default: any. */
  readonly retainBytes?: string
}

/** Kinds by name, `apps/v1.Deployment` or `v1.Pod`, with the defaults or with settings for each. */
export type RecordedKinds = ReadonlyArray<string> | Readonly<Record<string, KindOptions>>

/** How much is kept of all kinds without limits of their own. */
interface KeptOptions {
  readonly retainFor?: string | undefined
  readonly retainBytes?: string | undefined
}

/** The configuration as text; without kinds, the workloads and their pods, as `reel k8s` records them. */
export const configurationText = (
  kinds: RecordedKinds | undefined,
  { retainFor, retainBytes }: KeptOptions = {},
): string => {
  // JSON is YAML; a member that is undefined is left out.
  if (kinds !== undefined) {
    const trackedObjects = isList(kinds) ? Object.fromEntries(kinds.map((kind) => [kind, {}])) : kinds
    return JSON.stringify({ retainFor, retainBytes, trackedObjects }, undefined, 2)
  }
  const kept = Object.entries({ retainFor, retainBytes }).filter(([, limit]) => limit !== undefined)
  return `${defaultConfiguration}${kept.map(([name, limit]) => `${name}: ${JSON.stringify(limit)}\n`).join("")}`
}

const isList = (kinds: RecordedKinds): kinds is ReadonlyArray<string> => Array.isArray(kinds)
