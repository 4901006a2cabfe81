import * as Schema from "effect/Schema"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Action, ObjectEvent } from "../../../src/trace/event.ts"
import {
  compileFilters,
  ExportFilters,
  FilteredView,
  InvalidSelectorError,
  type JsonObject,
  labelsOf,
} from "../../../src/trace/index.ts"
import { compileGlobs } from "../../../src/trace/selection/filters.ts"
import { rounds } from "../../harness/effort.ts"

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
    const name = fc.constantFrom("a", "b", "constructor", "toString")
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
  ])("reject %s at once, naming the selector (W-08)", (_, expression, rest) => {
    const fine = { key: "a", operator: "Exists" }
    expect(failure([{}, { matchExpressions: [fine, expression] }]).message).toBe(
      `excluded_labels[1].matchExpressions[1]: ${rest}`,
    )
  })

  test.each([
    null,
    7,
    { matchLabels: { app: 1 } },
    { matchExpressions: [{ key: "app" }] },
    { matchLabel: { app: "web" } },
    { matchLabels: { "a b": "web" } },
    { matchLabels: { app: "é" } },
  ])("reject an invalid selector: %j", (selector) => {
    const error = failure([selector])
    expect(error.place).toContain("excluded_labels[0]")
    expect(error.message).toMatch(/^excluded_labels\[0\].*: \S.*; allowed: \S/)
  })

  test("have a schema that ignores unknown fields, as SimKube does, and knows the two required ones", () => {
    const decode = Schema.decodeUnknownSync(ExportFilters)
    const filters = { excluded_namespaces: ["a"], excluded_labels: [{ matchLabels: { app: "web" } }] }
    expect(decode({ ...filters, other: 1 })).toEqual(filters)
    expect(() => decode({ excluded_namespaces: [] })).toThrow()
    expect(() => decode({ ...filters, excluded_namespaces: [1] })).toThrow()
  })
})

describe("the contents of an export", () => {
  const none = { excluded_namespaces: [], excluded_labels: [] }

  test("are chosen by namespace, kind and name, as patterns; what is excluded stays excluded", () => {
    const filters = compileFilters({
      ...none,
      namespaces: ["shop-*", "kube-system"],
      excluded_namespaces: ["shop-test"],
      kinds: ["apps/v1.*"],
      excluded_kinds: ["apps/v1.ReplicaSet"],
      names: ["web*", "kube-system/dns"],
      excluded_names: ["*/web-old"],
    })
    expect(
      ["shop-a", "shop-test", "kube-system", "", "default"].filter((name) => !filters.excludesNamespace(name)),
    ).toEqual(["shop-a", "kube-system"])
    expect(["apps/v1.Deployment", "apps/v1.ReplicaSet", "v1.Pod"].filter((gvk) => !filters.excludesKind(gvk))).toEqual([
      "apps/v1.Deployment",
    ])
    const shown = [
      ["shop-a", "web-1"],
      ["shop-a", "dns"],
      ["kube-system", "dns"],
      ["shop-a", "web-old"],
      ["default", "web-1"],
    ].filter(([namespace = "", name = ""]) => !filters.excludesName(namespace, name))
    expect(shown).toEqual([
      ["shop-a", "web-1"],
      ["kube-system", "dns"],
    ])
  })

  test("are chosen by labels if labels are given, otherwise not", () => {
    const web = compileFilters({
      ...none,
      labels: ["app=web", { matchLabels: { app: "db" } }],
      excluded_labels: ["old"],
    })
    expect([{ app: "web" }, { app: "db" }, { app: "x" }, undefined].map((own) => web.excludesLabels(own))).toEqual([
      false,
      false,
      true,
      true,
    ])
    expect(web.excludesLabels({ app: "web", old: "" })).toBe(true)
    expect(compileFilters({ ...none, labels: [], names: [], kinds: [] }).excludesLabels({})).toBe(false)
    expect(compileFilters(none).excludesLabels({})).toBe(false)
  })
})

describe("a selector's text", () => {
  test.each<[string, Record<string, string>, boolean]>([
    ["", {}, true],
    ["app", { app: "" }, true],
    ["!app", { app: "" }, false],
    ["app=web", { app: "web" }, true],
    ["app==web,tier != db", { app: "web" }, true],
    ["app=web,tier!=db", { app: "web", tier: "db" }, false],
    ["app in (web, db),example.com/a_b", { app: "db", "example.com/a_b": "1" }, true],
    ["app notin (web,db)", { app: "db" }, false],
    ["app notin (web,db)", {}, true],
    ["app=", { app: "" }, true],
    ["app=", { app: "x" }, false],
    ["level>1,level<10", { level: "9" }, true],
    ["level>1", { level: "1" }, false],
    ["level<1", {}, false],
    ["level>1", { level: "x" }, false],
  ])("%j of %j: %s", (text, own, expected) => {
    expect(labels([text]).excludesLabels(own)).toBe(expected)
  })

  // The API server rejects these with 400.
  test.each([
    "app=a b",
    "=x",
    "app in web",
    "app in (a",
    "app>x",
    "a=b,,c",
    "app in (a,b)c",
    "app=$x",
    "k8s.io/a/b=1",
    "/a=1",
    "a/",
    "-a",
    "a-",
    "a=-1",
    "a=1.",
    `a=${"x".repeat(64)}`,
    `${"x".repeat(64)}=a`,
    `${"x".repeat(254)}/a=1`,
  ])("that is invalid is rejected and quoted: %j", (text) => {
    const error = failure(["app", text])
    expect(error.place).toContain("excluded_labels[1]")
    expect(error.message).toContain(JSON.stringify(text).slice(0, 200))
  })

  test("of any length is rejected in no time", () => {
    expect(failure(["a,".repeat(90_000)]).message).toMatch(/180000 characters; allowed: at most 16384/)
    expect(() => labels([`a in (${"x,".repeat(8000)}y)`])).not.toThrow()
  })

  test("means the same as its structured form", () => {
    const name = fc.constantFrom("a", "b.example.com/c")
    const value = fc.constantFrom("x", "y", "")
    const term = fc.oneof(
      fc.tuple(name, fc.constantFrom("In", "NotIn"), fc.array(value, { minLength: 1, maxLength: 3 })),
      fc.tuple(name, fc.constantFrom("Exists", "DoesNotExist"), fc.constant<Array<string>>([])),
    )
    const written = ([key, operator, values]: [string, string, Array<string>]): string =>
      operator === "Exists"
        ? key
        : operator === "DoesNotExist"
          ? `!${key}`
          : `${key} ${operator.toLowerCase()} (${values.join(", ")})`
    fc.assert(
      fc.property(fc.array(term, { maxLength: 3 }), fc.dictionary(name, value), (terms, own) => {
        const structure = { matchExpressions: terms.map(([key, operator, values]) => ({ key, operator, values })) }
        const text = terms.map(written).join(",")
        expect(labels([text]).excludesLabels(own)).toBe(labels([structure]).excludesLabels(own))
      }),
    )
  })
})

