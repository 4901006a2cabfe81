import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { compare, type Rule } from "../cluster/compare.ts"
import type { JsonObject } from "../cluster/exact-json.ts"
import { type LedgerLine, objectLine } from "../cluster/ledger.ts"

const gvk = "v1.ConfigMap"

const configMap = (uid: string, version: number, content: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", name: `name-${uid}`, uid, resourceVersion: String(version) },
  ...content,
})

const list = (version: number): LedgerLine => ({ line: "list", gvk, resourceVersion: String(version) })
const added = (uid: string, version: number, content?: JsonObject) =>
  objectLine("ADDED", gvk, configMap(uid, version, content))
const modified = (uid: string, version: number, content?: JsonObject) =>
  objectLine("MODIFIED", gvk, configMap(uid, version, content))
const deleted = (uid: string, version: number, content?: JsonObject) =>
  objectLine("DELETED", gvk, configMap(uid, version, content))
const listed = (uid: string, version: number, content?: JsonObject) => {
  const { apiVersion: _apiVersion, kind: _kind, ...item } = configMap(uid, version, content)
  return objectLine("listed", gvk, item)
}

/** An export of exactly these lines, as a recorder would write it. */
const exportOf = (lines: readonly LedgerLine[]): string[] => {
  const events = lines.flatMap((line) => {
    if (line.line === "list") return []
    const { uid, resourceVersion, object } = line
    const metadata = object.metadata as JsonObject
    const action = line.line === "DELETED" ? "deleted" : "applied"
    return [{ action, gvk, uid, namespace: metadata.namespace, name: metadata.name, resourceVersion, object }]
  })
  const numbered = events.map((event, index) => ({ sequence: index + 1, time: 1_000_000 + index, ...event }))
  return numbered.map((document) => JSON.stringify(document))
}

const header = `{"format":"kubereel"}`

const judgeText = (text: string, ledger: readonly LedgerLine[], rule: Rule) =>
  compare(text, ledger, new Map([[gvk, rule]])).map(({ problem }) => problem)

/** Compares an export of these lines with the ledger; header and footer are valid. */
const judge = (lines: readonly string[], ledger: readonly LedgerLine[], rule: Rule = { detect: "all" }) => {
  const gaps = lines.filter((line) => line.includes(`"action":"gap"`)).length
  const footer = JSON.stringify({ end: { snapshot: 0, events: lines.length - gaps, gaps } })
  return judgeText(`${[header, ...lines, footer].join("\n")}\n`, ledger, rule)
}

