/**
 * Late changes when times cannot be trusted: clocks that are set, objects with times in the future, in the past or none, and a server that has
 * forgotten. Whatever the times say, each change is within the bounds of its range, and none is before its predecessor.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"

const gvk = "v1.ConfigMap"
const hour = 3_600_000

interface Line {
  readonly name: string
  readonly action?: string
  readonly time: number
  readonly received?: number
}

interface Range {
  readonly notBefore: number
  readonly notAfter: number
  readonly receivedFrom: number
  readonly receivedTo: number
  readonly events: number
  readonly cause: string
}

let place: Workplace
let sandbox: Sandbox
beforeEach(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  setClock(0)
})
afterEach(async () => {
  await place.close()
  await sandbox.close()
})

/** ms by which the recorder's clock is ahead. */
const setClock = (offset: number): void => writeFileSync(place.path("clock"), String(offset))

const record = async (): Promise<RecorderProcess> => {
  const preload = fileURLToPath(new URL("settable-clock.ts", import.meta.url))
  const { KUBECONFIG: _kubeconfig, ...environment } = process.env
  const env = { ...environment, NODE_OPTIONS: `--import ${preload}`, SETTABLE_CLOCK: place.path("clock") }
  const recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { [gvk]: "{detect: all}" },
    options: { env },
  })
  await recorder.ready()
  return recorder
}

/** Changes a ConfigMap, as a server does that notes when: at `written`, in ms, or as an object without times. */
const write = (name: string, written: number | string | undefined = Date.now()): void => {
  const time = typeof written === "number" ? new Date(written).toISOString().replace(/\.\d+/, "") : written
  const entry = { manager: "test", operation: "Update", apiVersion: "v1", time, fieldsType: "FieldsV1", fieldsV1: {} }
  const managedFields = time === undefined ? [] : [entry]
  sandbox.put(gvk, { metadata: { namespace: "shop", name, managedFields }, data: { at: String(performance.now()) } })
}

const traceOf = async (recorder: RecorderProcess) => {
  const answer = await recorder.post(everything("ndjson"))
  const [header = "", ...lines] = (await answer.text()).trimEnd().split("\n")
  const { late = [] } = JSON.parse(header) as { late?: ReadonlyArray<Range> }
  return { late, lines: lines.map((line) => JSON.parse(line) as Line).filter(({ name }) => name !== undefined) }
}

/** The trace, once it has that ConfigMap. */
const recorded = async (recorder: RecorderProcess, name: string): ReturnType<typeof traceOf> => {
  let trace = await traceOf(recorder)
  await recorder.until(async () => {
    trace = await traceOf(recorder)
    return trace.lines.some((line) => line.name === name)
  }, name)
  return trace
}

/** Records a change, is killed, and starts again after what happens meanwhile. */
const outage = async (meanwhile: () => void): Promise<RecorderProcess> => {
  const first = await record()
  write("before")
  await recorded(first, "before")
  await first.kill()
  meanwhile()
  return record()
}

const expectInBounds = ({ late, lines }: Awaited<ReturnType<typeof traceOf>>): void => {
  expect(lines.map(({ time }) => time)).toEqual(lines.map(({ time }) => time).sort((one, other) => one - other))
  for (const range of late) {
    expect(range.notBefore).toBeLessThanOrEqual(range.notAfter)
    expect(range.receivedFrom).toBeLessThanOrEqual(range.receivedTo)
  }
  for (const { time, received } of lines) {
    if (received === undefined) continue
    expect(time).toBeLessThanOrEqual(received)
    const range = late.find(({ receivedFrom, receivedTo }) => received >= receivedFrom && received <= receivedTo)
    expect(range?.notBefore).toBeLessThanOrEqual(time)
    expect(range?.notAfter).toBeGreaterThanOrEqual(time)
  }
}

describe.each([
  ["forward", hour],
  ["back", -hour],
] as const)("a recorder's clock that is set %s by an hour", { timeout: patient(60_000) }, (_name, offset) => {
  test("while it records makes nothing late", async () => {
    const recorder = await record()
    write("before")
    await recorded(recorder, "before")
    setClock(offset)
    for (const name of ["first", "second"]) {
      write(name)
      await recorded(recorder, name)
    }
    const trace = await traceOf(recorder)
    expectInBounds(trace)
    expect(trace.late).toEqual([])
  })

  test("while it is down leaves the changes of that time between what was recorded before and their receipt", async () => {
    const recorder = await outage(() => {
      write("meanwhile")
      setClock(offset)
    })
    await recorded(recorder, "meanwhile")
    write("after")
    const trace = await recorded(recorder, "after")
    expectInBounds(trace)
    expect(trace.late).toMatchObject([{ events: 1, cause: "stopped" }])
    expect(trace.lines.map(({ name }) => name)).toEqual(["before", "meanwhile", "after"])
    // Times of a recording stand still until a clock that was set back is there again: then the change has that of its receipt.
    expect(trace.lines[1]?.received !== undefined).toBe(offset > 0)
    const exported = place.reel("export", "-s", await recorder.listening(), "-o", "-", "--start", "0")
    expect((await exported.ended).code, exported.log).toBe(0)
  })
})

describe.each([
  ["right", 0],
  ["set forward by an hour", hour],
  ["set back by an hour", -hour],
] as const)("with a clock that is %s", { timeout: patient(60_000) }, (_name, offset) => {
  test("changes that the server has forgotten while the recorder was down are a gap, and nothing is late", async () => {
    const recorder = await outage(() => {
      write("meanwhile")
      sandbox.faults.forceExpired("configmaps", 1)
      setClock(offset)
    })
    const trace = await recorded(recorder, "meanwhile")
    expectInBounds(trace)
    const { headers } = await recorder.post(everything("ndjson"))
    expect([headers.get("kubereel-gaps"), headers.get("kubereel-late"), trace.late]).toEqual(["1", null, []])
  })
})

describe("objects", { timeout: patient(60_000) }, () => {
  test("with times in the future, long ago, that are none, or without any, are within their bounds when they are late", async () => {
    const recorder = await outage(() => {
      write("true")
      write("future", Date.now() + 1000 * hour)
      write("past", 0)
      write("garbage", "the day before yesterday")
      sandbox.put(gvk, { metadata: { namespace: "shop", name: "none" } })
      write("last")
    })
    const trace = await recorded(recorder, "last")
    expectInBounds(trace)
    expect(trace.late).toMatchObject([{ events: 6, cause: "stopped" }])
    expect(trace.lines.filter(({ received }) => received === undefined).map(({ name }) => name)).toEqual(["before"])
  })

  test("with such times are live when they are received at once", async () => {
    const recorder = await record()
    write("future", Date.now() + 1000 * hour)
    write("past", 0)
    sandbox.put(gvk, { metadata: { namespace: "shop", name: "none" } })
    write("last")
    expect((await recorded(recorder, "last")).late).toEqual([])
  })
})
