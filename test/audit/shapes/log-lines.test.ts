import { expect, test } from "vitest"
import type { AuditEntry } from "../../../src/audit/shapes/audited-write.ts"
import { LogEntries } from "../../../src/audit/shapes/log-entries.ts"
import { auditEvent, begin, configMap, type EventFacts } from "../audit-events.ts"

const entriesOf = (text: string, isCut = false, needsTimes = false): ReadonlyArray<AuditEntry> =>
  new LogEntries().of({ line: 1, bytes: Buffer.from(text), isCut }, needsTimes)

const line = (facts: EventFacts): string => JSON.stringify(auditEvent(facts))

test("a read is passed over without being parsed, unless its time is needed", () => {
  const damaged = line({ verb: "list", query: '?labelSelector=a\\"b\\u0026c' }).slice(0, -1)
  expect(entriesOf(damaged)).toEqual([{ tag: "no-write", time: undefined }])
  expect(entriesOf(line({ verb: "watch", at: 3 }), false, true)).toEqual([{ tag: "no-write", time: begin + 3_000_000 }])
})

test("a write is parsed, and so is what only looks like a read", () => {
  expect(entriesOf(line({ verb: "create" }))[0]?.tag).toBe("write")
  const response = configMap(1, { text: line({ verb: "get" }) })
  expect(entriesOf(line({ verb: "patch", response }))[0]?.tag).toBe("write")
})

const quotedLine = JSON.stringify(line({}))

test.each([
  ["an export of CloudWatch to S3", (text: string) => `2026-03-01T12:00:00.000Z ${text}`],
  ["CRI", (text: string) => `2026-03-01T12:00:00.100000000Z stdout F ${text}`],
  ["CRI with an offset and more tags", (text: string) => `2026-03-01T12:00:00.1+01:00 stderr F:x ${text}`],
  ["syslog", (text: string) => `<134>Mar  1 12:00:00 host kube-apiserver[123]: ${text}`],
  ["syslog with data", (text: string) => `<134>1 2026-03-01T12:00:00Z host app 1 - [a@1 b="[c]"] ${text} `],
  ["klog, with an end", (text: string) => `I0301 12:00:00.0 1 audit.go:1] [audit ${text} [end]`],
  ["logfmt", (_: string) => `time=2026-03-01 level=info msg=${quotedLine} count=1`],
  ["a text in quotes", (_: string) => quotedLine],
])("a line of %s is read", (_, wrap) => {
  expect(entriesOf(wrap(line({})))).toEqual(entriesOf(line({})))
  expect(entriesOf(wrap(line({ verb: "list" }))).every(({ tag }) => tag !== "unknown")).toBe(true)
})

test("values behind one another are several entries, as Firehose writes them without line feeds", () => {
  const record = (name: string) =>
    JSON.stringify({ messageType: "DATA_MESSAGE", logEvents: [{ message: line({ name }) }] })
  const entries = entriesOf(`${record("a")}${record("b")} {"messageType":"CONTROL_MESSAGE"}${line({ name: "c" })}`)
  expect(entries.map((entry) => (entry.tag === "write" ? entry.write.name : entry.tag))).toEqual([
    "a",
    "b",
    "unknown",
    "c",
  ])
})

test("lines that a runtime has cut are put together, by their stream", () => {
  const whole = line({ response: configMap(1, { text: "x".repeat(40_000) }) })
  const third = Math.ceil(whole.length / 3)
  const parts = [whole.slice(0, third), whole.slice(third, 2 * third), whole.slice(2 * third)]
  const cri = parts.map((part, index) => `2026-03-01T12:00:00.1Z stdout ${index === 2 ? "F" : "P"} ${part}`)
  const docker = parts.map((part, index) =>
    JSON.stringify({ log: index === 2 ? `${part}\n` : part, stream: "stdout", time: "t" }),
  )
  for (const lines of [cri, docker]) {
    const log = new LogEntries()
    const entries = [
      lines[0],
      "2026-03-01T12:00:00.1Z stderr F I0301 12:00:00.1 started",
      ...lines.slice(1),
      lines[2],
    ].map((text) => log.of({ line: 1, bytes: Buffer.from(text as string), isCut: false }))
    expect(entries.map((each) => each.map(({ tag }) => tag))).toEqual([[], ["unknown"], [], ["write"], ["unknown"]])
    expect(entries[3]).toEqual(entriesOf(whole))
  }
})

test("parts without an end fill no memory", () => {
  const log = new LogEntries()
  const bytes = Buffer.from(`2026-03-01T12:00:00.1Z stdout P ${"x".repeat(8 * 1024 * 1024)}`)
  const tags = Array.from({ length: 9 }, () => log.of({ line: 1, bytes, isCut: false }).map(({ tag }) => tag))
  expect(tags.flat()).toEqual(["unknown"])
})

test("nothing is taken from inside a damaged entry, nor from what an entry quotes", () => {
  const quoting = line({ response: configMap(1, { log: line({ name: "quoted" }) }) })
  expect(entriesOf(quoting)).toHaveLength(1)
  for (const damaged of [quoting.slice(0, -1), quoting.slice(1), quoting.replace('"verb":', '"verb"')])
    expect(entriesOf(damaged)).toEqual([{ tag: "unknown", found: expect.any(String) }])
})

test.each([
  ["I0301 12:00:00.000001       1 server.go:1] started", "a line of a component's own log"],
  ["time={ password=hunter2", "23 bytes of text that are no JSON"],
  ["password: hunter2", "17 bytes of text that are no JSON"],
  ['{"kind":"Event",', "16 bytes of damaged JSON, or of JSON nested too deeply"],
  ["a\0b", "3 bytes that are no text"],
])("%j is named without being quoted", (text, found) => {
  expect(entriesOf(text)).toEqual([{ tag: "unknown", found }])
})

test("a line that the log ends in is named", () => {
  expect(entriesOf(line({}).slice(0, 40), true)).toEqual([
    { tag: "unknown", found: "a beginning without its end: the log is cut off" },
  ])
})

test("JSON that is nested so deeply that it could not be written again is named", () => {
  const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`
  const inResponse = line({ response: configMap(1, { deep: 0 }) }).replace('"deep":0', `"deep":${nested}`)
  expect(entriesOf(inResponse)[0]?.tag).toBe("unknown")
  expect(entriesOf(JSON.stringify({ message: inResponse }))[0]?.tag).toBe("unknown")
})
