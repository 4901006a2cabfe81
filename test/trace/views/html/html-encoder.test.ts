/** A page that shows a trace to people: what is on it, that it is bounded, and that nothing in a trace can break it. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { htmlEncoder } from "../../../../src/trace/views/html/html-encoder.ts"
import { type Described, encoded, epoch, event, gap, header, ownedBy, timeText } from "../items.ts"
import { checkPage } from "./checked-page.ts"

const pageOf = (...items: ReadonlyArray<TraceItem>): string => encoded(htmlEncoder(), items).toString()

/** The lines of the text that are not empty. */
const linesOf = (page: string): ReadonlyArray<string> =>
  checkPage(page)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

const deployment: Described = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop", uid: "d" },
  spec: { replicas: 1 },
}
const pod = (status: object): Described =>
  ownedBy(
    { apiVersion: "v1", kind: "Pod", metadata: { name: "web-x", namespace: "shop", uid: "p" }, spec: {}, status },
    deployment,
  )
const node: Described = { apiVersion: "v1", kind: "Node", metadata: { name: "node-1", uid: "n" } }

describe("a page", () => {
  const items = [
    header(0, 60),
    event("existed", -5, deployment),
    event("applied", 1, node),
    event("applied", 2, pod({ phase: "Pending" })),
    event(
      "applied",
      4,
      pod({
        phase: "Running",
        containerStatuses: [{ name: "main", state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } } }],
      }),
    ),
    event("applied", 10, { ...deployment, spec: { replicas: 3, paused: true } }),
    event("deleted", 30, pod({ phase: "Failed", reason: "Evicted" })),
  ]

  test("has a time line with a row for each object, by namespace and owner", () => {
    const lines = linesOf(pageOf(...items))
    const rows = lines.slice(lines.indexOf("Time line") + 1, lines.indexOf("Changes"))
    expect(rows.join("\n")).toMatchInlineSnapshot(`
      "+0.000 s+12.000 s+24.000 s+36.000 s+48.000 s
      objects without a namespace Node/node-1, +1.000 s to +60.000 s
      namespace shop Deployment/web, +0.000 s to +60.000 s
      Pod/web-x, +2.000 s to +30.000 sPendingRunningFailed (Evicted)
      mainWaiting: CrashLoopBackOff: back-off"
    `)
  })

  test("lists what changed, with the fields that differ, and not what was there before", () => {
    const lines = linesOf(pageOf(...items))
    expect(lines.slice(lines.indexOf("Changes") + 1).join("\n")).toMatchInlineSnapshot(`
      "timeobjectchange
      +1.000 s Node/node-1 first seen
      +2.000 s shop Pod/web-x first seen
      +2.000 s shop Pod/web-x phase Pending
      +4.000 s shop Pod/web-x phase Running
      +4.000 s shop Pod/web-x container main: Waiting: CrashLoopBackOff: back-off
      +10.000 s shop Deployment/web changedspec.replicas: 1 → 3 spec.paused: (absent) → true
      +30.000 s shop Pod/web-x phase Failed (Evicted)
      +30.000 s shop Pod/web-x deleted"
    `)
  })

  test("says what the trace lacks, and draws it", () => {
    const page = pageOf(
      header(0, 60, { incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] }),
      event("applied", 1, node),
      gap("v1.Pod", 10, 20, "shop"),
    )
    const lines = linesOf(page)
    expect(lines).toContain("The trace is incomplete: 2 parts of it are missing, shown at the top of the time line.")
    expect(
      lines.some((line) => line.includes("gap: v1.Pod in shop") && line.includes("expired: the server forgot")),
    ).toBe(true)
    expect(lines.some((line) => line.includes("incomplete: v1.Secret"))).toBe(true)
  })

  test("of a trace without anything is a page too", () => {
    expect(linesOf(pageOf(header(0, 60)))).toContain("Nothing changed.")
    expect(linesOf(pageOf({ type: "header", cut: 0, kinds: [], incomplete: [] }))).toContain("Nothing changed.")
  })

  test("shows an owner that the trace does not have by its name", () => {
    const lines = linesOf(pageOf(header(0, 60), event("applied", 2, pod({}))))
    expect(lines.some((line) => line.endsWith("Deployment/web"))).toBe(true)
  })

  test("of SimKube's trace shows the lifecycles that it lists below their owner", () => {
    const lifecycles: TraceItem = {
      type: "lifecycles",
      gvk: "apps/v1.Deployment",
      owner: "shop/web",
      pods: new Map([[0x5fn, [{ state: "finished", start: epoch / 1e6 + 5, end: epoch / 1e6 + 9 }]]]) as never,
    }
    const lines = linesOf(pageOf(header(0, 60), event("applied", 1, deployment), lifecycles))
    expect(lines).toContain("Pod with spec 000000000000005fRunning")
  })
})

