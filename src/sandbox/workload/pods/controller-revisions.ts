/**
 * ControllerRevisions: the numbered snapshots of their templates that StatefulSets and DaemonSets keep
 * (pkg/controller/history).
 */
import { type Cluster, sameJson, stableText } from "../../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  type ControllerRevision,
  controllerReference,
  kinds,
  type PodTemplate,
} from "../../../kube/index.ts"
import { createdMs } from "./pods.ts"

/** `data` of a revision: a strategic merge patch that restores the template. */
export const revisionData = (template: PodTemplate): unknown => ({
  spec: { template: { $patch: "replace", ...template } },
})

/** The template of a revision. */
export const templateOf = ({ data }: ControllerRevision): PodTemplate => {
  const { $patch: _patch, ...template } = (data as { spec: { template: PodTemplate & { $patch?: string } } }).spec
    .template
  return template
}

/**
 * The hash of a StatefulSet's revision, digit for digit the real one: FNV-1 over the data as Go writes it (members
 * sorted, `<`, `>` and `&` escaped), followed by the collision count.
 */
export const revisionHash = (data: unknown, collisionCount: number): string =>
  safeEncode(String(fnv32(Buffer.from(goJson(data) + String(collisionCount)))))

const goJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1))
    return `{${members.map(([name, member]) => `${escaped(name)}:${goJson(member)}`).join(",")}}`
  }
  return typeof value === "string" ? escaped(value) : JSON.stringify(value)
}

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

/** Oldest revision first. */
const sortedRevisions = (revisions: ReadonlyArray<ControllerRevision>): ReadonlyArray<ControllerRevision> =>
  [...revisions].sort(
    (left, right) =>
      left.revision - right.revision ||
      createdMs(left) - createdMs(right) ||
      (left.metadata.name < right.metadata.name ? -1 : 1),
  )

/** How an owner names its revisions. */
interface RevisionNaming {
  readonly labels: Readonly<Record<string, string>>
  /** For a collision count. */
  readonly hash: (collisionCount: number) => string
  /** Label that carries the hash. */
  readonly hashLabel: string
}

interface LatestRevision {
  readonly revision: ControllerRevision
  readonly collisionCount: number
}

/**
 * The revision of the owner's current template: an existing one, moved to the end if it is older (a rollback), or a
 * new one. A name that other data has taken increments the collision count.
 */
export const latestRevision = async (
  cluster: Cluster,
  owner: ApiObject,
  template: PodTemplate,
  own: ReadonlyArray<ControllerRevision>,
  collisions: number,
  naming: RevisionNaming,
): Promise<LatestRevision> => {
  const data = revisionData(template)
  const sorted = sortedRevisions(own)
  const next = (sorted.at(-1)?.revision ?? 0) + 1
  const equal = sorted.filter((revision) => sameJson(revision.data, data)).at(-1)
  if (equal !== undefined) {
    if (equal === sorted.at(-1)) return { revision: equal, collisionCount: collisions }
    const revision = await cluster.update(kinds.revisions, { ...equal, revision: next })
    return { revision, collisionCount: collisions }
  }
  for (let collisionCount = collisions; ; collisionCount++) {
    const hash = naming.hash(collisionCount)
    const { metadata } = owner
    const wanted: ControllerRevision = {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name: `${metadata.name.slice(0, 223)}-${hash}`,
        namespace: metadata.namespace,
        labels: { ...naming.labels, [naming.hashLabel]: hash },
        annotations: metadata.annotations,
        ownerReferences: [controllerReference(owner)],
      },
      data,
      revision: next,
    }
    try {
      return { revision: await cluster.create(kinds.revisions, wanted), collisionCount }
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error
      const existing = await cluster.api.get<ControllerRevision>(kinds.revisions, wanted.metadata)
      if (sameJson(existing.data, data)) return { revision: existing, collisionCount }
    }
  }
}

/** Deletes the oldest unused revisions beyond `limit`. */
export const truncateHistory = async (
  cluster: Cluster,
  own: ReadonlyArray<ControllerRevision>,
  isUsed: (revision: ControllerRevision) => boolean,
  limit: number,
): Promise<void> => {
  const unused = sortedRevisions(own).filter((revision) => !isUsed(revision))
  for (const revision of unused.slice(0, Math.max(0, unused.length - limit)))
    await cluster.delete(kinds.revisions, revision)
}

// The hash in `pod-template-hash` and `controller-revision-hash`: 32-bit FNV-1a over the template, written in the
// alphabet of generated names.
//
// Same form as the real hash and equally stable: equal templates have equal hashes in every process. The values differ,
// since the real controllers hash Go's print of the template, which depends on fields of Go types that are not in the
// API.

const offset = 0x811c9dc5
const prime = 0x01000193

/** 32-bit FNV-1a, as an unsigned number. */
export const fnv32a = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime)
  return hash >>> 0
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

/** Decimal digits mapped into the alphabet of generated names (apimachinery rand.SafeEncodeString). */
export const safeEncode = (text: string): string =>
  [...text].map((letter) => letters[letter.charCodeAt(0) % letters.length] ?? "").join("")

/** `collisionCount` is included once two different templates have had the same hash. */
export const hashTemplate = (template: unknown, collisionCount?: number): string => {
  const text = stableText(template)
  const suffix = Buffer.alloc(collisionCount === undefined ? 0 : 8)
  if (collisionCount !== undefined) suffix.writeUInt32LE(collisionCount, 0)
  return safeEncode(String(fnv32a(Buffer.concat([Buffer.from(text), suffix]))))
}

/** 32-bit FNV-1, as an unsigned number: used in names of ControllerRevisions. */
const fnv32 = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte
  return hash >>> 0
}
