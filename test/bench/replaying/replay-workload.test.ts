import { describe, expect, test } from "vitest"
import {
  burst,
  mostlyHeartbeats,
  onePerSecond,
  type ReplayWorkload,
  rollOuts,
  steadyChanges,
  traceOf,
  traceStart,
} from "../../../bench/replaying/replay-workload.ts"
import { openDecoder } from "../../../src/trace/index.ts"

/** The states of a trace as a reader of the format sees them. */
const read = async (workload: ReplayWorkload) => {
  const decoder = await openDecoder("ndjson")
  const states: Array<{ atMs: number; name: string; object: string }> = []
  const add = (items: ReturnType<typeof decoder.push>): void => {
    for (const item of items)
      if (item.type === "event" && item.event.type === "object") {
        const { time, name, object } = item.event
        states.push({ atMs: (time - traceStart) / 1000, name, object: Buffer.from(object).toString() })
      }
  }
  for (const chunk of traceOf(workload)) add(decoder.push(chunk))
  add(decoder.end())
  return states.map(({ object, ...state }) => {
    const { metadata, spec, status } = JSON.parse(object) as {
      metadata: { name: string }
      spec: { replicas: number }
      status: object
    }
    expect(metadata.name).toBe(state.name)
    return { ...state, replicas: spec.replicas, spec: JSON.stringify(spec), status: JSON.stringify(status) }
  })
}

describe("a trace of the benchmark", () => {
  test("has an event a second", async () => {
    const states = await read(onePerSecond(3))
    expect(states.map(({ atMs, name }) => [atMs, name])).toEqual([
      [500, "web-000000"],
      [1500, "web-000001"],
      [2500, "web-000002"],
    ])
  })

  test("has new Deployments, and older ones that change their replicas and nothing else", async () => {
    const states = await read(rollOuts(2, 4, 1))
    expect(states.map(({ name, replicas }) => [Number(name.slice(4)), replicas])).toEqual([
      ...[0, 1, 2, 3].map((index) => [index, 1]),
      [0, 2],
      ...[4, 5, 6, 7].map((index) => [index, 1]),
      [1, 2],
    ])
    expect(states[4]?.spec).toBe(states[0]?.spec.replace('"replicas":1', '"replicas":2'))
  })

  test("has all of a second's Deployments, or changes of a few, in time", async () => {
    expect((await read(burst(4))).map(({ atMs }) => atMs)).toEqual([0, 250, 500, 750])
    const states = await read(steadyChanges(4, 1000, 2))
    expect(states.map(({ atMs, name }) => [atMs, Number(name.slice(4))])).toEqual([
      [0, 0],
      [1, 1],
      [2, 0],
      [3, 1],
    ])
    expect(new Set(states.map(({ spec }) => spec)).size).toBe(4)
  })

  test("has states that differ in their status only, nine of ten", async () => {
    const states = await read(mostlyHeartbeats(22, 1, 6000))
    expect(new Set(states.map(({ spec }) => spec)).size).toBe(3)
    expect(new Set(states.map(({ status }) => status)).size).toBe(22)
  })
})