describe("a page of a long trace", () => {
  test("has the first 1,000 objects and the newest 1,000 changes, and says so", () => {
    const many = Array.from({ length: 1500 }, (_, index) =>
      event("applied", 1 + index / 100, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `c${index}`, namespace: "a", uid: `u${index}` },
      }),
    )
    const changes = Array.from({ length: 900 }, (_, index) =>
      event("applied", 20 + index / 100, { ...deployment, spec: { replicas: index } }),
    )
    const lines = linesOf(pageOf(header(0, 60), event("existed", -1, deployment), ...many, ...changes))
    expect(lines).toContain(
      "The time line shows the first 1,000 objects; 501 more objects can only be in the list of changes.",
    )
    expect(lines).toContain("The list shows the newest 1,000 changes of 2,400.")
    const listed = lines.slice(lines.indexOf("Changes") + 2)
    expect(listed).toHaveLength(1000)
    expect(listed.at(-1)).toContain("898 → 899")
  })

  test("is bounded, however much an object does and however long its fields are", () => {
    const long = "x".repeat(5000)
    const changes = Array.from({ length: 30_000 }, (_, index) =>
      event("applied", 1 + index / 1000, { ...deployment, spec: { replicas: index, note: `${index}${long}` } }),
    )
    const page = pageOf(header(0, 60), ...changes)
    expect(page.length).toBeLessThan(8 * 1024 * 1024)
    expect(page).toContain(
      "The time line is cut off: it has no room for 9,999 more marks of phases, states and changes.",
    )
  })
})

test("whatever a trace says, the page is well-formed and runs nothing", () => {
  const hostile = fc.oneof(
    fc.constantFrom(
      "</style><script>alert(1)</script>",
      '" onload="x',
      "<!--",
      "]]>",
      "&amp;",
      "'\u0000\u001b[31m\u202e",
    ),
    fc.string({ unit: "binary", maxLength: 12 }),
  )
  const change = fc.record({
    action: fc.constantFrom("applied", "applied", "applied", "deleted", "existed"),
    at: fc.double({ min: -5, max: 70, noNaN: true }),
    name: fc.oneof(fc.constantFrom("x", "y"), hostile),
    namespace: fc.oneof(fc.constantFrom("", "a"), hostile),
    owner: hostile,
    field: hostile,
    phase: fc.oneof(fc.constantFrom("Running", "Failed"), hostile),
    since: fc.integer({ min: -20, max: 80 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const items = changes.map(({ action, at, name, namespace, owner, field, phase, since }) =>
        event(action as "applied", at, {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace, ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: owner }] },
          spec: { [field]: field },
          status: {
            phase,
            reason: field,
            containerStatuses: [
              { name: owner, state: { terminated: { finishedAt: timeText(since), reason: field, exitCode: 1 } } },
            ],
          },
        }),
      )
      checkPage(pageOf(header(0, 60), ...items, gap("v1.Pod", 1, 2, changes[0]?.namespace ?? "")))
    }),
    { numRuns: 200 },
  )
})