describe("an export and a ledger", () => {
  const ledger = [list(10), listed("a", 5), listed("b", 9), added("c", 11), modified("a", 12), deleted("b", 13)]
  const whole = exportOf(ledger)

  test("agree when every version occurs once and in order", () => {
    expect(judge(whole, ledger)).toEqual([])
  })

  test("agree when the recorder also has events before the observer's list", () => {
    const past = [
      added("a", 3, { data: { old: "1" } }),
      added("x", 4),
      modified("a", 5),
      deleted("x", 6),
      added("b", 9),
    ]
    expect(judge(exportOf([...past, ...ledger.slice(3)]), ledger)).toEqual([])
  })

  test.each([
    ["an event is missing", (lines: string[]) => lines.toSpliced(2, 1), ["missing"]],
    ["the state at the start is missing", (lines: string[]) => lines.toSpliced(0, 1), ["missing"]],
    [
      "a line stands twice",
      (lines: string[]) => lines.toSpliced(3, 0, lines[2] ?? ""),
      ["out of order", "duplicate", "duplicate"],
    ],
    [
      "two lines are swapped",
      (lines: string[]) => lines.toSpliced(2, 2, lines[3] ?? "", lines[2] ?? ""),
      ["out of order", "out of order"],
    ],
    [
      "the export names a gap",
      (lines: string[]) => lines.toSpliced(2, 0, JSON.stringify({ sequence: 0, action: "gap", gvk })),
      ["gap"],
    ],
    [
      "a deletion is recorded as an application",
      (lines: string[]) => lines.with(4, (lines[4] ?? "").replace("deleted", "applied")),
      ["extra", "missing"],
    ],
    [
      "a deletion was only inferred",
      (lines: string[]) => lines.with(4, (lines[4] ?? "").replace("deleted", "vanished")),
      ["extra", "missing"],
    ],
    [
      "an object is not the one the server sent",
      (lines: string[]) =>
        lines.with(3, (lines[3] ?? "").replace('"kind":"ConfigMap"', '"kind":"ConfigMap","data":{}')),
      ["other object"],
    ],
    [
      "an event's name is not its object's",
      (lines: string[]) =>
        lines.with(3, (lines[3] ?? "").replace('"name":"name-a","resource', '"name":"name-b","resource')),
      ["other object"],
    ],
    [
      "an event is of a kind that nobody asked for",
      (lines: string[]) => lines.with(3, (lines[3] ?? "").replace('"gvk":"v1.ConfigMap"', '"gvk":"v1.Secret"')),
      ["extra", "missing"],
    ],
    [
      "the start is another state",
      (lines: string[]) => lines.with(0, (lines[0] ?? "").replace('"object":{', '"object":{"data":{},')),
      ["wrong start"],
    ],
  ])("disagree when %s", (_what, change, problems) => {
    expect(judge(change([...whole]), ledger)).toEqual(problems)
  })

  test.each([
    ["no header", [...whole, `{"end":{"snapshot":0,"events":5,"gaps":0}}`], ["malformed", "malformed", "missing"]],
    ["no footer", [header, ...whole], ["malformed", "missing"]],
    [
      "a footer that counts other lines",
      [header, ...whole, `{"end":{"snapshot":0,"events":4,"gaps":0}}`],
      ["malformed"],
    ],
    [
      "a kind that was not watched",
      [
        `{"format":"kubereel","incomplete":[{"gvk":"v1.ConfigMap","state":"forbidden"}]}`,
        ...whole,
        `{"end":{"snapshot":0,"events":5,"gaps":0}}`,
      ],
      ["gap"],
    ],
  ])("disagree when the export has %s", (_what, lines, problems) => {
    expect(judgeText(`${lines.join("\n")}\n`, ledger, { detect: "all" })).toEqual(problems)
  })

  test("disagree when the export is truncated in the middle of a line", () => {
    const text = `${[header, ...whole].join("\n")}\n`
    const problems = judgeText(text.slice(0, -100), ledger, { detect: "all" })
    expect(problems).toEqual(["malformed", "malformed", "missing", "missing"])
  })

  test("disagree when an object was in the export's past and not in the list", () => {
    expect(judge(exportOf([added("z", 2), ...ledger]), ledger)).toEqual(["wrong start"])
  })

  test("disagree when events of two objects are in another order than the server's, properly numbered", () => {
    const swapped = [...ledger.slice(0, 3), ledger[4], ledger[3], ledger[5]].filter((line) => line !== undefined)
    expect(judge(exportOf(swapped), ledger)).toEqual(["out of order"])
  })

  test("differ by one in a number that JavaScript cannot distinguish from its neighbour", () => {
    const line = (whole[3] ?? "").replace('"kind":"ConfigMap"', '"kind":"ConfigMap","data":{"n":9007199254740993}')
    const other = [...ledger]
    other[4] = modified("a", 12, { data: { n: JSON.parse("9007199254740992") as number } })
    expect(judge(whole.with(3, line), other)).toEqual(["other object"])
  })

  test("cannot be compared when the ledger itself repeats a line", () => {
    expect(() => judge(whole, [...ledger, ledger[3] as LedgerLine])).toThrow("twice")
  })
})

