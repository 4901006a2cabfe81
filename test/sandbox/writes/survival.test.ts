/**
 * Neither a client's input nor a defect of the server ends the process: there is a 500 and a log line, and the next
 * request works.
 */

import { beforeEach, expect, test } from "vitest"
import { headerBytes, warningHeaders } from "../../../src/apiserver/http/exchange.ts"
import type { Sandbox, SandboxOptions } from "../../../src/library/sandbox.ts"
import { systemRandomness } from "../../../src/sandbox/store/stamps.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { open } from "../opened-sandbox.ts"
import { bodyOf, configMaps, pod, pods, send, sendFor } from "./write-client.ts"

const told: string[] = []
const start = (options: SandboxOptions = {}): Promise<Sandbox> =>
  open({ onTrouble: (detail) => told.push(detail), ...options })
beforeEach(() => {
  told.length = 0
})

const utf8 = (header: string): string => Buffer.from(header, "latin1").toString("utf8")

test("the warning about an unknown field beyond Latin-1 is UTF-8", async () => {
  const sandbox = await start()
  const { status, warnings } = await send(
    sandbox,
    "POST",
    configMaps,
    '{"metadata":{"name":"a"},"名前":1,"🙂":2,"ü":3}',
  )
  expect([status, warnings.map(utf8)]).toEqual([
    201,
    ['unknown field "ü"', 'unknown field "名前"', 'unknown field "🙂"'],
  ])
  expect((await send(sandbox, "GET", "/readyz")).status).toBe(200)
})

test("a warning is quoted as by Go, sent once, and omitted if it contains control characters", () => {
  expect(warningHeaders(['a "b" \\c', 'a "b" \\c', "x\ny", "x\u0085y", ""])).toEqual(['299 - "a \\"b\\" \\\\c"'])
})

test("warnings that together are longer than 4096 characters are shortened to 256 each, and end there", () => {
  const texts = Array.from({ length: 30 }, (_value, index) => String(index).padEnd(300, "x"))
  const headers = warningHeaders(texts)
  expect([headers.length, headers[0]]).toEqual([16, `299 - "${"0".padEnd(256, "x")}"`])
})

test("a header's value is UTF-8 without characters that would end it", () => {
  expect(headerBytes("a\r\nb: ü")).toBe(`a??b: ${Buffer.from("ü").toString("latin1")}`)
})

test("an exception in a write is a 500 and a log line", async () => {
  const random = { ...systemRandomness }
  const sandbox = await start({ random })
  random.uid = () => {
    throw new Error("no more numbers")
  }
  const answer = await send(sandbox, "POST", configMaps, { metadata: { name: "a" } })
  expect([answer.status, bodyOf(answer).message]).toEqual([500, "Internal error occurred: no more numbers"])
  expect(told).toEqual([expect.stringMatching(/^create configmaps default\/: Error: no more numbers/)])
  await sendFor(sandbox, 404, "GET", `${configMaps}/a`)
})

test("an exception while a response is sent is a 500 and a log line", async () => {
  const sandbox = await start()
  sandbox.faults.respond("configmaps", 99, {})
  const answer = await send(sandbox, "GET", `${configMaps}/a`)
  expect([answer.status, bodyOf(answer).reason, told.length]).toEqual([500, "InternalError", 1])
  expect((await send(sandbox, "GET", "/readyz")).status).toBe(200)
})

test("an exception in a controller is a log line, and its other work continues", async () => {
  const clock = new ManualClock()
  const sandbox = await start({ lifecycle: true, clock, bookmarkInterval: 0 })
  const owners = [{ apiVersion: "v1", kind: "ConfigMap", name: "never", uid: "1" }]
  for (const name of ["a", "b"]) await sendFor(sandbox, 201, "POST", pods, pod(name, { ownerReferences: owners }))
  const { deleteProperty: remove } = Reflect
  let failures = 0
  const wall = clock.wallMicros.bind(clock)
  clock.wallMicros = () => {
    if (failures++ === 0) throw new Error("no time")
    return wall()
  }
  clock.advance(1)
  remove(clock, "wallMicros")
  expect(told).toEqual([expect.stringMatching(/^work on "v1\.Pod\\ndefault\\na": Error: no time/)])
  expect(["a", "b"].map((name) => sandbox.get("v1.Pod", "default", name) === undefined)).toEqual([false, true])
})
