/** kwok recordings: what is written, what is read back, and what is rejected. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseAllDocuments } from "yaml"
import type { ObjectEvent } from "../../../../src/trace/event.ts"
import { BadTraceError } from "../../../../src/trace/formats/format.ts"
import { kwokDecoder } from "../../../../src/trace/formats/kwok/kwok-decoder.ts"
import { kwokEncoder } from "../../../../src/trace/formats/kwok/kwok-encoder.ts"
import {
  formatExactJson,
  isJsonObject,
  type JsonObject,
  parseExactJson,
} from "../../../../src/trace/json/exact-json.ts"
import { replayObject } from "../../../../src/trace/sanitising/replay-object.ts"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { rounds } from "../../../harness/effort.ts"
import { mutated } from "../../json-values.ts"
import { pair } from "./kubernetes-states.ts"

const start = 1_763_700_000_000_000
const header: TraceItem = {
  type: "header",
  window: { start, end: start + 60_000_000 },
  cut: 9,
  kinds: ["apps/v1.Deployment", "v1.Pod"],
  incomplete: [],
}

let sequence = 0
const event = (facts: Partial<ObjectEvent> & { readonly state?: JsonObject }, isSnapshot = false): TraceItem => {
  const { state, ...rest } = facts
  const object = state === undefined ? new Uint8Array() : Buffer.from(formatExactJson(state))
  const none = {
    uid: "",
    namespace: "shop",
    name: "web",
    resourceVersion: "",
    action: "applied",
    gvk: "v1.Pod",
  } as const
  const fields = { type: "object", sequence: ++sequence, time: start, ...none, object, ...rest } as const
  return { type: "event", event: fields, isSnapshot }
}

const written = (...items: ReadonlyArray<TraceItem>): string => {
  const encoder = kwokEncoder()
  const pieces: Uint8Array[] = []
  for (const item of items) {
    encoder.add(item)
    const piece = encoder.take()
    if (piece !== undefined) pieces.push(piece)
  }
  return Buffer.concat([...pieces, ...encoder.finish()]).toString()
}

const documentsOf = (yaml: string): ReadonlyArray<JsonObject> =>
  [...parseAllDocuments(yaml)].map((document) => document.toJS() as JsonObject)

const read = (yaml: string | Uint8Array, size = 1000): TraceItem[] => {
  const decoder = kwokDecoder()
  const bytes = Buffer.from(yaml)
  const items: TraceItem[] = []
  for (let at = 0; at < bytes.length; at += size) items.push(...decoder.push(bytes.subarray(at, at + size)))
  return [...items, ...decoder.end()]
}

const named = (state: JsonObject): JsonObject => {
  const { metadata } = state
  return { ...state, metadata: { ...(isJsonObject(metadata) ? metadata : {}), name: "web", namespace: "shop" } }
}

test("empty lines take no time, and no memory but their own", () => {
  const start = process.threadCpuUsage()
  const decoder = kwokDecoder()
  const piece = Buffer.alloc(65_536, "\n")
  for (let bytes = 0; bytes < 30_000_000; bytes += piece.length) expect([...decoder.push(piece)]).toEqual([])
  const { user, system } = process.threadCpuUsage(start)
  expect((user + system) / 1e6).toBeLessThan(1.5)
})

const nested = (levels: number): JsonObject => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`)

describe("a kwok recording", () => {
  test.each<[string, Parameters<typeof event>[0], string]>([
    ["without a name", { name: "", state: {} }, 'an object of kind "v1.Pod" has no name'],
    ["of no kind", { gvk: "apps/v1.", state: named({}) }, '"apps/v1." is not a kind'],
    [
      "with another name in its metadata",
      { name: "other", state: named({}) },
      "v1.Pod other has another name or namespace in its metadata",
    ],
    [
      "that is nested without end",
      { state: named({ spec: nested(4000) }) },
      "v1.Pod shop/web has more than 999 levels",
    ],
  ])("is not written for an object %s: nothing could read it again", (_, facts, problem) => {
    expect(() => written(header, event(facts, true))).toThrow(`cannot be written as kwok: ${problem}`)
    if (facts.name !== "other") expect(() => written(header, event(facts))).toThrow(problem)
  })

  test("starts with the start snapshot as plain objects; changes follow with their offsets in nanoseconds", () => {
    const state = (replicas: number): JsonObject => named({ spec: { replicas } })
    const gvk = "apps/v1.Deployment"
    const documents = documentsOf(
      written(
        header,
        event({ gvk, state: state(1) }, true),
        event({ gvk, state: state(2), time: start + 1_500_000 }),
        event({ gvk, action: "deleted", state: state(2), time: start + 2_000_000 }),
      ),
    )
    const patch = {
      apiVersion: "action.kwok.x-k8s.io/v1alpha1",
      kind: "ResourcePatch",
      resource: { group: "apps", version: "v1", resource: "deployments" },
      target: { name: "web", namespace: "shop" },
    }
    expect(documents).toEqual([
      { apiVersion: "apps/v1", kind: "Deployment", ...state(1) },
      { ...patch, durationNanosecond: 1_500_000_000, method: "patch", template: { spec: { replicas: 2 } } },
      { ...patch, durationNanosecond: 2_000_000_000, method: "delete" },
    ])
  })

  test("counts from its first change if its window starts at 0: kwok would wait 56 years for it", () => {
    const fromZero = { ...header, window: { start: 0, end: start + 2_000_000 } }
    const items = [event({ state: named({}) }), event({ action: "deleted", time: start + 1_500_000 })]
    const yaml = written(fromZero, ...items)
    expect(documentsOf(yaml).map(({ durationNanosecond }) => durationNanosecond)).toEqual([0, 1_500_000_000])
    expect(statesOf(read(yaml))).toEqual(statesOf(items))
  })

  test("has its times to the microsecond even if they are further apart than nanoseconds are exact", () => {
    // 1,795,296,783,082,000,000 ns: the nearest number is less.
    const time = 1_795_296_783_082_001
    const back = read(written({ ...header, window: { start: 1, end: time + 1 } }, event({ time, state: named({}) })))
    expect(back.map((item) => item.type === "event" && item.event.time).at(-1)).toBe(time)
  })

  test("has increasing offsets: kwok reads through a heap, which reorders equal ones", () => {
    const creations = Array.from({ length: 5 }, (_, index) =>
      event({ name: `p${index}`, time: start + 1000, state: { metadata: { name: `p${index}`, namespace: "shop" } } }),
    )
    const offsets = documentsOf(written(header, ...creations)).map(({ durationNanosecond }) => durationNanosecond)
    expect(offsets).toEqual([1_000_000, 1_000_001, 1_000_002, 1_000_003, 1_000_004])
  })

  test("leaves out changes of which nothing remains for replay", () => {
    const state = (phase: string, nodeName: string): JsonObject => named({ spec: { nodeName }, status: { phase } })
    const encoder = kwokEncoder()
    const states = [state("Pending", ""), state("Running", "n1"), state("Succeeded", "n1")]
    for (const item of [header, ...states.map((each) => event({ state: each }))]) encoder.add(item)
    expect(documentsOf(Buffer.concat([...encoder.finish()]).toString())).toHaveLength(1)
    expect(encoder.leftOut.unchanged).toBe(2)
  })

  test("writes the whole object if a patch cannot express the change", () => {
    const state = (...protocols: ReadonlyArray<string>): JsonObject =>
      named({ spec: { ports: protocols.map((protocol) => ({ port: 53, protocol })) } })
    const changes = [
      event({ gvk: "v1.Service", state: state("UDP") }),
      event({ gvk: "v1.Service", state: state("UDP", "TCP") }),
    ]
    expect(documentsOf(written(header, ...changes)).map(({ method }) => method)).toEqual(["create", "create"])
  })

  test("writes objects of custom kinds whole, with the nulls that they may have", () => {
    const state = (size: number | null): JsonObject =>
      named({ spec: { size, parts: [null, { name: "a", when: null }] } })
    const changes = [1, null, null, 2].map((size) => event({ gvk: "example.com/v1.Cactus", state: state(size) }))
    const text = written(header, ...changes)
    expect(documentsOf(text).map(({ method }) => method)).toEqual(["create", "create", "create"])
    const specs = read(text).flatMap((item) => {
      const object = item.type === "event" && item.event.type === "object" ? parseExactJson(item.event.object) : null
      return isJsonObject(object) ? [object.spec] : []
    })
    expect(specs).toEqual([1, null, 2].map((size) => state(size).spec))
  })

  test("takes the plural of a custom resource from its definition, and guesses the rest", () => {
    const definition = {
      metadata: { name: "cacti.example.com" },
      spec: { group: "example.com", names: { kind: "Cactus", plural: "cacti" } },
    }
    const crd = { gvk: "apiextensions.k8s.io/v1.CustomResourceDefinition", namespace: "", name: "cacti.example.com" }
    const of = (gvk: string): TraceItem => event({ gvk, state: named({}) })
    const items = [
      event({ ...crd, state: definition }, true),
      of("example.com/v1.Cactus"),
      of("networking.k8s.io/v1.NetworkPolicy"),
    ]
    const more = [of("networking.k8s.io/v1.Ingress"), of("v1.Endpoints"), of("v1.Service")]
    const plurals = documentsOf(written(header, ...items, ...more))
      .slice(1)
      .map(({ resource }) => resource)
    expect(plurals.map((resource) => isJsonObject(resource) && resource.resource)).toEqual([
      "cacti",
      "networkpolicies",
      "ingresses",
      "endpoints",
      "services",
    ])
  })

  test("leaves out gaps and counts them", () => {
    const encoder = kwokEncoder()
    const gap = {
      type: "gap",
      sequence: 1,
      time: 1,
      gvk: "v1.Pod",
      namespace: "shop",
      fromVersion: "",
      toVersion: "",
      fromTime: 1,
      toTime: 2,
    } as const
    encoder.add({ ...header, incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] })
    encoder.add({ type: "event", event: { ...gap, reason: "expired", detail: "" }, isSnapshot: false })
    expect(encoder.leftOut).toEqual({ gaps: 1, incomplete: 1, objects: new Map(), unchanged: 0, warnings: [] })
  })

  test("read back, has every state at its time, and written again has the same documents", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(pair, fc.nat(3), fc.boolean()), { maxLength: 8 }),
        fc.integer({ min: 1, max: 400 }),
        (steps, size) => {
          let time = start
          const items: TraceItem[] = [header]
          for (const [{ gvk, before, after }, wait, isDeleted] of steps) {
            time += wait * 1000
            items.push(event({ gvk, time, state: named(before) }), event({ gvk, time, state: named(after) }))
            if (isDeleted) items.push(event({ gvk, time, action: "deleted" }))
          }
          const yaml = written(...items)
          const back = read(yaml, size)
          expect(documentsOf(written(...back))).toEqual(documentsOf(yaml))
          expect(statesOf(back)).toEqual(statesOf(items))
        },
      ),
      { numRuns: rounds(200) },
    )
  })
})

/** The last states, and what happened to them, without repetitions that a recording for replay leaves out. */
const statesOf = (items: ReadonlyArray<TraceItem>): ReadonlyArray<string> => {
  const last = new Map<string, string>()
  const told: string[] = []
  for (const item of items) {
    if (item.type !== "event" || item.event.type === "gap") continue
    const { gvk, action, time, object } = item.event
    const value = action === "applied" ? parseExactJson(object) : undefined
    const state = isJsonObject(value) ? canonical(replayObject(gvk, value, () => true)) : "gone"
    if ((last.get(gvk) ?? "gone") === state) continue
    last.set(gvk, state)
    told.push(`${time} ${gvk} ${state}`)
  }
  return told
}

