/** `reel import audit`: what it prints, its exit codes, what other commands make of the trace, and what remains after a failure. */
import { readFileSync, writeFileSync } from "node:fs"
import { Readable } from "node:stream"
import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { convertCommand } from "../../src/cli/convert.ts"
import { importCommand } from "../../src/cli/import.ts"
import { validateCommand } from "../../src/cli/validate.ts"
import { openTraceFile, type TraceInput } from "../../src/trace/index.ts"
import { auditEvent, configMap, type EventFacts, stored, success } from "../audit/audit-events.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { commandsIn } from "./commands-in.ts"

const { path, write: writeBytes, names, run: runIn } = commandsIn("reel-import-")

const write = (name: string, ...events: ReadonlyArray<EventFacts>): string => {
  const text = events.map((facts) => `${JSON.stringify(auditEvent(facts))}\n`).join("")
  return writeBytes(name, name.endsWith(".gz") ? gzipSync(text) : text)
}

const run = (argv: ReadonlyArray<string>, openInput: (path: string) => Promise<TraceInput> = openTraceFile) =>
  runIn(importCommand(openInput), argv)

const created: EventFacts = { verb: "create", code: 201, response: configMap(1) }
const deleted: EventFacts = { at: 9, verb: "delete", response: success() }

describe("what it prints", () => {
  test("is one line about the trace and one about what no log has, with exit code 0", async () => {
    const ran = await run(["audit", write("audit.log", created, deleted), "-o", path("day.ndjson")])
    expect(ran).toEqual({
      code: exitCodes.ok,
      output: "",
      error:
        "FOLDER/day.ndjson: 2 changes, 745 B, out of 2 writes in 2 entries\n" +
        "reel import: objects that were not written while the logs were made are not in the trace\n",
    })
  })

  test("names what is missing by kind and reason, with exit code 3", async () => {
    const request = { kind: "Pod", apiVersion: "v1", metadata: { name: "web" } }
    const log = write(
      "audit.log",
      { verb: "patch", response: configMap(4) },
      { at: 1, verb: "patch", level: "Request", request: {} },
      { at: 1, level: "Metadata", resource: "secrets" },
      { at: 2, verb: "create", code: 201, level: "Request", resource: "pods", request },
      { at: 3, response: configMap(3) },
      { at: 4, verb: "delete", resource: "secrets", name: "other", response: success("u9") },
    )
    writeFileSync(log, `${readFileSync(log, "utf8")}I0301 12:00:00.000001 1 server.go:1] started\n`)
    const ran = await run(["audit", log, "-o", path("day.ndjson")])
    expect(ran.code).toBe(exitCodes.incomplete)
    expect(ran.error).toMatchSnapshot()
  })

  const event = auditEvent(created)
  const text = JSON.stringify(event)
  const place = { RequestUri: event.requestURI, ObjectRef: event.objectRef, ResponseStatus: event.responseStatus }
  const azure = { ...place, AuditId: "a", Stage: event.stage, Verb: "create", Level: event.level }

  test.each([
    [
      "aks-storage.json",
      JSON.stringify({ time: "t", category: "kube-audit", properties: { log: text, stream: "stdout" } }),
    ],
    [
      "aks-table.json",
      JSON.stringify([{ ...azure, ResponseObject: event.responseObject, StageReceivedTime: event.stageTimestamp }]),
    ],
    ["aks-hub.json", JSON.stringify({ records: [{ properties: { log: text } }] }, undefined, 2)],
    ["cri.log", `2026-03-01T12:00:00.100000000Z stdout F ${text}`],
    ["docker.log", JSON.stringify({ log: `${text}\n`, stream: "stdout", time: "2026-03-01T12:00:00.1Z" })],
    ["elasticsearch.json", JSON.stringify({ hits: { hits: [{ _source: event }] } }, undefined, 2)],
  ])("is one creation out of %s, whatever wraps it", async (name, log) => {
    const ran = await run(["audit", writeBytes(name, `${log}\n`), "-o", path("day.ndjson"), "--force"])
    expect([ran.code, ran.error]).toEqual([
      exitCodes.ok,
      expect.stringMatching(/: 1 change, .* out of 1 write in 1 entry\n/),
    ])
  })

  test("is the same as JSON", async () => {
    const log = write(
      "audit.log",
      created,
      created,
      { at: 1, level: "Metadata", resource: "secrets" },
      { at: 2, level: "Metadata", resource: "secrets" },
    )
    writeFileSync(log, `${readFileSync(log, "utf8")}started\n`)
    const ran = await run(["audit", log, "-o", path("day.yaml"), "--report", "json"])
    expect(ran.code).toBe(exitCodes.incomplete)
    const report = JSON.parse(ran.error)
    expect(report).toEqual({
      ...{ trace: "FOLDER/day.yaml", format: "kwok", bytes: expect.any(Number), entries: 5, writes: 3 },
      ...{ repeatedWrites: 1, changes: 1, gaps: 1, asSent: [], foundObjects: 0, unseenDeletions: 0 },
      lost: [{ kind: "v1.Secret", reason: "metadata-level", changes: 2 }],
      ...{ supersededChanges: 0, lateChanges: 0, isComplete: false, redacted: [] },
      unknownEntries: { count: 1, first: [{ log: "FOLDER/audit.log", line: 5, found: expect.any(String) }] },
      leftOut: { gaps: 1, incomplete: 0, objects: [], unchanged: 0, warnings: [] },
    })
    expect(report.bytes).toBe(readFileSync(path("day.yaml")).length)
  })

  test("says what the format cannot represent", async () => {
    const deployment = stored("apps/v1", "Deployment", 1, { spec: { template: { spec: { containers: [] } } } })
    const create = { ...created, resource: "apps/v1 deployments", response: deployment }
    const log = write("audit.log", create, { at: 1, level: "Metadata", resource: "secrets" })
    const ran = await run(["audit", log, "-o", path("day.sktrace")])
    expect(ran.code).toBe(exitCodes.incomplete)
    expect(ran.error).toContain("the trace is incomplete: it has 1 gap, which the simkube format cannot represent\n")
  })
})

