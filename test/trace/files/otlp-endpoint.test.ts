/** Spans sent to a collector: what it gets, what it may answer, and when it is tried again. */
import { gunzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import {
  EndpointFailed,
  type OtlpEndpointOptions,
  type OtlpSink,
  otlpEndpoint,
} from "../../../src/trace/files/otlp-endpoint.ts"
import { ExportInterrupted } from "../../../src/trace/files/output-errors.ts"
import { ANSWER_MS, CollectorClock, startCollector } from "./collector.ts"

/** A request with so many spans; the endpoint only counts them. */
const line = (spans: number): string =>
  `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: Array.from({ length: spans }, () => ({})) }] }] })}\n`

const sinkTo = (url: string, changes: Partial<OtlpEndpointOptions> = {}): OtlpSink =>
  otlpEndpoint({
    url,
    headers: [],
    signal: new AbortController().signal,
    clock: new CollectorClock(),
    random: () => 1,
    ...changes,
  })

/** Writes and commits; returns the error of an endpoint. */
const sent = async (sink: OtlpSink, ...pieces: ReadonlyArray<string>): Promise<EndpointFailed | undefined> => {
  try {
    for (const piece of pieces) await sink.write(Buffer.from(piece))
    await sink.commit()
    return undefined
  } catch (error) {
    if (error instanceof EndpointFailed) return error
    throw error
  }
}

describe("an OTLP endpoint", () => {
  test("gets one request for each line, with the headers, however the lines are cut", async () => {
    await using collector = await startCollector()
    const sink = sinkTo(collector.url, {
      headers: [
        ["x-tenant", "shop"],
        ["Content-Type", "text/plain"],
      ],
    })
    const text = line(3) + line(1) + line(2)
    expect(await sent(sink, text.slice(0, 7), text.slice(7, 80), text.slice(80).trimEnd())).toBeUndefined()
    expect(collector.received.map(({ body }) => `${body}\n`)).toEqual([line(3), line(1), line(2)])
    expect(collector.received[0]).toMatchObject({
      method: "POST",
      url: "/v1/traces",
      headers: { "content-type": "application/json", "x-tenant": "shop" },
    })
    expect(sink.delivery).toEqual({ spans: 6, rejected: 0, message: undefined })
  })

  test("gets requests that are compressed, each attempt the same, if that is asked for", async () => {
    await using collector = await startCollector((response, number) =>
      number === 0 ? response.writeHead(503).end() : response.end("{}"),
    )
    const sink = sinkTo(collector.url, { compression: "gzip" })
    expect(await sent(sink, line(100), line(2))).toBeUndefined()
    expect(collector.received.map(({ body }) => `${gunzipSync(body)}\n`)).toEqual([line(100), line(100), line(2)])
    expect(collector.received[0]?.headers["content-encoding"]).toBe("gzip")
    expect(collector.received[0]?.body.length).toBeLessThan(100)
    expect(sink.delivery.spans).toBe(102)
  })

  test("may answer with nothing, and may reject some spans or warn", async () => {
    const answers = [
      "",
      '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}',
      '{"partial_success":{"rejected_spans":900}}',
    ]
    await using collector = await startCollector((response, number) => response.end(answers[number]))
    const sink = sinkTo(collector.url)
    expect(await sent(sink, line(3), line(3), line(3))).toBeUndefined()
    // It cannot reject more than it was sent.
    expect(sink.delivery).toEqual({ spans: 4, rejected: 5, message: "too old" })
  })

  test("is tried again when it asks for that, after the time that it names or after longer and longer times", async () => {
    await using collector = await startCollector((response, number) => {
      if (number === 0) response.writeHead(429, { "retry-after": "7" }).end()
      else if (number === 1)
        response.writeHead(503, { "retry-after": new Date(1_700_000_000_000 + 3000).toUTCString() }).end()
      else if (number === 2) response.writeHead(502).end("<html>bad gateway</html>")
      else if (number === 3) response.writeHead(504).end()
      else response.end("{}")
    })
    const clock = new CollectorClock()
    expect(await sent(sinkTo(collector.url, { clock }), line(1))).toBeUndefined()
    expect(clock.waits).toEqual([7000, 3000, 4000, 8000])
    expect(new Set(collector.received.map(({ body }) => body.toString())).size).toBe(1)
  })

  test("is given up after six attempts, or at once if it asks for more than a minute; what it took before is said", async () => {
    await using collector = await startCollector((response, number) => {
      if (number === 0) response.end("{}")
      else response.writeHead(503).end('{"code":14,"message":"no room"}')
    })
    const clock = new CollectorClock()
    const error = await sent(sinkTo(collector.url, { clock, random: () => 0 }), line(5), line(1))
    expect(error).toMatchObject({ reason: "busy", attempts: 6, taken: 5 })
    expect(error?.message).toContain("HTTP 503: no room, 6 times. 5 spans were taken before that.")
    expect(clock.waits).toEqual([500, 1000, 2000, 4000, 8000])
    await using patient = await startCollector((response) => response.writeHead(429, { "retry-after": "3600" }).end())
    expect(await sent(sinkTo(patient.url), line(1))).toMatchObject({ reason: "busy", attempts: 1 })
  })

  test("is not tried again if it refuses, leads elsewhere, or is none", async () => {
    const answers: ReadonlyArray<readonly [status: number, body: string, reason: string, detail: string]> = [
      [401, '{"message":"no token"}', "refused", "HTTP 401: no token"],
      [404, "404 page not found", "refused", "HTTP 404"],
      [307, "", "refused", "HTTP 307"],
      [500, '{"code":13,"message":"Permanent error"}', "broken", "HTTP 500: Permanent error"],
      [200, "<html>hello</html>", "garbage", "HTTP 200: the answer is no JSON object"],
      [200, "[]", "garbage", "HTTP 200: the answer is no JSON object"],
      [
        200,
        '{"partialSuccess":{"rejectedSpans":"many"}}',
        "garbage",
        "HTTP 200: the number of rejected spans is not one",
      ],
      [200, `"${"x".repeat(70_000)}"`, "garbage", "HTTP 200: the answer has more than 65536 bytes"],
    ]
    await using collector = await startCollector((response, number) => {
      const [status = 200, body] = answers[number] ?? []
      response.writeHead(status, { location: "http://127.0.0.1:1/" }).end(body)
    })
    for (const [, , reason, detail] of answers)
      expect(await sent(sinkTo(collector.url), line(1))).toMatchObject({ reason, detail, attempts: 1, taken: 0 })
    expect(collector.received).toHaveLength(answers.length)
  })

  test("that never answers is given up after six times ten seconds", async () => {
    const clock = new CollectorClock()
    // Whoever moves the clock in the handler would abort a request that fetch has not finished sending.
    await using collector = await startCollector(() => setImmediate(() => clock.advance(ANSWER_MS)))
    const error = await sent(sinkTo(collector.url, { clock }), line(1))
    expect(error).toMatchObject({ reason: "silent", attempts: 6, detail: "no answer within 10 s" })
    expect(clock.pending).toBe(0)
  })

  test("that answers endlessly is given up too", async () => {
    const clock = new CollectorClock()
    await using collector = await startCollector((response) => {
      response.write("{")
      setImmediate(() => clock.advance(ANSWER_MS))
    })
    expect(await sent(sinkTo(collector.url, { clock }), line(1))).toMatchObject({ reason: "silent", attempts: 6 })
  })

  test("that breaks the connection is tried again, but not if it cannot be reached at all", async () => {
    await using collector = await startCollector((response, number) =>
      number === 0 || number === 3 ? response.end("{}") : response.destroy(),
    )
    const broken = await sent(sinkTo(collector.url), line(1), line(1), line(1))
    expect(broken).toMatchObject({ reason: "unreachable", attempts: 6, taken: 2 })
    const gone = await startCollector()
    await gone[Symbol.asyncDispose]()
    const error = await sent(sinkTo(gone.url), line(1))
    expect(error).toMatchObject({ reason: "unreachable", attempts: 1 })
    expect(error?.detail).toContain("ECONNREFUSED")
  })

  test("is left when the conversion is interrupted, also between two attempts", async () => {
    const abort = new AbortController()
    await using collector = await startCollector(() => abort.abort())
    await expect(sent(sinkTo(collector.url, { signal: abort.signal }), line(1))).rejects.toThrow(ExportInterrupted)
    const later = new AbortController()
    await using busy = await startCollector((response) => {
      response.writeHead(429).end()
    })
    const clock = new (class extends CollectorClock {
      override after(delayMs: number, action: () => void) {
        if (delayMs !== ANSWER_MS) queueMicrotask(() => later.abort())
        return delayMs === ANSWER_MS ? super.after(delayMs, action) : { cancel: () => undefined }
      }
    })()
    await expect(sent(sinkTo(busy.url, { signal: later.signal, clock }), line(1))).rejects.toThrow(ExportInterrupted)
    expect(busy.received).toHaveLength(1)
  })
})