const canonical = (value: JsonObject): string =>
  JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)))
      : item,
  )

const patchDocument = (fields: string): string =>
  `apiVersion: action.kwok.x-k8s.io/v1alpha1\nkind: ResourcePatch\n${fields}`
const podPatch =
  "resource:\n  version: v1\n  resource: pods\ntarget:\n  name: web\n  namespace: shop\ndurationNanosecond: 5000\n"

describe("a recording that kwok made", () => {
  test("is read: relative times become absolute, and lists of objects are one document each", () => {
    const yaml = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations:
    at: $(time-offset-nanosecond -1500000000)
---
${patchDocument(podPatch)}method: patch
template:
  metadata:
    annotations:
      at: $(time-offset-nanosecond 2000)
`
    const [first, snapshot, change] = read(yaml)
    expect(first).toMatchObject({ type: "header", sanitised: "none" })
    const at = (item: TraceItem | undefined): unknown =>
      item?.type === "event" && item.event.type === "object"
        ? JSON.parse(Buffer.from(item.event.object).toString()).metadata.annotations.at
        : undefined
    expect([at(snapshot), at(change)]).toEqual(["1969-12-31T23:59:58.500000Z", "1970-01-01T00:00:00.000002Z"])
    expect(change).toMatchObject({ event: { time: 5, action: "applied", gvk: "v1.Pod" } })
  })

  test.each([
    ["", 0, /no document/],
    ["hello: world\n", 0, /apiVersion or kind/],
    ["- 1\n", 0, /not an object/],
    ["apiVersion: v1\nkind: Pod\nmetadata: {}\n", 0, /without a name/],
    ["apiVersion: v1\nkind: Pod\nmetadata:\n  name: [a\n", 46, /flow/i],
    [patchDocument(`${podPatch}method: patch\ntemplate: {}\n`), 0, /changes an object that does not exist/],
    [patchDocument(`${podPatch}method: delete\n`), 0, /does not exist/],
    [patchDocument(`${podPatch}method: create\n`), 0, /without template/],
    [patchDocument(`${podPatch}method: upsert\n`), 0, /not one of create, patch, delete/],
    [patchDocument("method: delete\n"), 0, /without resource or target/],
    [
      `apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {}\n---\n${patchDocument(`${podPatch}method: patch\ntemplate: {spec: {$patch: x}}\n`)}`,
      77,
      /Kubernetes refuses: unknown \$patch directive/,
    ],
    [patchDocument(`${podPatch.replace("5000", "soon")}method: create\ntemplate: {}\n`), 0, /durationNanosecond/],
    [patchDocument(`${podPatch}method: create\ntemplate: {}\n`), 0, /apiVersion or kind/],
    ["# kubereel: {\n", 0, /comment/],
    ["# kubereel: []\n", 0, /comment/],
    ["apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nkind: Pod\n", 49, /apiVersion or kind/],
  ])("%j is rejected at byte %i", (yaml, offset, reason) => {
    let failure: unknown
    try {
      read(yaml)
    } catch (error) {
      failure = error
    }
    expect(failure).toBeInstanceOf(BadTraceError)
    if (!(failure instanceof BadTraceError)) return
    expect(failure.offset).toBe(offset)
    expect(failure.detail).toMatch(reason)
  })

  test("even if damaged, whoever made it, is read or rejected", () => {
    const whole = fc.constant(
      Buffer.from(
        written(
          header,
          event({ state: named({ spec: { a: [1] } }) }, true),
          event({ state: named({ spec: { a: 2 } }) }),
        ),
      ),
    )
    fc.assert(
      fc.property(mutated(whole), (bytes) => {
        try {
          read(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(BadTraceError)
        }
      }),
      { numRuns: rounds(500) },
    )
  })
})

describe("an object for replay", () => {
  const recorded: JsonObject = {
    metadata: {
      name: "web",
      namespace: "shop",
      uid: "u",
      resourceVersion: "7",
      generation: 2,
      creationTimestamp: "2026-01-01T00:00:00Z",
      managedFields: [{}],
      finalizers: ["a"],
      labels: { app: "web" },
      annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "r", controller: true },
        { apiVersion: "v1", kind: "Node", name: "n1", uid: "n" },
      ],
    },
    spec: { nodeName: "n1", containers: [], priority: null },
    status: { phase: "Running" },
  }

  test("loses what only its cluster knew, and keeps the rest", () => {
    expect(
      replayObject("v1.Pod", recorded, (gvk, namespace) => gvk === "apps/v1.ReplicaSet" && namespace === "shop"),
    ).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "web",
        namespace: "shop",
        labels: { app: "web" },
        annotations: { kept: "yes" },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", controller: true }],
      },
      spec: { containers: [] },
    })
  })

  test("keeps a cluster-scoped owner that is in the trace", () => {
    const { metadata } = replayObject("v1.Pod", recorded, (gvk, namespace) => gvk === "v1.Node" && namespace === "")
    expect(isJsonObject(metadata) && metadata.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "n1" }])
  })

  test("a pod whose owner is not in the trace has none, so that repeating it changes nothing", () => {
    const once = replayObject("v1.Pod", recorded, () => false)
    expect(once.spec).toEqual({ containers: [] })
    expect(replayObject("v1.Pod", once, () => false)).toEqual(once)
  })

  test("a pod without owner loses its node, other kinds do not", () => {
    const bare = { metadata: { name: "a" }, spec: { nodeName: "n1" } }
    expect(replayObject("v1.Pod", bare, () => true).spec).toEqual({})
    expect(replayObject("example.com/v1.Pod", bare, () => true).spec).toEqual({ nodeName: "n1" })
  })

  test("repeating it changes nothing", () => {
    const once = replayObject("v1.Pod", recorded, () => true)
    expect(replayObject("v1.Pod", once, () => true)).toEqual(once)
  })
})