describe("logs", () => {
  test("that were rotated and compressed are one trace, in whatever order they are named", async () => {
    const logs = [write("b.log", deleted), write("a.log.gz", created, { at: 3, response: configMap(2) })]
    expect((await run(["audit", ...logs, "-o", path("day.ndjson")])).error).toContain("3 changes")
    const actions = readFileSync(path("day.ndjson"), "utf8").match(/"action":"\w+"/g)
    expect(actions).toEqual(['"action":"applied"', '"action":"applied"', '"action":"deleted"'])
  })

  test("may come from standard input, and the trace go to standard output", async () => {
    const bytes = readFileSync(write("audit.log", created))
    const stdin = async () => ({ bytes: Readable.from([bytes], { objectMode: false }), size: undefined })
    const ran = await run(["audit", "-", "-o", "-"], stdin)
    expect(ran.code).toBe(exitCodes.ok)
    expect(ran.output.trimEnd().split("\n")).toHaveLength(3)
    expect(ran.error).toMatch(/^standard output: 1 change, /)
  })

  test("lose kinds that are left out: Leases always, others on request", async () => {
    const lease = stored("coordination.k8s.io/v1", "Lease", 5)
    const event = stored("v1", "Event", 6)
    const log = write(
      "audit.log",
      created,
      { resource: "coordination.k8s.io/v1 leases", response: lease },
      { resource: "events", response: event },
      { resource: "coordination.k8s.io/v1 leases", level: "Metadata" },
    )
    const ran = await run(["audit", log, "-o", path("day.ndjson"), "--except", "v1.Event"])
    expect(ran.code).toBe(exitCodes.ok)
    expect(readFileSync(path("day.ndjson"), "utf8")).toContain('"kinds":["v1.ConfigMap"]')
  })

  test("lose secret values under the key of a file, so that two imports have the same hashes", async () => {
    writeFileSync(path("key"), "a key of more than 16 bytes")
    const secret = stored("v1", "Secret", 1, { data: { password: "aHVudGVyMg==" } })
    const log = write("audit.log", { ...created, resource: "secrets", response: secret })
    const written = async (name: string, ...more: ReadonlyArray<string>): Promise<string> => {
      expect((await run(["audit", log, "-o", path(name), ...more])).code).toBe(exitCodes.ok)
      return readFileSync(path(name), "utf8")
    }
    const [one, two] = [
      await written("1.ndjson", "--redact-key-file", path("key")),
      await written("2.ndjson", "--redact-key-file", path("key")),
    ]
    expect(one).toBe(two)
    expect(one).not.toContain("aHVudGVyMg==")
    expect(await written("3.ndjson")).not.toBe(one)
    expect(await written("4.ndjson", "--secrets-in-plain-text")).toContain("aHVudGVyMg==")
  })
})

