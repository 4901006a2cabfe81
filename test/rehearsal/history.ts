/** Recorded history for tests, written down as the changes of objects at seconds of one day. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import type { TraceItem } from "../../src/library/rehearsal.ts"

/** µs since the Unix epoch: 2026-01-01T00:00:00Z. */
export const day = Date.UTC(2026, 0, 1) * 1000

export interface Body {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [member: string]: unknown }
  readonly [member: string]: unknown
}

/** `at`: seconds of the day. */
export interface Recorded {
  readonly at: number
  readonly deleted?: boolean
  readonly isSnapshot?: boolean
  readonly object: Body
}

/** The trace of these changes, with versions in their order. */
export const traceOf = (changes: ReadonlyArray<Recorded>, end = (changes.at(-1)?.at ?? 0) + 1): TraceItem[] => [
  {
    type: "header",
    window: { start: day, end: day + end * 1_000_000 },
    cut: changes.length,
    kinds: [...new Set(changes.map(({ object }) => `${object.apiVersion}.${object.kind}`))],
    incomplete: [],
  },
  ...changes.map(({ at, deleted = false, isSnapshot = false, object }, index): TraceItem => {
    const { namespace = "", name } = object.metadata
    const resourceVersion = String(index + 1)
    const uid = String(object.metadata.uid ?? `uid-${namespace}-${name}`)
    const body = { ...object, metadata: { ...object.metadata, uid, resourceVersion } }
    return {
      type: "event",
      isSnapshot,
      event: {
        type: "object",
        sequence: index + 1,
        time: day + Math.round(at * 1_000_000),
        gvk: `${object.apiVersion}.${object.kind}`,
        action: deleted ? "deleted" : "applied",
        uid,
        namespace,
        name,
        resourceVersion,
        object: Buffer.from(JSON.stringify(body)),
      },
    }
  }),
]

/** The same as a file in that directory; returns its path. */
export const traceFile = (directory: string, changes: ReadonlyArray<Recorded>): string => {
  const lines = traceOf(changes).map((item) => {
    if (item.type === "header") return { format: "kubereel", version: 1, ...item, type: undefined }
    if (item.type !== "event" || item.event.type !== "object")
      throw new Error(`not of a trace of changes: ${item.type}`)
    const { type: _type, object, ...event } = item.event
    return { ...event, ...(item.isSnapshot && { snapshot: true }), object: JSON.parse(Buffer.from(object).toString()) }
  })
  const snapshot = changes.filter(({ isSnapshot }) => isSnapshot === true).length
  const end = { end: { snapshot, events: changes.length - snapshot, gaps: 0 } }
  const file = join(directory, "trace.ndjson")
  writeFileSync(file, [...lines, end].map((line) => `${JSON.stringify(line)}\n`).join(""))
  return file
}

/** The definition of SimplePod. */
export const simplePodDefinition: Body = parse(
  readFileSync(fileURLToPath(new URL("../../examples/host/simplepod-crd.yaml", import.meta.url)), "utf8"),
)

export const simplePod = (name: string, image: string, metadata: object = {}, status?: object): Body => ({
  apiVersion: "slinky.dev/v1",
  kind: "SimplePod",
  metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z", generation: 1, ...metadata },
  spec: { image },
  ...(status !== undefined && { status }),
})

/** The pod that production's controller made for it. */
export const podOf = (owner: string, image: string, metadata: object = {}, status?: object): Body => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: owner,
    namespace: "shop",
    uid: `pod-${owner}`,
    ownerReferences: [
      { apiVersion: "slinky.dev/v1", kind: "SimplePod", name: owner, uid: `uid-shop-${owner}`, controller: true },
    ],
    ...metadata,
  },
  spec: { containers: [{ name: "main", image }] },
  ...(status !== undefined && { status }),
})