describe("what counts as a change", () => {
  const data = (value: string, more: JsonObject = {}): JsonObject => ({ data: { key: value }, ...more })
  const ledger = [
    list(10),
    listed("a", 5, data("1")),
    modified("a", 11, data("1", { status: { ready: 1 } })),
    modified("a", 12, data("2", { status: { ready: 1 } })),
    deleted("a", 13, data("2")),
    added("b", 14, data("2", { spec: { size: 1 } })),
    modified("b", 15, data("3", { spec: { size: 1 } })),
    modified("b", 16, data("3", { spec: { size: 2 } })),
  ]
  const only = (...versions: number[]): string[] =>
    exportOf(ledger.filter((line) => versions.includes(Number(line.resourceVersion)) && line.line !== "list"))

  test("with content: anything but status and the version; a deletion always", () => {
    expect(judge(only(5, 12, 13, 14, 15, 16), ledger, { detect: "content" })).toEqual([])
    expect(judge(only(5, 11, 12, 13, 14, 15, 16), ledger, { detect: "content" })).toEqual(["extra"])
    expect(judge(only(5, 13, 14, 15, 16), ledger, { detect: "content" })).toEqual(["missing"])
  })

  test("with spec: only the spec", () => {
    expect(judge(only(5, 13, 14, 16), ledger, { detect: "spec" })).toEqual([])
    expect(judge(only(5, 13, 14, 15, 16), ledger, { detect: "spec" })).toEqual(["extra"])
  })

  test("with all: every version", () => {
    expect(judge(only(5, 11, 12, 13, 14, 15, 16), ledger, { detect: "all" })).toEqual([])
  })

  test("not what the rule ignores", () => {
    const rule: Rule = { detect: "content", ignore: ["/data/key"] }
    expect(judge(only(5, 13, 14, 16), ledger, rule)).toEqual([])
    expect(judge(only(5, 12, 13, 14, 16), ledger, rule)).toEqual(["extra"])
  })

  test("compared with the last version seen, recorded or not", () => {
    const back = [list(1), added("a", 2, data("1")), modified("a", 3, data("2")), modified("a", 4, data("1"))]
    expect(judge(exportOf(back), back, { detect: "content" })).toEqual([])
  })

  test("and managed fields are compared only if they are kept", () => {
    const withFields = (version: number, fields: JsonObject) => {
      const object = configMap("a", version)
      return objectLine("ADDED", gvk, { ...object, metadata: { ...(object.metadata as JsonObject), ...fields } })
    }
    const ledger = [list(1), withFields(2, { managedFields: [{ manager: "kubectl" }] })]
    const without = exportOf([withFields(2, {})])
    expect(judge(without, ledger, { detect: "all", keepManagedFields: false })).toEqual([])
    expect(judge(without, ledger, { detect: "all" })).toEqual(["other object"])
  })
})

describe("any history", () => {
  /** A history of up to 30 changes of up to 4 objects, each step a create, an update or a deletion. */
  const histories = fc
    .array(fc.record({ object: fc.nat(3), remove: fc.boolean() }), { minLength: 3, maxLength: 30 })
    .map((steps) => {
      const live = new Map<number, string>()
      const lines: LedgerLine[] = [list(100)]
      steps.forEach(({ object, remove }, index) => {
        const version = 101 + index
        const uid = live.get(object)
        if (uid === undefined) {
          live.set(object, `${object}-${version}`)
          lines.push(added(`${object}-${version}`, version, { data: { at: String(version) } }))
        } else if (remove) {
          live.delete(object)
          lines.push(deleted(uid, version))
        } else lines.push(modified(uid, version, { data: { at: String(version) } }))
      })
      return lines
    })

  test("agrees with its own export", () => {
    fc.assert(
      fc.property(histories, (ledger) => {
        expect(judge(exportOf(ledger), ledger)).toEqual([])
      }),
    )
  })

  test("disagrees when any one event is dropped, repeated, or moved", () => {
    fc.assert(
      fc.property(histories, fc.nat(), fc.nat(), (ledger, first, second) => {
        const events = ledger.slice(1)
        const index = first % events.length
        const event = events[index] as LedgerLine
        expect(judge(exportOf(events.toSpliced(index, 1)), ledger)).toContain("missing")
        expect(judge(exportOf(events.toSpliced(index, 0, event)), ledger)).toContain("duplicate")
        const target = second % events.length
        fc.pre(target !== index)
        const moved = events.toSpliced(index, 1).toSpliced(target, 0, event)
        expect(judge(exportOf(moved), ledger)).toContain("out of order")
      }),
    )
  })
})
