import * as Schema from "effect/Schema"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Action, ObjectEvent } from "../../src/trace/event.ts"
import {
  compileFilters,
  EventFilter,
  ExportFilters,
  InvalidSelectorError,
  type JsonObject,
  labelsOf,
} from "../../src/trace/index.ts"

const labels = (excluded_labels: ReadonlyArray<unknown>) => compileFilters({ excluded_namespaces: [], excluded_labels })

const failure = (selectors: ReadonlyArray<unknown>): InvalidSelectorError => {
  try {
    labels(selectors)
  } catch (error) {
    if (error instanceof InvalidSelectorError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

describe("the filters of an export", () => {
  test("exclude namespaces by exact name", () => {
    const filters = compileFilters({ excluded_namespaces: ["kube-system", ""], excluded_labels: [] })
    expect(["kube-system", "kube-system-2", "a", ""].map((name) => filters.excludesNamespace(name))).toEqual([
      true,
      false,
      false,
      true,
    ])
    expect(filters.needsLabels).toBe(false)
    expect(filters.excludesLabels({ app: "web" })).toBe(false)
  })

  const web = { app: "web", tier: "front" }
  test.each<[string, unknown, unknown, boolean]>([
    ["an empty selector matches everything", {}, undefined, true],
    ["nulls ask for nothing", { matchLabels: null, matchExpressions: null }, web, true],
    ["matchLabels: equal", { matchLabels: { app: "web" } }, web, true],
    ["matchLabels: other value", { matchLabels: { app: "db" } }, web, false],
    ["matchLabels: absent", { matchLabels: { x: "y" } }, web, false],
    ["matchLabels: all must hold", { matchLabels: { app: "web", x: "y" } }, web, false],
    ["matchLabels: not from the prototype", { matchLabels: { constructor: "x" } }, {}, false],
    ["In: among", { matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] }, web, true],
    ["In: not among", { matchExpressions: [{ key: "app", operator: "In", values: ["db"] }] }, web, false],
    ["In: absent", { matchExpressions: [{ key: "x", operator: "In", values: ["db"] }] }, web, false],
    ["NotIn: among", { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, web, false],
    ["NotIn: not among", { matchExpressions: [{ key: "app", operator: "NotIn", values: ["db"] }] }, web, true],
    ["NotIn: absent", { matchExpressions: [{ key: "x", operator: "NotIn", values: ["db"] }] }, web, true],
    [
      "NotIn: no labels at all",
      { matchExpressions: [{ key: "x", operator: "NotIn", values: ["db"] }] },
      undefined,
      true,
    ],
    ["Exists: present", { matchExpressions: [{ key: "app", operator: "Exists" }] }, web, true],
    ["Exists: absent", { matchExpressions: [{ key: "x", operator: "Exists", values: [] }] }, web, false],
    ["DoesNotExist: present", { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, web, false],
    ["DoesNotExist: absent", { matchExpressions: [{ key: "x", operator: "DoesNotExist", values: null }] }, web, true],
    [
      "labels and expressions must both hold",
      { matchLabels: { app: "web" }, matchExpressions: [{ key: "x", operator: "Exists" }] },
      web,
      false,
    ],
  ])("%s", (_, selector, object, expected) => {
    expect(labels([selector]).excludesLabels(object as Record<string, string> | undefined)).toBe(expected)
  })

  test("exclude what any selector matches", () => {
    const filters = labels([{ matchLabels: { app: "db" } }, { matchLabels: { tier: "front" } }])
    expect(filters.excludesLabels(web)).toBe(true)
    expect(filters.excludesLabels({ tier: "back" })).toBe(false)
  })

  test("agree with the definition for any selector and labels", () => {
    const name = fc.constantFrom("a", "b", "__proto__", "toString")
    const value = fc.constantFrom("x", "y", "z")
    const expression = fc.oneof(
      fc.record({
        key: name,
        operator: fc.constantFrom("In", "NotIn"),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ key: name, operator: fc.constantFrom("Exists", "DoesNotExist"), values: fc.constant<string[]>([]) }),
    )
    const own = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((entries) => new Map(entries))
    fc.assert(
      fc.property(fc.array(fc.array(expression, { maxLength: 3 }), { maxLength: 3 }), own, (selectors, object) => {
        const expected = selectors.some((expressions) =>
          expressions.every(({ key, operator, values }) => {
            const found = object.get(key)
            if (operator === "In") return found !== undefined && values.includes(found)
            if (operator === "NotIn") return found === undefined || !values.includes(found)
            return (found !== undefined) === (operator === "Exists")
          }),
        )
        const filters = labels(selectors.map((matchExpressions) => ({ matchExpressions })))
        expect(filters.excludesLabels(Object.fromEntries(object))).toBe(expected)
      }),
    )
  })

  test.each<[string, unknown, string]>([
    [
      "an unknown operator",
      { key: "app", operator: "in", values: ["x"] },
      'operator "in"; allowed: In, NotIn, Exists, DoesNotExist',
    ],
    ["In without values", { key: "app", operator: "In", values: [] }, "In with 0 values; allowed: one value or more"],
    ["NotIn without values", { key: "app", operator: "NotIn" }, "NotIn with 0 values; allowed: one value or more"],
    [
      "Exists with values",
      { key: "app", operator: "Exists", values: ["x"] },
      "Exists with 1 values; allowed: no values",
    ],
    [
      "DoesNotExist with values",
      { key: "app", operator: "DoesNotExist", values: ["x"] },
      "DoesNotExist with 1 values; allowed: no values",
    ],
  ])("refuse %s at once, naming the selector (W-08)", (_, expression, rest) => {
    const fine = { key: "a", operator: "Exists" }
    expect(failure([{}, { matchExpressions: [fine, expression] }]).message).toBe(
      `excluded_labels[1].matchExpressions[1]: ${rest}`,
    )
  })

  test.each([null, "app=web", { matchLabels: { app: 1 } }, { matchExpressions: [{ key: "app" }] }])(
    "refuse what is no selector: %j",
    (selector) => {
      const error = failure([selector])
      expect(error).toMatchObject({ selector: 0, allowed: "a LabelSelector (matchLabels, matchExpressions)" })
      expect(error.message).toMatch(/^excluded_labels\[0\]: \S.*; allowed: a LabelSelector/)
    },
  )

  test("have a schema that ignores unknown fields, as SimKube does, and knows the two required ones", () => {
    const decode = Schema.decodeUnknownSync(ExportFilters)
    const filters = { excluded_namespaces: ["a"], excluded_labels: [{ matchLabels: { app: "web" } }] }
    expect(decode({ ...filters, other: 1 })).toEqual(filters)
    expect(() => decode({ excluded_namespaces: [] })).toThrow()
    expect(() => decode({ ...filters, excluded_namespaces: [1] })).toThrow()
  })
})

describe("judging events", () => {
  const event = (action: Action, uid: string, namespace = "a"): ObjectEvent => ({
    type: "object",
    sequence: 1,
    time: 1,
    gvk: "v1.Pod",
    action,
    uid,
    namespace,
    name: uid,
    resourceVersion: "1",
    object: new Uint8Array(0),
  })
  const labelled = (own: Record<string, string>) => (): JsonObject => ({ metadata: { labels: own } })
  const never = (): JsonObject => {
    throw new Error("no object is needed here")
  }

  test("no object is parsed when labels do not matter", () => {
    const filter = new EventFilter(compileFilters({ excluded_namespaces: ["kube-system"], excluded_labels: [] }))
    expect(filter.excludes(event("applied", "u"), never)).toBe(false)
    expect(filter.excludes(event("deleted", "u", "kube-system"), never)).toBe(true)
    const byLabel = new EventFilter(compileFilters({ excluded_namespaces: ["kube-system"], excluded_labels: [{}] }))
    expect(byLabel.excludes(event("applied", "u", "kube-system"), never)).toBe(true)
  })

  test("a deletion is judged by the object's last state (W-11)", () => {
    const filter = new EventFilter(labels([{ matchLabels: { app: "web" } }]))
    expect(filter.excludes(event("applied", "u"), labelled({ app: "web" }))).toBe(true)
    expect(filter.excludes(event("deleted", "u"), labelled({ app: "web" }))).toBe(true)
    const without = new EventFilter(labels([{ matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }]))
    expect(without.excludes(event("applied", "u"), labelled({ app: "web" }))).toBe(false)
    expect(without.excludes(event("deleted", "u"), labelled({ app: "web" }))).toBe(false)
  })

  test("a vanished object keeps the verdict it had, once", () => {
    const filter = new EventFilter(labels([{ matchLabels: { app: "web" } }]))
    filter.excludes(event("applied", "out"), labelled({ app: "web" }))
    filter.excludes(event("applied", "changed"), labelled({ app: "web" }))
    filter.excludes(event("applied", "changed"), labelled({ app: "db" }))
    filter.excludes(event("applied", "dead"), labelled({ app: "web" }))
    filter.excludes(event("deleted", "dead"), labelled({ app: "web" }))
    const verdicts = ["out", "changed", "dead", "never-seen", "out"].map((uid) =>
      filter.excludes(event("vanished", uid), never),
    )
    expect(verdicts).toEqual([true, false, false, false, false])
  })

  test("labels of an object without metadata are none", () => {
    expect(labelsOf({})).toBeUndefined()
    expect(labelsOf({ metadata: { labels: null } })).toBeUndefined()
    expect(labelsOf({ metadata: { labels: { a: "b" } } })).toEqual({ a: "b" })
  })
})
