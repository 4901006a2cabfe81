/** Traces whose window starts at 0, as earlier versions wrote them from the beginning of a recording. */
import { expect, test } from "vitest"
import { decodedItems } from "../../../src/trace/formats/decoded-items.ts"
import { ndjsonDecoder } from "../../../src/trace/formats/ndjson/ndjson-writer.ts"
import { TraceValidation } from "../../../src/validation/index.ts"

const second = 1_000_000
const begun = Date.parse("2026-11-28T06:19:07Z") * 1000

interface Line {
  /** Seconds after the first event. */
  readonly at: number
  readonly gvk: string
  readonly name: string
  /** Seconds after the first event; default: an hour before. */
  readonly created?: number
  readonly action?: "applied" | "deleted"
  readonly rest?: object
}

const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-1", uid: "apps/v1.ReplicaSet web-1" }

const definition = {
  spec: { group: "lab.example.com", names: { kind: "Widget", plural: "widgets" }, scope: "Namespaced" },
}

const lineOf = ({ at, gvk, name, created = -3600, action = "applied", rest = {} }: Line, index: number): object => {
  const creationTimestamp = `${new Date(begun / 1000 + created * 1000).toISOString().slice(0, 19)}Z`
  const owned = gvk === "v1.Pod" ? { ownerReferences: [owner] } : {}
  const metadata = { name, namespace: "shop", uid: `${gvk} ${name}`, creationTimestamp, ...owned }
  return {
    ...{ sequence: index + 1, time: begun + at * second, action, gvk, uid: `${gvk} ${name}`, namespace: "shop", name },
    ...{ resourceVersion: "7", object: { metadata, ...rest } },
  }
}

const trace = (lines: ReadonlyArray<Line>, start = 0): Buffer => {
  const header = { format: "kubereel", version: 1, window: { start, end: begun + 600 * second }, cut: 9 }
  const all = [
    { ...header, kinds: [], incomplete: [] },
    ...lines.map(lineOf),
    { end: { snapshot: 0, events: lines.length, gaps: 0 } },
  ]
  return Buffer.from(all.map((line) => `${JSON.stringify(line)}\n`).join(""))
}

const itemsOf = async (bytes: Buffer, pieceBytes = 100) => {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const shown: string[] = []
  const validation = new TraceValidation({ namespacePrefix: "virtual" })
  let start: number | undefined
  for await (const items of decodedItems(pieces(), ndjsonDecoder()))
    for (const item of items) {
      validation.add(item)
      if (item.type === "header") start = item.window?.start
      if (item.type !== "event") continue
      const { gvk, action, time } = item.event as { gvk: string; action: string; time: number }
      const text = `${gvk.slice(gvk.lastIndexOf(".") + 1)} ${action} ${(time - begun) / second}`
      shown.push(item.isSnapshot ? `(${text})` : text)
    }
  const found = validation.finish().rules.map(({ rule, findings }) => `${rule.code} ${findings.length}`)
  return { start, shown, found: found.filter((text) => !text.startsWith("W")) }
}

const lists: ReadonlyArray<Line> = [
  { at: 0, gvk: "v1.Pod", name: "web-1-x" },
  { at: 1, gvk: "lab.example.com/v1.Widget", name: "one" },
  { at: 2, gvk: "v1.Pod", name: "web-1-x" },
  { at: 3, gvk: "v1.Pod", name: "new", created: 3 },
  { at: 4, gvk: "apps/v1.ReplicaSet", name: "web-1" },
  { at: 5, gvk: "apiextensions.k8s.io/v1.CustomResourceDefinition", name: "widgets.lab.example.com", rest: definition },
]

test("start with their first event, and have what is older as the state there, definitions and owners first", async () => {
  expect(await itemsOf(trace(lists))).toEqual({
    start: begun,
    shown: [
      "(CustomResourceDefinition applied 0)",
      "(Widget applied 0)",
      "(ReplicaSet applied 0)",
      "(Pod applied 0)",
      "Pod applied 2",
      "Pod applied 3",
    ],
    found: [],
  })
})

test("have what comes more than a minute later as changes", async () => {
  const late = { at: 61, gvk: "v1.Secret", name: "late" }
  const { shown } = await itemsOf(trace([...lists, late, { ...late, at: 62, action: "deleted" }]))
  expect(shown.slice(-2)).toEqual(["Secret applied 61", "Secret deleted 62"])
})

test("without events start with their end", async () => {
  expect(await itemsOf(trace([]))).toEqual({ start: begun + 600 * second, shown: [], found: [] })
})

test("are changed only if they start at 0; validation then knows what comes later and is older", async () => {
  const { start, shown, found } = await itemsOf(trace(lists, begun))
  expect([start, shown[0], shown.length]).toEqual([begun, "Pod applied 0", lists.length])
  expect(found).toEqual([])
  const younger = lists.map((line) => (line.gvk === "apps/v1.ReplicaSet" ? { ...line, created: 4 } : line))
  expect((await itemsOf(trace(younger, begun))).found).toEqual(["E0010 2"])
})
