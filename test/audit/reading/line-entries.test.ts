import { expect, test } from "vitest"
import type { AuditEntry } from "../../../src/audit/audited-write.ts"
import { entriesOfText } from "../../../src/audit/reading/line-entries.ts"
import { auditEvent, begin, configMap, type EventFacts } from "../audit-events.ts"

const entriesOf = (text: string, isCut = false, needsTimes = false): ReadonlyArray<AuditEntry> =>
  entriesOfText({ line: 1, bytes: Buffer.from(text), isCut }, needsTimes)

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

test("the time before each line of an export to S3 is taken off", () => {
  expect(entriesOf(`2026-03-01T12:00:00.000Z ${line({})}`)).toEqual(entriesOf(line({})))
})

test.each([
  ["I0301 12:00:00.000001       1 server.go:1] started", "a line of a component's own log"],
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
