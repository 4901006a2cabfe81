import { Encoder } from "@msgpack/msgpack"
import { describe, expect, test } from "vitest"
import { countTrace, type TraceFormat } from "../../../bench/exporting/export-trace-count.ts"
import { firstVersion } from "../../../bench/load/object-template.ts"

/** A Deployment whose latest change has that number; `undefined`: as it was listed. */
const deployment = (name: string, change: number | undefined) => ({
  kind: "Deployment",
  apiVersion: "apps/v1",
  metadata: { name },
  spec: {
    template: {
      spec: { containers: [{ env: [{ name: "CHANGE", value: String(change ?? firstVersion).padStart(12, "0") }] }] },
    },
  },
})
const replicaSet = { kind: "ReplicaSet", apiVersion: "apps/v1", metadata: { name: "web-1" } }

const ndjson = (
  objects: ReadonlyArray<object>,
  { said = objects.length, more = [] as ReadonlyArray<object> } = {},
): Buffer =>
  Buffer.from(
    [
      { format: "kubereel", version: 1, cut: 77, kinds: [], incomplete: [] },
      ...objects.map((object) => ({ action: "applied", gvk: "apps/v1.Deployment", object })),
      ...more,
      { end: { snapshot: 0, events: said, gaps: 0 } },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  )

/** By an encoder that is not ours, either; two events of the same second, one without anything. */
const simkube = (
  objects: ReadonlyArray<object>,
  { deleted = [] as ReadonlyArray<object>, version = 2 } = {},
): Buffer => {
  const half = objects.length >> 1
  const event = (ts: number, applied: ReadonlyArray<object>, gone: ReadonlyArray<object> = []) => ({
    ts,
    applied_objs: applied,
    deleted_objs: gone,
  })
  const trace = {
    version,
    config: { trackedObjects: { "apps/v1.Deployment": { podSpecTemplatePaths: ["/spec/template"] } } },
    events: [event(7, []), event(8, objects.slice(0, half)), event(8, objects.slice(half), deleted)],
    index: { "apps/v1.Deployment": { "bench/web-1": 17_293_822_569_102_704_640n } },
    pod_lifecycles: {},
  }
  return Buffer.from(new Encoder({ useBigInt64: true }).encode(trace))
}

const traces: Readonly<Record<TraceFormat, (objects: ReadonlyArray<object>) => Buffer>> = { ndjson, simkube }

describe.each(["ndjson", "simkube"] as const)("a trace as %s", (format) => {
  const count = (objects: ReadonlyArray<object>) => countTrace(format, traces[format](objects))

  test("is counted by the numbers in its objects", () => {
    const objects = [deployment("a", undefined), replicaSet, deployment("a", 1), deployment("b", 2), deployment("a", 3)]
    expect(count(objects)).toMatchObject({
      changes: 3,
      last: 3,
      listed: 1,
      others: 1,
      repeated: 0,
      disordered: 0,
      unasked: 0,
    })
  })

  test("that lacks a change has fewer than its last number", () => {
    expect(count([deployment("a", 1), deployment("a", 3)])).toMatchObject({ changes: 2, last: 3 })
  })

  test("that has a change or a listed object twice says so", () => {
    const objects = [deployment("a", undefined), deployment("a", undefined), deployment("a", 1), deployment("a", 1)]
    expect(count(objects)).toMatchObject({ changes: 1, listed: 1, repeated: 2 })
  })

  test("in which an object goes back says so; between objects there is no order to keep", () => {
    expect(count([deployment("a", 4), deployment("b", 3)])).toMatchObject({ disordered: 0 })
    expect(count([deployment("a", 4), deployment("a", 3)])).toMatchObject({ disordered: 1 })
    expect(count([deployment("a", 4), deployment("a", undefined)])).toMatchObject({ disordered: 1 })
  })

  test("with a Deployment that is none of the generator's is refused", () => {
    expect(() => count([{ kind: "Deployment", metadata: { name: "foreign" } }])).toThrow("foreign")
  })
})

describe("NDJSON", () => {
  test("names its cut", () => {
    expect(countTrace("ndjson", ndjson([])).cut).toBe(77)
  })

  test("of gaps and deletions is not what was asked for", () => {
    const more = [{ action: "gap" }, { action: "deleted", object: deployment("a", 1) }]
    expect(countTrace("ndjson", ndjson([], { said: 2, more })).unasked).toBe(2)
  })

  test("that was cut short is refused", () => {
    const whole = ndjson([deployment("a", 1)])
    expect(() => countTrace("ndjson", whole.subarray(0, -1))).toThrow("has no end")
    expect(() => countTrace("ndjson", whole.subarray(0, whole.lastIndexOf(0x0a, -2) + 1))).toThrow("there are 1")
    expect(() => countTrace("ndjson", ndjson([deployment("a", 1)], { said: 2 }))).toThrow("counts 2")
    expect(() => countTrace("ndjson", Buffer.concat([whole, whole]))).toThrow("more follows")
  })
})

describe("SimKube's format", () => {
  test("with many objects in an event, and many events, is read by every size of header", () => {
    const objects = Array.from({ length: 70_000 }, (_, index) => deployment(`web-${index % 10}`, index + 1))
    expect(countTrace("simkube", simkube(objects))).toMatchObject({ changes: 70_000, last: 70_000, disordered: 0 })
  })

  test("of deletions is not what was asked for", () => {
    expect(countTrace("simkube", simkube([], { deleted: [deployment("a", 1)] })).unasked).toBe(1)
  })

  test("that was cut short, or is of another version, is refused", () => {
    const whole = simkube([deployment("a", 1), deployment("a", 2)])
    for (let length = 0; length < whole.length; length += 7) {
      expect(() => countTrace("simkube", whole.subarray(0, length))).toThrow()
    }
    expect(() => countTrace("simkube", Buffer.concat([whole, Buffer.from([0xc0])]))).toThrow("5 values")
    expect(() => countTrace("simkube", simkube([], { version: 1 }))).toThrow("version 2")
  })
})
