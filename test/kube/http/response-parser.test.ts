import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { maximumHeadBytes, type ParserState, ResponseParser } from "../../../src/kube/http/response-parser.ts"
import { rounds } from "../../harness/effort.ts"

interface Reading {
  readonly state: ParserState
  readonly end: string
  readonly problem: string
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly used: number
}

/** Feeds the bytes in pieces that end at `cuts`; holds the parser after every `holdEvery`th body range and continues. */
const read = (bytes: Buffer, cuts: ReadonlyArray<number> = [], holdEvery = 0): Reading => {
  let status: number | undefined
  let headers: Record<string, string> = {}
  let ranges = 0
  const body: Buffer[] = []
  let isHeld = false
  const parser: ResponseParser = new ResponseParser({
    head(code, fields) {
      expect(status, "a second head").toBeUndefined()
      status = code
      headers = Object.fromEntries(fields)
    },
    data(buffer, start, end) {
      expect(end).toBeGreaterThan(start)
      expect(isHeld, "a range was reported while held").toBe(false)
      body.push(Buffer.from(buffer.subarray(start, end)))
      if (holdEvery === 0 || ++ranges % holdEvery !== 0) return
      isHeld = true
      parser.isHeld = true
    },
  })
  let used = 0
  const edges = [...new Set(cuts.filter((cut) => cut < bytes.length)), bytes.length].sort((one, other) => one - other)
  for (const edge of edges) {
    // The piece is surrounded by foreign bytes, which must not be read.
    const padded = Buffer.concat([Buffer.from("XX"), bytes.subarray(used, edge), Buffer.from("\r\n\r\n0")])
    let position = 2
    const end = padded.length - 5
    while (position < end) {
      const next = parser.push(padded, position, end)
      if (next === position) break
      position = next
      isHeld = false
      parser.isHeld = false
    }
    used += position - 2
    if (position < end) break
  }
  return {
    state: parser.state,
    end: parser.finish(),
    problem: parser.problem,
    status,
    headers,
    body: Buffer.concat(body).toString("latin1"),
    used,
  }
}

const readText = (text: string): Reading => read(Buffer.from(text, "latin1"))

/** A response and its meaning. */
interface Model {
  readonly bytes: Buffer
  readonly status: number
  readonly body: string
  readonly framing: "sized" | "chunked" | "until-close"
}

const token = fc
  .stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,12}$/)
  .filter((name) => !/^(content-length|transfer-)/i.test(name))
const fieldValue = fc.stringMatching(/^[!-~]([ -~\x80-\xff]{0,30}[!-~])?$/)
const bytesText = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1"))

const chunked = (pieces: ReadonlyArray<string>, extension: string, trailer: string, isUpperCase: boolean): string => {
  const size = (piece: string): string =>
    isUpperCase ? piece.length.toString(16).toUpperCase() : piece.length.toString(16)
  const chunks = pieces.filter((piece) => piece !== "").map((piece) => `${size(piece)}${extension}\r\n${piece}\r\n`)
  return `${chunks.join("")}000${extension}\r\n${trailer}\r\n`
}

const model: fc.Arbitrary<Model> = fc
  .record({
    status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
    reason: fc.constantFrom("", " ", " OK", " Not Found at all"),
    fields: fc.array(fc.tuple(token, fieldValue), { maxLength: 5 }),
    interim: fc.array(fc.constantFrom(100, 102, 103), { maxLength: 2 }),
    lineEnd: fc.constantFrom("\r\n", "\n"),
    pieces: fc.array(bytesText, { maxLength: 5 }),
    framing: fc.constantFrom("sized", "chunked", "until-close"),
    extension: fc.constantFrom("", ";a=b", " ", "  ; x"),
    trailer: fc.constantFrom("", "Checksum: 1\r\n"),
    isUpperCase: fc.boolean(),
  })
  .map(({ status, reason, fields, interim, lineEnd, pieces, framing, extension, trailer, isUpperCase }): Model => {
    const body = pieces.join("")
    const lines = [`HTTP/1.1 ${status}${reason}`, ...fields.map(([name, value]) => `${name}: ${value}`)]
    if (framing === "sized") lines.push(`Content-Length: ${body.length}`)
    if (framing === "chunked") lines.push("transfer-encoding:\tChunked ")
    const before = interim.map((code) => `HTTP/1.1 ${code} Wait${lineEnd}Link: <x>${lineEnd}${lineEnd}`).join("")
    const payload = framing === "chunked" ? chunked(pieces, extension, trailer, isUpperCase) : body
    const text = `${before}${lines.join(lineEnd)}${lineEnd}${lineEnd}${payload}`
    return { bytes: Buffer.from(text, "latin1"), status, body, framing }
  })

