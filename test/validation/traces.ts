/** Small traces for rules: objects in events, as a decoder yields them. */
import { openDecoder, type TraceItem } from "../../src/trace/index.ts"
import { TraceValidation, type ValidationReport } from "../../src/validation/trace-validation.ts"

export type Body = Readonly<Record<string, unknown>>

/** An object with a name in namespace shop, unless the body says otherwise. */
export const object = (gvk: string, name: string, body: Body = {}, namespace = "shop"): Body => {
  const dot = gvk.lastIndexOf(".")
  const { metadata, ...rest } = body as { metadata?: Body }
  const own = { name, ...(namespace !== "" && { namespace }), ...metadata }
  return { apiVersion: gvk.slice(0, dot), kind: gvk.slice(dot + 1), metadata: own, ...rest }
}

/** A Deployment whose pods have this spec. */
export const deployment = (spec: Body, name = "web", namespace = "shop"): Body =>
  object("apps/v1.Deployment", name, { spec: { template: { spec } } }, namespace)

/** A pod spec with one container. */
export const container = (body: Body, list = "containers"): Body => ({
  [list]: [{ name: "app", image: "app", ...body }],
})

/** One event: what was applied, and what was deleted after that. */
export interface TracedEvent {
  readonly applied?: ReadonlyArray<Body>
  readonly deleted?: ReadonlyArray<Body>
}

const firstSecond = 1_700_000_000

const eventOf = (body: Body, action: "applied" | "deleted", second: number): TraceItem => {
  const { name = "", namespace = "" } = (body.metadata ?? {}) as { name?: string; namespace?: string }
  const event = {
    type: "object" as const,
    sequence: 1,
    time: (firstSecond + second) * 1_000_000,
    gvk: body.kind === undefined ? "" : `${String(body.apiVersion)}.${String(body.kind)}`,
    action,
    uid: "",
    namespace,
    name,
    resourceVersion: "",
    object: Buffer.from(JSON.stringify(body)),
  }
  return { type: "event", event, isSnapshot: false }
}

/** The items of a SimKube trace with these events, a second apart. */
export const itemsOf = (events: ReadonlyArray<TracedEvent>, trackedObjects: Body = {}): ReadonlyArray<TraceItem> => [
  { type: "header", cut: 0, kinds: [], incomplete: [], sanitised: "simkube" },
  { type: "config", config: Buffer.from(JSON.stringify({ trackedObjects })) },
  ...events.flatMap(
    ({ applied = [], deleted = [] }, second): ReadonlyArray<TraceItem> => [
      { type: "batch", time: (firstSecond + second) * 1_000_000 },
      ...applied.map((body) => eventOf(body, "applied", second)),
      ...deleted.map((body) => eventOf(body, "deleted", second)),
    ],
  ),
]

interface Checking {
  readonly trackedObjects?: Body
  readonly namespacePrefix?: string
}

/** The report about these events. */
export const reportOf = (
  events: ReadonlyArray<TracedEvent>,
  { trackedObjects = {}, namespacePrefix = "virtual" }: Checking = {},
): ValidationReport => {
  const validation = new TraceValidation({ namespacePrefix })
  for (const item of itemsOf(events, trackedObjects)) validation.add(item)
  return validation.finish()
}

/** `apps/v1.Deployment shop/web: Secret db ×2` for each finding of a rule. */
export const foundBy = (code: string, events: ReadonlyArray<TracedEvent>, checking?: Checking): ReadonlyArray<string> =>
  reportOf(events, checking)
    .rules.filter(({ rule }) => rule.code === code)
    .flatMap(({ findings }) =>
      findings.map(({ subject, kind, name, count }) => {
        const own = [subject.namespace, subject.name].filter((part) => part !== "").join("/")
        const about = [subject.gvk, own].filter((part) => part !== "").join(" ")
        return `${about}:${[kind, name].map((part) => part && ` ${part}`).join("")} ×${count}`
      }),
    )

/** The items of a trace in bytes. */
export const decode = async (format: "ndjson" | "simkube" | "kwok", bytes: Uint8Array): Promise<TraceItem[]> => {
  const decoder = await openDecoder(format)
  return [...decoder.push(bytes), ...decoder.end()]
}
