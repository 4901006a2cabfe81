/** Events on the recorder's own pod: what the API server receives, and how rarely. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { ownPod, PodEvents, type PodWarning } from "../../../src/recorder/notices/pod-events.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { until } from "../../runtime/until.ts"

interface Posted {
  readonly path: string
  readonly authorization: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: an Event, as tests know it.
  readonly event: any
}

let server: Server
let posted: Posted[]
let codes: number[]
beforeEach(async () => {
  posted = []
  codes = []
  server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => {
      text += piece
    })
    request.on("end", () => {
      posted.push({
        path: `${request.method} ${request.url}`,
        authorization: request.headers.authorization,
        event: JSON.parse(text),
      })
      response.writeHead(codes.shift() ?? 201, { "content-type": "application/json" })
      response.end(JSON.stringify({ kind: "Status", message: "events.events.k8s.io is forbidden" }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

const warning = (note: string): PodWarning => ({ reason: "ConfigurationInvalid", action: "Reload", note })

const opened = () => {
  const clock = new ManualClock()
  const failures: string[] = []
  let token = "old"
  const { port } = server.address() as AddressInfo
  const events = new PodEvents({
    pod: { name: "kubereel-7", namespace: "recorders", uid: "1234" },
    credentials: {
      endpoint: async () => ({
        server: `http://127.0.0.1:${port}`,
        headers: [["Authorization", `Bearer ${token}`]] as const,
      }),
      onUnauthorized: async () => {
        token = "fresh"
      },
    },
    userAgent: "kubereel/test",
    clock,
    failed: (reason) => failures.push(reason),
  })
  const count = (wanted: number): Promise<void> => until(() => posted.length >= wanted)
  return { clock, events, failures, count, [Symbol.dispose]: () => events.close() }
}

test("it is an Event of type Warning that names the pod", async () => {
  using recorder = opened()
  recorder.events.warn(warning("tracer.yml:2: no such key"))
  await recorder.count(1)
  expect(posted[0]).toEqual({
    path: "POST /apis/events.k8s.io/v1/namespaces/recorders/events",
    authorization: "Bearer old",
    event: {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { generateName: "kubereel-7-", namespace: "recorders" },
      eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      reportingController: "kubereel.dev/recorder",
      reportingInstance: "kubereel-7",
      type: "Warning",
      reason: "ConfigurationInvalid",
      action: "Reload",
      note: "tracer.yml:2: no such key",
      regarding: { apiVersion: "v1", kind: "Pod", name: "kubereel-7", namespace: "recorders", uid: "1234" },
    },
  })
})

describe("the rate limit", () => {
  const notes = (): ReadonlyArray<string> => posted.map(({ event }) => event.note)

  test("posts the same Event once in ten minutes", async () => {
    using recorder = opened()
    for (let second = 0; second <= 600; second++) {
      recorder.events.warn(warning("one"))
      if (second < 600) recorder.clock.advance(1000)
    }
    await recorder.count(2)
    expect(notes()).toEqual(["one", "one"])
  })

  test("posts the last of the Events within half a minute at its end", async () => {
    using recorder = opened()
    for (const note of ["one", "two", "three"]) recorder.events.warn(warning(note))
    recorder.clock.advance(29_999)
    await recorder.count(1)
    recorder.clock.advance(1)
    await recorder.count(2)
    expect(notes()).toEqual(["one", "three"])
  })

  test("does not post what is fixed by then", async () => {
    using recorder = opened()
    for (const note of ["one", "two"]) recorder.events.warn(warning(note))
    recorder.events.mended()
    recorder.clock.advance(60_000)
    recorder.events.warn(warning("three"))
    await recorder.count(2)
    expect(notes()).toEqual(["one", "three"])
  })

  test("posts nothing after the end", async () => {
    using recorder = opened()
    for (const note of ["one", "two"]) recorder.events.warn(warning(note))
    await recorder.count(1)
    recorder.events.close()
    recorder.clock.advance(60_000)
    recorder.events.warn(warning("three"))
    expect(notes()).toEqual(["one"])
    expect(recorder.failures).toEqual([])
  })
})

test("a rejected token is renewed, and the Event posted", async () => {
  using recorder = opened()
  codes = [401]
  recorder.events.warn(warning("one"))
  await recorder.count(2)
  expect(posted.map(({ authorization }) => authorization)).toEqual(["Bearer old", "Bearer fresh"])
  expect(recorder.failures).toEqual([])
})

test("an Event that cannot be posted is reported with the reason, and not retried", async () => {
  using recorder = opened()
  codes = [403]
  recorder.events.warn(warning("one"))
  await until(() => recorder.failures.length > 0)
  expect(recorder.failures).toEqual(["HTTP 403: events.events.k8s.io is forbidden"])
  server.close()
  server.closeAllConnections()
  recorder.clock.advance(60_000)
  recorder.events.warn(warning("two"))
  await until(() => recorder.failures.length > 1)
  expect(recorder.failures[1]).not.toBe("")
})

test("a note of any length fits the API's limit: at most a kilobyte, of whole characters, and as many as fit", async () => {
  using recorder = opened()
  let sent = 0
  const characters = fc.string({ unit: "binary", maxLength: 1200 })
  await fc.assert(
    fc.asyncProperty(characters, async (note) => {
      recorder.clock.advance(700_000)
      recorder.events.warn(warning(note))
      await recorder.count(++sent)
      const got: string = posted.at(-1)?.event.note
      expect(Buffer.byteLength(got)).toBeLessThanOrEqual(1024)
      if (Buffer.byteLength(note) <= 1024) {
        expect(got).toBe(note)
        return
      }
      expect(note.startsWith(got.slice(0, -1))).toBe(true)
      expect(got.at(-1)).toBe("…")
      expect(Buffer.byteLength(got)).toBeGreaterThan(1024 - 4)
    }),
    { numRuns: 30 },
  )
})

test.each([
  [
    { POD_NAME: "a", POD_NAMESPACE: "b", POD_UID: "c" },
    { name: "a", namespace: "b", uid: "c" },
  ],
  [{ POD_NAME: "a", POD_NAMESPACE: "b" }, undefined],
  [{ POD_NAME: "", POD_NAMESPACE: "b", POD_UID: "c" }, undefined],
  [{}, undefined],
])("the environment %j is that of the pod %j", (environment, pod) => expect(ownPod(environment)).toEqual(pod))
