/** A repaired trace has nothing left that can be repaired, and lost nothing else. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { simkubeHash, type TraceItem } from "../../src/trace/index.ts"
import { repairing } from "../../src/validation/repair.ts"
import { TraceValidation } from "../../src/validation/trace-validation.ts"
import { rounds } from "../harness/effort.ts"
import { anyEvents } from "./any-trace.ts"
import { type Body, container, deployment, itemsOf, object } from "./traces.ts"

const options = { namespacePrefix: "virtual", mostFindings: Number.POSITIVE_INFINITY }

const validated = (items: ReadonlyArray<TraceItem>): TraceValidation => {
  const validation = new TraceValidation(options)
  for (const item of items) validation.add(item)
  return validation
}

/** Findings that have a fix. */
const fixable = (items: ReadonlyArray<TraceItem>): ReadonlyArray<string> =>
  validated(items)
    .finish()
    .rules.filter(({ rule }) => rule.fix !== undefined)
    .map(({ rule }) => rule.code)

const repaired = (
  items: ReadonlyArray<TraceItem>,
): { readonly items: ReadonlyArray<TraceItem>; readonly states: number } => {
  const validation = validated(items)
  validation.finish()
  const counts = { states: 0 }
  const { filtered } = repairing(validation.findings, options, counts)
  return { items: items.map((item) => filtered(item) ?? item), states: counts.states }
}

const bodies = (items: ReadonlyArray<TraceItem>): ReadonlyArray<Body> =>
  items.flatMap((item) =>
    item.type === "event" && item.event.type === "object"
      ? [JSON.parse(Buffer.from(item.event.object).toString()) as Body]
      : [],
  )

const repairedFirst = (body: Body, ...others: ReadonlyArray<Body>): Body | undefined =>
  bodies(repaired(itemsOf([{ applied: [body, ...others] }])).items)[0]

describe("a repair", () => {
  test("leaves nothing that has a fix, and repairs nothing twice", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const once = repaired(itemsOf(events))
        expect(fixable(once.items)).toEqual([])
        const twice = repaired(once.items)
        expect(twice.states).toBe(0)
        expect(twice.items).toEqual(once.items)
      }),
      { numRuns: rounds(600) },
    )
  })

  test("changes nothing in a trace without findings", () => {
    const items = itemsOf([{ applied: [deployment({ serviceAccountName: "a" }), object("v1.ServiceAccount", "a")] }])
    expect(repaired(items)).toEqual({ items, states: 0 })
  })

  test("removes a volume with its mounts, and keeps the others", () => {
    const spec = (volumes: ReadonlyArray<Body>, mounts: ReadonlyArray<string>): Body => ({
      volumes,
      containers: [{ name: "app", volumeMounts: mounts.map((name) => ({ name })) }],
      initContainers: [{ name: "init", volumeMounts: mounts.map((name) => ({ name })) }],
    })
    const kept = { name: "kept", emptyDir: {} }
    const lost = { name: "lost", secret: { secretName: "x" } }
    expect(repairedFirst(deployment(spec([lost, kept], ["lost", "kept"])))).toEqual(deployment(spec([kept], ["kept"])))
  })

  test("removes only the missing source of a projected volume", () => {
    const spec = (sources: ReadonlyArray<Body>): Body => ({ volumes: [{ name: "v", projected: { sources } }] })
    const sources = [{ secret: { name: "there" } }, { secret: { name: "gone" } }, { serviceAccountToken: {} }]
    expect(repairedFirst(deployment(spec(sources)), object("v1.Secret", "there"))).toEqual(
      deployment(spec(sources.filter((_, index) => index !== 1))),
    )
  })

  test("keeps an optional variable of the same Secret", () => {
    const optional = { name: "B", valueFrom: { secretKeyRef: { name: "x", key: "k", optional: true } } }
    const required = { name: "A", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }
    expect(repairedFirst(deployment(container({ env: [required, optional] })))).toEqual(
      deployment(container({ env: [optional] })),
    )
  })

  test("removes what contradicts a removed class", () => {
    const spec = {
      priorityClassName: "x",
      priority: 7,
      runtimeClassName: "y",
      overhead: { cpu: "1" },
      hostNetwork: true,
    }
    expect(repairedFirst(deployment(spec))).toEqual(deployment({ hostNetwork: true }))
  })

  test("keeps numbers that JavaScript would round", () => {
    const text =
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{"big":9007199254740993,"float":1.0},"status":{}}'
    const [header, config, batch, event] = itemsOf([{ applied: [object("v1.Pod", "p")] }])
    if (event?.type !== "event" || event.event.type !== "object") throw new Error("no event")
    const exact: TraceItem = { ...event, event: { ...event.event, object: Buffer.from(text) } }
    const items = [header, config, batch, exact].filter((item) => item !== undefined)
    const last = repaired(items).items.at(-1)
    if (last?.type !== "event" || last.event.type !== "object") throw new Error("no event")
    expect(Buffer.from(last.event.object).toString()).toBe(text.replace(',"status":{}', ""))
  })

  test("computes the index of changed objects again, from their last spec", () => {
    const index = (name: string): TraceItem => ({ type: "index", gvk: "apps/v1.Deployment", name, hash: 1n })
    const hashIn = (events: Parameters<typeof itemsOf>[0]) => {
      const { items } = repaired([...itemsOf(events), index("shop/web"), index("shop/other")])
      return items.flatMap((item) => (item.type === "index" ? [item.hash] : []))
    }
    const broken = deployment({ serviceAccountName: "x" })
    const whole = deployment({ hostNetwork: true })
    expect(hashIn([{ applied: [broken] }])).toEqual([simkubeHash({ template: { spec: {} } }), 1n])
    expect(hashIn([{ applied: [broken] }, { applied: [whole] }])).toEqual([
      simkubeHash({ template: { spec: { hostNetwork: true } } }),
      1n,
    ])
    expect(hashIn([{ applied: [whole] }])).toEqual([1n, 1n])
  })
})