const cuts = fc.array(fc.nat(1500), { maxLength: 40 })

describe("the response parser", () => {
  test("reads any well-formed response alike, wherever the bytes are split and however often it is held", () => {
    fc.assert(
      fc.property(model, cuts, fc.nat(3), ({ bytes, status, body, framing }, where, holdEvery) => {
        const reading = read(bytes, where, holdEvery)
        expect(reading).toMatchObject({ status, body, end: "complete", problem: "", used: bytes.length })
        expect(reading.state).toBe(framing === "until-close" ? "body" : "complete")
        expect(reading).toEqual(read(bytes))
      }),
      { numRuns: rounds(400) },
    )
  })

  test("reads a damaged response alike, wherever the bytes are split, and never throws", () => {
    const damage = fc.record({
      at: fc.nat(1500),
      drop: fc.nat(4),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 4 }),
        fc.constantFrom(..."\r\n:;0f \t".split("").map((c) => Buffer.from(c))),
      ),
    })
    fc.assert(
      fc.property(model, fc.array(damage, { minLength: 1, maxLength: 3 }), cuts, (original, damages, where) => {
        let bytes = original.bytes
        for (const { at, drop, insert } of damages) {
          const position = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, position), insert, bytes.subarray(position + drop)])
        }
        const whole = read(bytes)
        // With smaller pieces the error may appear earlier, with less of the response to quote; nothing else may differ.
        const early = whole.state === "malformed" ? { problem: "", used: 0 } : {}
        expect({ ...read(bytes, where, 2), ...early }).toEqual({ ...whole, ...early })
        expect(whole.problem !== "").toBe(whole.state === "malformed")
      }),
      { numRuns: rounds(600) },
    )
  })

  test("reports as malformed whatever does not start like HTTP/1, at the first byte that differs", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 50 }), cuts, (noise, where) => {
        fc.pre(!"HTTP/1.".startsWith(Buffer.from(noise).subarray(0, 7).toString("latin1")))
        expect(read(Buffer.from(noise), where).state).toBe("malformed")
      }),
    )
    expect(readText("SSH-2.0-OpenSSH_9.6\r\n").problem).toContain('"SSH-2.0-OpenSSH_9.6')
    expect(readText("HTTP/2 200 OK\r\n\r\n").state).toBe("malformed")
  })

  test("passes body ranges in the buffer it was given", () => {
    const bytes = Buffer.from(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    )
    const ranges: string[] = []
    const parser = new ResponseParser({
      head: () => undefined,
      data: (buffer, start, end) => {
        expect(buffer).toBe(bytes)
        ranges.push(`${start}-${end}`)
      },
    })
    expect(parser.push(bytes, 0, bytes.length)).toBe(bytes.length)
    expect(ranges).toEqual(["50-55", "60-66"])
  })

  test("accepts either line end, also mixed", () => {
    const reading = readText("HTTP/1.1 200 OK\r\nA: b\nContent-Length: 1\r\n\nx")
    expect(reading).toMatchObject({ state: "complete", body: "x", headers: { a: "b" } })
  })

  test("joins repeated headers, unfolds folded ones, and keeps their names in lower case", () => {
    const { headers } = readText(
      "HTTP/1.1 200 OK\r\nWarning: one\r\nX-Long: a\r\n  b\r\nWARNING: two\r\nEmpty:\r\n\r\n",
    )
    expect(headers).toEqual({ warning: "one, two", "x-long": "a b", empty: "" })
  })

  test.each([
    ["a transfer coding that was not asked for", "Transfer-Encoding: gzip, chunked"],
    ["two different lengths", "Content-Length: 3\r\nContent-Length: 4"],
    ["a negative length", "Content-Length: -3"],
    ["a length beyond what can be counted", "Content-Length: 9007199254740993"],
    ["a space before the colon", "Content-Length : 3"],
    ["a line without colon", "Content-Length 3"],
    ["a continuation before any header", " folded"],
    ["a NUL in a value", "Content-Type: a\0b"],
    ["a lone CR in a value", "Content-Type: a\rb"],
  ])("rejects a head with %s", (_name, line) => {
    const reading = readText(`HTTP/1.1 200 OK\r\n${line}\r\n\r\nabc`)
    expect(reading.state).toBe("malformed")
    expect(reading.status).toBeUndefined()
  })

  test.each([
    ["no digits", "\r\n"],
    ["no number", "zz\r\n"],
    ["a sign", "+5\r\nhello\r\n"],
    ["a size beyond what can be counted", "20000000000000\r\n"],
    ["an endless row of zeros", "0".repeat(17)],
    ["a bare line feed after the size", "5\nhello\r\n"],
    ["more data than its size says", "5\r\nhello!\r\n"],
    ["an endless extension", `5;${"x".repeat(5000)}`],
    ["endless trailers", `0\r\n${"X: y\r\n".repeat(20_000)}`],
  ])("rejects a chunk with %s", (_name, chunk) => {
    expect(readText(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`).state).toBe("malformed")
  })

  test("accepts repeated equal lengths and lets a transfer coding override a length", () => {
    expect(readText("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")).toMatchObject({
      body: "abc",
    })
    const both = readText(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    )
    expect(both).toMatchObject({ body: "a", end: "complete" })
  })

  test.each([204, 304])("expects no body after status %d, whatever the head announces", (status) => {
    const reading = readText(`HTTP/1.1 ${status} X\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200`)
    expect(reading).toMatchObject({ state: "complete", status, body: "" })
    expect(reading.used).toBeLessThan(60)
  })

  test("rejects a switch of protocols", () => {
    expect(readText("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n").state).toBe("malformed")
  })

  test("accepts heads up to its limit and rejects longer ones, interim responses included", () => {
    const frame = "HTTP/1.1 200 OK\r\nX: \r\n\r\n"
    const fitting = frame.replace("X: ", `X: ${"y".repeat(maximumHeadBytes - frame.length)}`)
    expect(fitting.length).toBe(maximumHeadBytes)
    expect(readText(fitting).status).toBe(200)
    expect(readText(fitting.replace("yy", "yyy")).state).toBe("malformed")
    expect(readText("HTTP/1.1 100 Continue\r\n\r\n".repeat(4000)).state).toBe("malformed")
  })

  test("distinguishes a response that stopped from one that never started", () => {
    expect(readText("").end).toBe("empty")
    expect(readText("HTTP/1.1 2").end).toBe("truncated")
    expect(readText("HTTP/1.1 100 Continue\r\n\r\n").end).toBe("truncated")
    expect(readText("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").end).toBe("truncated")
    expect(readText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").end).toBe("truncated")
    expect(readText("HTTP/1.1 200 OK\r\n\r\nab").end).toBe("complete")
  })

  test.each([
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, close\r\n\r\n", false],
    ["HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false],
    ["HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false],
  ])("knows whether the connection can be reused: %j", (text, expected) => {
    const parser = new ResponseParser({ head: () => undefined, data: () => undefined })
    const bytes = Buffer.from(text)
    parser.push(bytes, 0, bytes.length)
    expect(parser.state).toBe("complete")
    expect(parser.isPersistent).toBe(expected)
  })

  test("does not consume what follows the response", () => {
    const reading = readText("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n")
    expect(reading).toMatchObject({ state: "complete", body: "abc", used: 41 })
  })
})
