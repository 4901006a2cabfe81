import { describe, expect, test } from "vitest"
import type { JsonValue } from "../../src/trace/index.ts"
import { auditEvent, begin, configMap, stored, success } from "./audit-events.ts"
import { imported, ran } from "./imported.ts"

const log = (...events: ReadonlyArray<JsonValue>): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join("")
const created = auditEvent({ verb: "create", code: 201, response: configMap(1, { a: "1" }) })

describe("the trace", () => {
  test("has the window of the log, its kinds, and its changes by number", async () => {
    const read = auditEvent({ at: 60, verb: "patch", code: 409 })
    const { items } = await imported([log(created, auditEvent({ at: 5, verb: "delete", response: success() }), read)])
    expect(items[0]).toMatchObject({
      type: "header",
      window: { start: begin, end: begin + 60_000_001 },
      kinds: ["v1.ConfigMap"],
      incomplete: [],
      cut: 0,
    })
    const events = items.flatMap((item) => (item.type === "event" && item.event.type === "object" ? [item.event] : []))
    expect(
      events.map(({ sequence, action, object }) => [sequence, action, JSON.parse(String(Buffer.from(object)))]),
    ).toEqual([
      [1, "applied", configMap(1, { a: "1" })],
      [2, "deleted", configMap(1, { a: "1" })],
    ])
  })

  test("has gaps, whose kinds are kinds of the trace", async () => {
    const lost = auditEvent({ at: 1, level: "Metadata", resource: "secrets" })
    const { items, summary } = await imported([log(created, lost)])
    expect(items[0]).toMatchObject({ kinds: ["v1.ConfigMap", "v1.Secret"] })
    expect(items.at(-1)).toMatchObject({ event: { type: "gap", sequence: 2, gvk: "v1.Secret", reason: "unlogged" } })
    expect(summary).toMatchObject({ gaps: 1, changes: 1, writes: 2, texts: 2 })
    expect([...summary.losses]).toEqual([["v1.Secret", new Map([["metadata-level", 1]])]])
  })

  test.each(["simkube", "kwok"] as const)("is one of format %s, which has no gaps", async (format) => {
    const deployment = stored("apps/v1", "Deployment", 1, { spec: { template: { spec: { containers: [] } } } })
    const lost = auditEvent({ at: 1, level: "Metadata", resource: "secrets" })
    const event = auditEvent({ verb: "create", code: 201, resource: "apps/v1 deployments", response: deployment })
    const { items, summary } = await imported([log(event, lost)], { format })
    expect(items.some((item) => item.type === "event" && item.event.type === "object")).toBe(true)
    expect(summary.leftOut.gaps).toBe(1)
  })

  test("keeps integers above 2^53 and members of any name", async () => {
    const text = log(created).replace(
      '"data":{"a":"1"}',
      '"data":{"big":9007199254740993,"float":1.0,"__proto__":{"x":1}}',
    )
    const { bytes } = await imported([text])
    expect(bytes.toString()).toContain('"data":{"big":9007199254740993,"float":1.0,"__proto__":{"x":1}}')
  })
})

describe("a write that the logs have twice", () => {
  const sent = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "sent" }, data: { a: "1" } }
  const writes = [
    created,
    auditEvent({ at: 1, level: "Request", name: "sent", request: sent }),
    auditEvent({ at: 1, level: "Metadata", resource: "secrets" }),
    auditEvent({ at: 2, verb: "delete", response: success() }),
  ]

  test("in files that overlap, or behind one another, is one", async () => {
    const once = await imported([log(...writes)])
    const [first, ...rest] = writes as [JsonValue, ...JsonValue[]]
    for (const logs of [
      [log(...writes), log(...writes)],
      [log(first, ...rest), log(...rest)],
      [log(...writes.flatMap((write) => [write, write]))],
    ]) {
      const twice = await imported(logs)
      expect(twice.bytes.equals(once.bytes)).toBe(true)
      expect(twice.summary).toMatchObject({ writes: 4, gaps: 1, changes: 3 })
      expect(twice.summary.repetitions).toBe(logs.join("").trim().split("\n").length - 4)
      expect(twice.summary.losses).toEqual(once.summary.losses)
    }
  })

  test("is two if their times differ, or what they concern, whatever ID a client gave them", async () => {
    const two = [auditEvent({ at: 1, level: "Request", name: "sent", request: sent }), ...writes]
    expect((await imported([log(...two)])).summary.repetitions).toBe(1)
    const others = ["a", "b"].map((name) =>
      auditEvent({ verb: "create", code: 201, name, response: configMap(1, {}, { name, uid: name }) }),
    )
    expect((await imported([log(...others)])).summary).toMatchObject({ repetitions: 0, changes: 2 })
  })
})

