/** What counts as present, what is one event, and what a long trace costs. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, test } from "vitest"
import type { TraceItem } from "../../src/trace/index.ts"
import type { Rule } from "../../src/validation/rule.ts"
import { rules } from "../../src/validation/rules.ts"
import { TraceValidation } from "../../src/validation/trace-validation.ts"
import { container, deployment, foundBy, itemsOf, object, reportOf } from "./traces.ts"

const web = deployment({ serviceAccountName: "robot" })
const robot = object("v1.ServiceAccount", "robot")
const once = ["apps/v1.Deployment shop/web: ServiceAccount robot ×1"]

const check = (items: Iterable<TraceItem>, mostFindings?: number) => {
  const validation = new TraceValidation({ namespacePrefix: "virtual", ...(mostFindings && { mostFindings }) })
  for (const item of items) validation.add(item)
  return validation.finish()
}

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

describe("what is present", () => {
  test("is what was applied in the same event, in any order, or in an earlier one", () => {
    expect(foundBy("E0001", [{ applied: [web, robot] }])).toEqual([])
    expect(foundBy("E0001", [{ applied: [robot] }, {}, { applied: [web] }])).toEqual([])
  })

  test("is what comes in a later event, for which controllers and kubelets wait", () => {
    expect(foundBy("E0001", [{ applied: [web] }, {}, { applied: [robot] }])).toEqual([])
    expect(foundBy("E0001", [{ applied: [web] }, { applied: [robot] }, { deleted: [robot] }])).toEqual([])
  })

  test("is no owner that comes in a later event, and is not older: it is another object of that name", () => {
    const parent = { apiVersion: "v1", kind: "ServiceAccount", name: "robot", uid: "1" }
    const child = object("v1.ConfigMap", "child", { metadata: { name: "child", ownerReferences: [parent] } })
    const created = (time: string) =>
      object("v1.ServiceAccount", "robot", { metadata: { name: "robot", creationTimestamp: time } })
    expect(foundBy("E0010", [{ applied: [child] }, { applied: [created("2099-01-01T00:00:00Z")] }])).toHaveLength(1)
    expect(foundBy("E0010", [{ applied: [child] }, { applied: [created("1999-01-01T00:00:00Z")] }])).toEqual([])
  })

  test("is not what was deleted, until it is applied again", () => {
    const gone = [{ applied: [robot] }, { deleted: [robot] }]
    expect(foundBy("E0001", [...gone, { applied: [web] }])).toEqual(once)
    expect(foundBy("E0001", [...gone, { applied: [robot] }, { applied: [web] }])).toEqual([])
  })

  test("is what is deleted at the end of the same event", () => {
    expect(foundBy("E0001", [{ applied: [robot] }, { applied: [web], deleted: [robot] }])).toEqual([])
  })

  test("does not matter to objects that are being deleted, which still exist for others", () => {
    const metadata = { deletionTimestamp: "2026-11-21T09:38:03Z" }
    expect(
      foundBy("E0001", [{ applied: [{ ...web, metadata: { ...(web.metadata as object), ...metadata } }] }]),
    ).toEqual([])
    const going = { ...robot, metadata: { ...(robot.metadata as object), ...metadata } }
    expect(foundBy("E0001", [{ applied: [web, going] }])).toEqual([])
  })

  test("is said of the time of each state: only the states without count", () => {
    const events = [
      { applied: [web, robot] },
      { applied: [web] },
      { deleted: [robot] },
      { applied: [web] },
      {},
      { applied: [web] },
    ]
    expect(foundBy("E0001", events)).toEqual(["apps/v1.Deployment shop/web: ServiceAccount robot ×2"])
  })
})

describe("events of traces that have none", () => {
  const parent = { apiVersion: "v1", kind: "ServiceAccount", name: "robot", uid: "1" }
  const child = object("v1.ConfigMap", "child", { metadata: { name: "child", ownerReferences: [parent] } })
  const unbatched = (times: ReadonlyArray<number>, isSnapshot: boolean): ReadonlyArray<TraceItem> =>
    itemsOf([{ applied: [child, robot] }])
      .filter(({ type }) => type === "event")
      .map((item, index) =>
        item.type === "event" ? { ...item, isSnapshot, event: { ...item.event, time: times[index] ?? 0 } } : item,
      )
  const found = (times: ReadonlyArray<number>, isSnapshot = false): boolean =>
    check(unbatched(times, isSnapshot)).rules.some(({ rule }) => rule.code === "E0010")

  test("are whole seconds", () => {
    expect(found([5_000_000, 5_999_999])).toBe(false)
    expect(found([5_999_999, 6_000_000])).toBe(true)
  })

  test("are the objects at the start together, whenever they were received", () => {
    expect(found([5_000_000, 90_000_000], true)).toBe(false)
  })
})

describe("a report", () => {
  test("names kinds that are missing and of which there is no object at all", () => {
    const spec = { ...container({ envFrom: [{ secretRef: { name: "a" } }] }), serviceAccountName: "x" }
    const events = [{ applied: [deployment(spec), robot, object("v1.Namespace", "shop", {}, "")] }]
    expect(reportOf(events).unrecordedKinds).toEqual(["Secret"])
  })

  test("names the kinds of owners that a recorder's own trace does not record, whose objects are not missing", () => {
    const owner = (kind: string) => ({ apiVersion: "apps/v1", kind, name: "web", uid: "u" })
    const pod = (name: string, kind: string) => object("v1.Pod", name, { metadata: { ownerReferences: [owner(kind)] } })
    const applied = [
      pod("a", "ReplicaSet"),
      pod("b", "StatefulSet"),
      pod("c", "DaemonSet"),
      object("apps/v1.ReplicaSet", "other"),
    ]
    const [header, ...items] = itemsOf([{ applied }])
    const kinds = ["v1.Pod", "apps/v1.ReplicaSet", "apps/v1.DaemonSet"]
    const whole = { ...header, kinds, sanitised: "none", window: { start: 0, end: 1 } } as TraceItem
    const { rules, notLookedFor } = check([whole, ...items])
    const found = rules.filter(({ rule }) => rule.code === "E0010").flatMap(({ findings }) => findings)
    expect([found.map(({ kind }) => kind), notLookedFor]).toEqual([
      ["apps/ReplicaSet", "apps/DaemonSet"],
      ["apps/StatefulSet"],
    ])
    expect(reportOf([{ applied }]).notLookedFor).toEqual([])
  })

  test("counts references that it cannot wait for, because too many are open", () => {
    const secrets = Array.from({ length: 50_002 }, (_, index) => ({ secretRef: { name: `secret-${index}` } }))
    const given = [{ applied: [deployment(container({ envFrom: secrets }))] }]
    // And the namespace.
    expect(reportOf(given).notAwaited).toBe(3)
    expect(reportOf([{ applied: [web] }]).notAwaited).toBe(0)
  })

  test("counts what was checked, and what was no object", () => {
    const [event] = itemsOf([{ applied: [web] }]).filter(({ type }) => type === "event")
    if (event?.type !== "event" || event.event.type !== "object") throw new Error("no event")
    const broken = ["[]", "{", ""].map((text) => ({ ...event, event: { ...event.event, object: Buffer.from(text) } }))
    expect(check([event, ...(broken as TraceItem[])])).toMatchObject({ states: 4, unreadable: 3, deletions: 0 })
  })

  test("keeps a limited number of findings for each rule, and counts the rest", () => {
    const applied = Array.from({ length: 10 }, (_, index) => deployment({ serviceAccountName: "x" }, `web-${index}`))
    const [accounts] = check(itemsOf([{ applied }]), 4).rules
    expect(accounts).toMatchObject({ rule: { code: "E0001" }, unlisted: 6 })
    expect(accounts?.findings).toHaveLength(4)
  })

  test("does not grow with the length of the trace", () => {
    const padding = "x".repeat(2000)
    const items = function* (): Generator<TraceItem> {
      for (let second = 0; second < 10_000; second++)
        yield* itemsOf([{ applied: [deployment({ serviceAccountName: "x", hostname: `${second}${padding}` })] }])
    }
    const validation = new TraceValidation({ namespacePrefix: "virtual" })
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (const item of items()) validation.add(item)
    const { rules: found, states } = validation.finish()
    collectGarbage()
    expect(states).toBe(10_000)
    expect(found.map(({ findings }) => findings.length)).toEqual([1, 1])
    // The states have 20 MB as text.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(6_000_000)
    expect(validation.findings.has(rules[0] as Rule, "")).toBe(false)
  })
})

test("rules have unique codes and names, and the letter of their severity", () => {
  expect(new Set(rules.flatMap(({ code, name }) => [code, name])).size).toBe(2 * rules.length)
  for (const [index, { code, severity }] of rules.entries())
    expect(code).toBe(`${severity === "error" ? "E" : "W"}${String(index).padStart(4, "0")}`)
})
