/** The JSON Schema in the documentation matches the lines that are written. */

import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { NdjsonWriter } from "../../../src/trace/formats/ndjson/ndjson-writer.ts"
import type { TraceItem } from "../../../src/trace/trace-item.ts"
import { converted, realTraces } from "./traces.ts"

type Schema = { readonly [keyword: string]: unknown }

const page = readFileSync(new URL("../../../docs/reference/trace-formats.md", import.meta.url), "utf8")
const [, source = ""] = /```json\n(\{\n {2}"\$schema"[\s\S]*?)\n```/.exec(page) ?? []
const schema = JSON.parse(source) as Schema & { readonly $defs: { readonly [name: string]: Schema } }

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value

/** What is wrong with a value, by the keywords that the schema uses; an unknown keyword is an error in the schema. */
const problems = (value: unknown, rules: Schema, at = ""): string[] =>
  Object.entries(rules).flatMap(([keyword, rule]): string[] => {
    const wrong = (isRight: boolean): string[] => (isRight ? [] : [`${at}: ${keyword}`])
    const fields = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>
    switch (keyword) {
      case "$schema":
      case "$defs":
      case "title":
      case "description":
        return []
      case "$ref":
        return problems(value, schema.$defs[String(rule).replace("#/$defs/", "")] ?? { missing: rule }, at)
      case "type":
        return wrong([rule].flat().includes(typeOf(value)))
      case "const":
        return wrong(value === rule)
      case "enum":
        return wrong((rule as unknown[]).includes(value))
      case "pattern":
        return wrong(typeof value === "string" && new RegExp(String(rule)).test(value))
      case "minimum":
        return wrong(Number(value) >= Number(rule))
      case "maximum":
        return wrong(Number(value) <= Number(rule))
      case "required":
        return value === null ? [] : wrong((rule as string[]).every((name) => Object.hasOwn(fields, name)))
      case "items":
        return Array.isArray(value)
          ? value.flatMap((item, index) => problems(item, rule as Schema, `${at}[${index}]`))
          : []
      case "properties":
        return Object.entries(rule as Record<string, Schema>).flatMap(([name, inner]) =>
          Object.hasOwn(fields, name) ? problems(fields[name], inner, `${at}.${name}`) : [],
        )
      case "additionalProperties":
        return Object.entries(fields).flatMap(([name, item]) => problems(item, rule as Schema, `${at}.${name}`))
      case "oneOf":
        return wrong((rule as Schema[]).filter((choice) => problems(value, choice, at).length === 0).length === 1)
      default:
        return [`${at}: the schema has an unknown keyword ${keyword}`]
    }
  })

const linesOf = (bytes: Uint8Array): ReadonlyArray<unknown> =>
  Buffer.from(bytes)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown)

const object = {
  type: "object",
  sequence: 1,
  time: 1,
  gvk: "v1.Pod",
  action: "applied",
  uid: "u",
  namespace: "a",
  name: "b",
  resourceVersion: "1",
  object: Buffer.from("{}"),
} as const
const gap = {
  type: "gap",
  sequence: 3,
  time: 3,
  gvk: "v1.Pod",
  namespace: "shop",
  fromVersion: "1",
  toVersion: "",
  fromTime: 1,
  toTime: 3,
  reason: "expired",
  detail: "",
} as const
const every: ReadonlyArray<Exclude<TraceItem, { type: "header" }>> = [
  { type: "config", config: Buffer.from('{"trackedObjects":{"v1.Pod":{}}}') },
  { type: "batch", time: 1 },
  { type: "event", event: object, isSnapshot: true },
  { type: "event", event: { ...object, action: "deleted" }, isSnapshot: false },
  { type: "event", event: { ...object, action: "vanished", object: new Uint8Array() }, isSnapshot: false },
  { type: "event", event: gap, isSnapshot: false },
  { type: "index", gvk: "v1.Pod", name: "a/b", hash: 2n ** 64n - 1n },
  {
    type: "lifecycles",
    gvk: "v1.Pod",
    owner: "a/b",
    pods: new Map([
      [7n, [{ state: "empty" }, { state: "running", start: 1 }, { state: "finished", start: 1, end: 2 }]],
    ]),
  },
]

describe("the schema of NDJSON lines", () => {
  test("matches every sort of line, each as exactly one sort", () => {
    const header = {
      window: { start: 0, end: 9 },
      cut: 3,
      kinds: ["v1.Pod"],
      incomplete: [{ gvk: "v1.Pod", state: "listing" }],
    }
    for (const sanitised of ["none", "simkube", "replay"] as const) {
      const writer = new NdjsonWriter({
        ...header,
        sanitised,
        withoutStatus: ["v1.Service"],
        livesFrom: 0,
        clusterUid: "c5",
      })
      for (const item of every) writer.addItem(item)
      const lines = linesOf(writer.end())
      expect(lines).toHaveLength(every.length + 2)
      for (const line of lines) expect(problems(line, schema)).toEqual([])
    }
  })

  test.each(realTraces.filter(([, , isPublished]) => !isPublished))("matches the lines of %s", async (_, read) => {
    for (const line of linesOf((await converted(read(), "simkube", "ndjson")).bytes))
      expect(problems(line, schema)).toEqual([])
  })

  test.each([
    {},
    { end: {} },
    { index: { gvk: "v1.Pod", name: "a", hash: 5 } },
    { batch: { time: 1.5 } },
    { sequence: 1, time: 1, action: "created", gvk: "v1.Pod", uid: "", namespace: "", name: "", resourceVersion: "" },
    { format: "kubereel", version: 2, window: null, cut: 0, kinds: [], incomplete: [] },
  ])("does not match %j", (line) => {
    expect(problems(line, schema)).not.toEqual([])
  })
})