describe("a pattern", () => {
  test("matches the same as the equivalent regular expression", () => {
    const letter = fc.constantFrom("a", "b", "*", "?")
    const pattern = fc.array(letter, { maxLength: 7 }).map((each) => each.join(""))
    const name = fc.array(fc.constantFrom("a", "b", "*"), { maxLength: 7 }).map((each) => each.join(""))
    fc.assert(
      fc.property(pattern, name, (glob, text) => {
        const expected = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`).test(text)
        const exact = !/[*?]/.test(glob) && glob === text
        expect(compileGlobs([glob])(text)).toBe(expected || exact)
      }),
      { numRuns: rounds(1000) },
    )
  })

  test("with many stars is rejected in no time", () => {
    expect(compileGlobs([`${"a*".repeat(100)}b`])("a".repeat(5000))).toBe(false)
  })
})

describe("a filtered view", () => {
  const event = (action: Action, uid: string): ObjectEvent => ({
    type: "object",
    sequence: 1,
    time: 1,
    gvk: "v1.Pod",
    action,
    uid,
    namespace: "a",
    name: uid,
    resourceVersion: "1",
    object: new Uint8Array(0),
  })
  const labelled = (own: Record<string, string>) => (): JsonObject => ({ metadata: { labels: own } })
  const never = (): JsonObject => {
    throw new Error("no object is needed here")
  }
  const without = (selector: unknown): FilteredView => {
    const filters = labels([selector])
    return new FilteredView((_, object) => filters.excludesLabels(labelsOf(object())))
  }

  test("shows the deletion of what it has shown, and of nothing else (W-11)", () => {
    const view = without("app=web")
    expect(view.of(event("applied", "in"), labelled({}))).toBe("shown")
    expect(view.of(event("applied", "out"), labelled({ app: "web" }))).toBe("hidden")
    expect(view.of(event("deleted", "in"), never)).toBe("shown")
    expect(view.of(event("vanished", "out"), never)).toBe("hidden")
    // Not seen before: judged by the last state, or, without one, like any other object.
    expect(view.of(event("deleted", "unseen"), labelled({ app: "web" }))).toBe("hidden")
    expect(view.of(event("vanished", "unseen"), never)).toBe("shown")
  })

  test("emits an object that stops matching as deleted, once, and shows it again when it matches again", () => {
    const view = without("app=web")
    const seen = [{}, { app: "web" }, { app: "web" }, {}, { app: "web" }].map((own) =>
      view.of(event("applied", "u"), labelled(own as Record<string, string>)),
    )
    expect(seen).toEqual(["shown", "gone", "hidden", "shown", "gone"])
    expect(view.of(event("deleted", "u"), never)).toBe("hidden")
    expect(view.of(event("applied", "u"), labelled({}))).toBe("shown")
  })

  test("is at any moment what the filter would choose from all live objects", () => {
    const uid = fc.constantFrom("u", "v", "w")
    const change = fc.oneof(
      fc.tuple(fc.constant<Action>("applied"), uid, fc.boolean()),
      fc.tuple(fc.constantFrom<Action>("deleted", "vanished"), uid, fc.boolean()),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const view = without("app=web")
        const alive = new Map<string, boolean>()
        const shown = new Set<string>()
        for (const [action, which, isOut] of changes) {
          if (action !== "applied" && !alive.has(which)) continue
          if (action === "applied") alive.set(which, !isOut)
          else alive.delete(which)
          const showing = view.of(event(action, which), labelled(isOut ? { app: "web" } : {}))
          if (showing === "gone" || (showing === "shown" && action !== "applied")) {
            expect(shown.delete(which)).toBe(true)
          } else if (showing === "shown") shown.add(which)
          expect([...shown].sort()).toEqual([...alive].flatMap(([each, isIn]) => (isIn ? [each] : [])).sort())
        }
      }),
    )
  })

  test("labels of an object without metadata are none", () => {
    expect(labelsOf({})).toBeUndefined()
    expect(labelsOf({ metadata: { labels: null } })).toBeUndefined()
    expect(labelsOf({ metadata: { labels: { a: "b" } } })).toEqual({ a: "b" })
  })
})