describe("secret values", () => {
  const password = Buffer.from("hunter2").toString("base64")
  const secret = stored("v1", "Secret", 1, { type: "Opaque", data: { password } })
  const container = { name: "c", env: [{ name: "DB_PASSWORD", value: "hunter2" }] }
  const pod = stored("v1", "Pod", 2, { metadata: { name: "pod", uid: "u2" }, spec: { containers: [container] } })
  const logs = [
    log(
      auditEvent({ verb: "create", code: 201, resource: "secrets", response: secret, request: secret }),
      auditEvent({ at: 1, verb: "create", code: 201, resource: "pods", name: "pod", response: pod }),
      auditEvent({ at: 2, verb: "delete", resource: "secrets", response: success() }),
    ),
  ]

  test("are replaced by keyed hashes, of which those of one value are the same", async () => {
    const { bytes } = await imported(logs)
    const text = bytes.toString()
    expect(text).not.toContain("hunter2")
    expect(text).not.toContain(password)
    const hash = /"DB_PASSWORD","value":"(redacted:[0-9a-f]{16})"/.exec(text)?.[1] ?? ""
    expect(text.split(Buffer.from(hash).toString("base64"))).toHaveLength(3)
  })

  test("of Secrets stay if that is asked for; those of variables never do", async () => {
    const { bytes } = await imported(logs, { secretsInPlainText: true })
    expect(bytes.toString()).toContain(password)
    expect(bytes.toString()).not.toContain("hunter2")
  })

  test("of a log that cannot be read are not in the message", async () => {
    const { outcome } = await ran([`{"password":"hunter2"}\nhunter2\n`])
    expect(outcome.tag === "failed" && outcome.error.message).toBe(
      'nothing in the logs is an audit entry: log-0:1: an object with "password"',
    )
  })
})

describe("what cannot be imported", () => {
  test.each<[string, string, string]>([
    ["an empty log", "", "the logs are empty"],
    ["reads alone", log(auditEvent({ verb: "get" })), "the logs have no successful write to an object"],
    ["another log", "hello\n", "nothing in the logs is an audit entry: log-0:1: 5 bytes of text that are no JSON"],
  ])("%s is refused, and nothing is kept", async (_, text, message) => {
    const { outcome, isDiscarded } = await ran([text])
    expect(outcome).toMatchObject({ tag: "failed", error: { message } })
    expect(isDiscarded).toBe(true)
  })

  test("other lines between entries are passed over, counted, and the first few are named", async () => {
    const text = `${log(created)}started\n${"{}\n".repeat(10)}${log(auditEvent({ at: 1, response: configMap(2) }))}`
    const { summary } = await imported([text])
    expect(summary.changes).toBe(2)
    expect(summary.unknown.count).toBe(11)
    expect(summary.unknown.first).toEqual([
      { log: "log-0", line: 2, found: "7 bytes of text that are no JSON" },
      ...[3, 4, 5, 6].map((line) => ({ log: "log-0", line, found: "an object with no members" })),
    ])
  })

  test("a line in parts whose end the log does not have is counted", async () => {
    const part = "2026-03-01T12:00:00.1Z stdout P {"
    const { summary } = await imported([`${log(created)}${part}\n${part}\n`])
    const found = "a line in parts whose end the log does not have"
    expect(summary.unknown).toMatchObject({ count: 1, first: [{ log: "log-0", line: 3, found }] })
  })

  test("an import that is interrupted keeps nothing", async () => {
    const abort = new AbortController()
    abort.abort()
    const { outcome, isDiscarded } = await ran([log(created)], { signal: abort.signal })
    expect(outcome).toMatchObject({ tag: "failed", error: { _tag: "ExportInterrupted" } })
    expect(isDiscarded).toBe(true)
  })
})