test("what a recorder's configuration calls secret is not in the trace, and not on disk", async () => {
  const config = writeBytes(
    "tracer.yml",
    "trackedObjects: {v1.Pod: {}}\nredact: {env: [COLOUR], pointers: {v1.ConfigMap: [/data/password]}}\n",
  )
  const map = stored("v1", "ConfigMap", 1, { data: { password: "hunter2", user: "me" } })
  const container = { name: "c", env: [{ name: "COLOUR", value: "hunter3" }] }
  const pod = stored("v1", "Pod", 2, { spec: { containers: [container] } })
  const log = write("audit.log", { ...created, response: map }, { ...created, resource: "pods", response: pod })
  expect((await run(["audit", log, "-o", path("a.ndjson"), "--config", config])).code).toBe(exitCodes.ok)
  const trace = readFileSync(path("a.ndjson"), "utf8")
  expect(trace).not.toMatch(/hunter/)
  expect(trace).toContain('"user":"me"')
  expect(await run(["audit", log, "-o", path("b.ndjson"), "--config", log])).toMatchObject({
    code: exitCodes.usage,
    error: expect.stringContaining("reel import: "),
  })
  expect(names()).toEqual(["a.ndjson", "audit.log", "tracer.yml"])
})

test("other commands read the trace, with its gaps", async () => {
  const log = write(
    "audit.log",
    created,
    { at: 1, level: "Metadata" },
    { at: 2, level: "Metadata", resource: "secrets" },
  )
  await run(["audit", log, "-o", path("day.ndjson.zst")])
  const terminal = capturedTerminal()
  expect(await validateCommand().run([path("day.ndjson.zst")], terminal)).toBe(exitCodes.ok)
  expect(await convertCommand().run([path("day.ndjson.zst"), path("day.yaml")], terminal)).toBe(exitCodes.incomplete)
  expect(terminal.standardError.text()).toContain("it has 2 gaps, which the kwok format cannot represent")
})

describe("a failure leaves nothing behind", () => {
  test.each<[string, (log: string) => ReadonlyArray<string>, number, string]>([
    ["no source", (log) => [log], exitCodes.usage, "missing argument: expected audit LOG"],
    ["another source", (log) => ["journal", log], exitCodes.usage, '"journal" cannot be imported; there is audit'],
    ["no output", (log) => ["audit", log], exitCodes.usage, "--output TRACE is required"],
    ["a log twice", (log) => ["audit", log, log, "-o", "x"], exitCodes.usage, "is given twice"],
    [
      "an exception that is no kind",
      (log) => ["audit", log, "-o", "x", "--except", "pods"],
      exitCodes.usage,
      "write a kind as",
    ],
    [
      "an output that exists",
      (log) => ["audit", log, "-o", log],
      exitCodes.usage,
      "exists; use --force to overwrite it",
    ],
    [
      "a log that does not exist",
      () => ["audit", "/nowhere/a.log", "-o", "x"],
      exitCodes.failed,
      "cannot read /nowhere/a.log: file not found",
    ],
    [
      "a key that cannot be read",
      (log) => ["audit", log, "-o", "x", "--redact-key-file", "/nowhere/key"],
      exitCodes.usage,
      "file not found",
    ],
  ])("%s", async (_, argv, code, message) => {
    const ran = await run(argv(write("audit.log", created)).map((word) => (word === "x" ? path("x") : word)))
    expect(ran.code).toBe(code)
    expect(ran.error).toContain(message)
    expect(names()).toEqual(["audit.log"])
  })

  test("a log without an audit entry, which is named", async () => {
    writeFileSync(path("other.log"), '{"level":"info","msg":"started"}\n')
    expect(await run(["audit", path("other.log"), "-o", path("x.ndjson")])).toEqual({
      code: exitCodes.failed,
      output: "",
      error: 'reel import: nothing in the logs is an audit entry: FOLDER/other.log:1: an object with "level", "msg"\n',
    })
    expect(names()).toEqual(["other.log"])
  })

  test("a compressed log that is damaged, among others", async () => {
    writeFileSync(path("cut.log.gz"), gzipSync(JSON.stringify(auditEvent(created)).repeat(20)).subarray(0, 50))
    const ran = await run(["audit", write("audit.log", created), path("cut.log.gz"), "-o", path("x.ndjson")])
    expect(ran.code).toBe(exitCodes.failed)
    expect(ran.error).toMatch(/^reel import: FOLDER\/cut\.log\.gz: the gzip data is damaged after byte \d+/)
    expect(names()).toEqual(["audit.log", "cut.log.gz"])
  })

  test("Ctrl-C", async () => {
    const log = write("audit.log", created)
    const terminal = capturedTerminal()
    const opened = async (name: string) => {
      terminal.interrupt()
      return openTraceFile(name)
    }
    expect(await importCommand(opened).run(["audit", log, "-o", path("x.ndjson")], terminal)).toBe(
      exitCodes.interrupted,
    )
    expect(names()).toEqual(["audit.log"])
  })
})
