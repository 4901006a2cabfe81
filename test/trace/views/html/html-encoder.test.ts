/** A page that shows a trace to people: what is on it, that it is bounded, and that nothing in a trace can break it. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { htmlEncoder } from "../../../../src/trace/views/html/html-encoder.ts"
import { rounds } from "../../../harness/effort.ts"
import { checkPage } from "../../../page/checked-page.ts"
import { anyEvents } from "../any-events.ts"
import { core, type Described, encoded, event, gap, header, listed, ownedBy, seen, timeText, webIn } from "../items.ts"

const pageOf = (...items: ReadonlyArray<TraceItem>): string => encoded(htmlEncoder(), items).toString()

/** The lines of the text that are not empty. */
const linesOf = (page: string): ReadonlyArray<string> =>
  checkPage(page)
    .split("\n")
    .map((line) => line.trim().replaceAll(/ +/g, " "))
    .filter((line) => line !== "")

/** The lines of one part of it. */
const partOf = (page: string, from: string, to?: string): ReadonlyArray<string> => {
  const lines = linesOf(page)
  const begin = lines.indexOf(from)
  return begin === -1 ? [] : lines.slice(begin + 1, to === undefined ? undefined : lines.indexOf(to, begin))
}

const { deployment } = webIn("shop")
const pod = (status: object): Described =>
  ownedBy(core("Pod", { name: "web-x", namespace: "shop", uid: "p" }, { spec: {}, status }), deployment)
const node = core("Node", { name: "node-1", uid: "n" })

describe("a page", () => {
  const state = { waiting: { reason: "CrashLoopBackOff", message: "back-off" } }
  const items = [
    header(0, 60),
    event("existed", -5, deployment),
    event("applied", 1, node),
    ...seen(pod, [2, { phase: "Pending" }], [4, { phase: "Running", containerStatuses: [{ name: "main", state }] }]),
    event("applied", 10, { ...deployment, spec: { replicas: 3, paused: true } }),
    event("deleted", 30, pod({ phase: "Failed", reason: "Evicted" })),
  ]

  test("has a time line with a row for each object, by namespace and owner", () => {
    expect(partOf(pageOf(...items), "Time line", "Changes").join("\n")).toMatchInlineSnapshot(`
      "UTC 00:00:00 00:00:15 00:00:30 00:00:45 00:01:00
      Objects without a namespace
      Node/node-1
      Node/node-1
      Namespace shop
      Deployment/web ✖ owns 1
      Deployment/web
      Pod/web-x Running
      main Waiting: CrashLoopBackOff"
    `)
  })

  test("lists what changed, with the fields that differ, and not what was there before", () => {
    expect(partOf(pageOf(...items), "Changes").join("\n")).toMatchInlineSnapshot(`
      "TimeObjectChange
      00:00:01.000 Node/node-1 first seen
      00:00:02.000 shop Pod/web-x first seen
      00:00:02.000 shop Pod/web-x phase Pending
      00:00:04.000 shop Pod/web-x phase Running
      00:00:04.000 shop Pod/web-x container main: Waiting: CrashLoopBackOff: back-off
      00:00:10.000 shop Deployment/web changed spec.replicas: 1 → 3 spec.paused: (absent) → true
      00:00:30.000 shop Pod/web-x phase Failed (Evicted)
      00:00:30.000 shop Pod/web-x deleted"
    `)
  })

  test("tells what is new from what existed, and shows what Kubernetes Events say", () => {
    const said = (name: string, more: object): Described =>
      core(
        "Event",
        { name, namespace: "shop", uid: name },
        { involvedObject: { kind: "Pod", name: "web-x" }, source: { component: "kubelet" }, ...more },
      )
    const config = (name: string, creationTimestamp: string): Described =>
      core("ConfigMap", { name, namespace: "shop", uid: name, creationTimestamp })
    const page = pageOf(
      header(0, 600),
      event("applied", 100, config("new", timeText(99))),
      event("applied", 101, config("old", timeText(2))),
      event("applied", 102, said("web-x.1", { type: "Warning", reason: "BackOff", message: "Back-off restarting" })),
    )
    expect(partOf(page, "Changes").slice(1)).toEqual([
      expect.stringMatching(/ConfigMap\/new created$/),
      expect.stringMatching(/ConfigMap\/old first seen$/),
      expect.stringMatching(/Event\/web-x\.1 Warning BackOff of Pod web-x: Back-off restarting \(kubelet\)$/),
    ])
  })

  test("begins with what went wrong: each fault once for each owner, and whether it lasts", () => {
    const crashing = (name: string, uid: string, restarts: number): Described => {
      const at = timeText(10 + restarts)
      const state =
        restarts % 2 === 0
          ? { waiting: { reason: "CrashLoopBackOff", message: `back-off of ${name}` } }
          : { terminated: { reason: "OOMKilled", exitCode: 137, finishedAt: at, containerID: at } }
      const status = { phase: "Running", containerStatuses: [{ name: "main", restartCount: restarts, state }] }
      return ownedBy(core("Pod", { name, namespace: "shop", uid }, { status }), deployment)
    }
    const page = pageOf(
      header(0, 60),
      event("existed", -5, deployment),
      event("applied", 11, crashing("web-x", "x", 1)),
      event("applied", 12, crashing("web-x", "x", 2)),
      event("applied", 13, crashing("web-y", "y", 3)),
      event("applied", 20, crashing("web-y", "y", 4)),
      event("applied", 21, crashing("web-y", "y", 5)),
      event("deleted", 30, crashing("web-y", "y", 5)),
    )
    expect(partOf(page, "What went wrong", "Time line").join("\n")).toMatchInlineSnapshot(`
      "FirstObjectFaultHow often
      00:00:11.000 shop Deployment/web container main: Terminated: OOMKilled (137) 3 times in 2 objects, last 00:00:15.000
      00:00:12.000 shop Deployment/web container main: Waiting: CrashLoopBackOff back-off of web-y 2 times in 2 objects, last 00:00:20.000still so at the end in 1 object"
    `)
    // The link leads to the owner's rows, which are unfolded.
    const id = /<a href="#(g\d+)">shop Deployment\/web<\/a>/.exec(page)?.[1]
    expect(page).toContain(`<details id="${id}" open>`)
  })

  test("counts a pod that finds no node as a fault, and says what the scheduler says", () => {
    const message = "0/3 nodes are available: 3 Insufficient memory."
    const unscheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message }
    const page = pageOf(
      header(0, 60),
      event("applied", 1, pod({ phase: "Pending" })),
      event("applied", 2, pod({ phase: "Pending", conditions: [unscheduled] })),
      event("applied", 3, pod({ phase: "Pending", conditions: [{ ...unscheduled, message: "0/4 nodes" }] })),
      event("applied", 20, pod({ phase: "Running", conditions: [{ type: "PodScheduled", status: "True" }] })),
    )
    expect(partOf(page, "What went wrong", "Time line").slice(1)).toEqual([
      `00:00:02.000 shop Deployment/web phase Pending (Unschedulable) ${message} 1 time`,
    ])
  })

  test("counts a node that is not ready, a roll-out that does not go on and a job that failed as faults", () => {
    const withCondition = (object: Described, type: string, status: string, reason: string): Described => ({
      ...object,
      status: { conditions: [{ type, status, reason, message: `${reason}, says the controller` }] },
    })
    const job: Described = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j", namespace: "shop", uid: "j" } }
    const page = pageOf(
      header(0, 60),
      event("existed", -5, withCondition(node, "Ready", "True", "KubeletReady")),
      event("existed", -5, deployment),
      event("applied", 10, withCondition(node, "Ready", "Unknown", "NodeStatusUnknown")),
      event("applied", 11, withCondition(node, "Ready", "Unknown", "NodeStatusUnknown")),
      event("applied", 20, withCondition(node, "Ready", "True", "KubeletReady")),
      event("applied", 25, withCondition(node, "Ready", "Unknown", "NodeStatusUnknown")),
      event("applied", 30, withCondition(deployment, "Progressing", "True", "ReplicaSetUpdated")),
      event("applied", 40, withCondition(deployment, "Progressing", "False", "ProgressDeadlineExceeded")),
      event("applied", 50, withCondition(job, "Failed", "True", "BackoffLimitExceeded")),
      event("deleted", 51, job),
    )
    expect(partOf(page, "What went wrong", "Time line").slice(1).join("\n")).toMatchInlineSnapshot(`
      "00:00:10.000 Node/node-1 Ready: Unknown (NodeStatusUnknown) NodeStatusUnknown, says the controller 2 times, last 00:00:25.000still so at the end
      00:00:40.000 shop Deployment/web Progressing: False (ProgressDeadlineExceeded) ProgressDeadlineExceeded, says the controller 1 timestill so at the end
      00:00:50.000 shop Job/j Failed: True (BackoffLimitExceeded) BackoffLimitExceeded, says the controller 1 time"
    `)
    expect(partOf(page, "Changes").filter((line) => line.includes("Node/")).length).toBe(3)
    // The bars are from when to when it was so.
    expect(page).toContain(
      "<title>Ready: Unknown (NodeStatusUnknown): NodeStatusUnknown, says the controller, 00:00:10.000 to 00:00:20.000 (10 s)</title>",
    )
    expect(page).toContain("00:00:25.000 to 00:01:00.000 (35 s)</title>")
  })

  test("says what the trace lacks, and draws it", () => {
    const page = pageOf(
      header(0, 60, { incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] }),
      event("applied", 1, node),
      gap("v1.Pod", 10, 20, "shop"),
    )
    const lines = linesOf(page)
    expect(lines).toContain("The trace is incomplete: it lacks 2 parts, shown at the top of the time line.")
    expect(
      lines.some((line) => line.includes("gap: v1.Pod in shop") && line.includes("expired: the server forgot")),
    ).toBe(true)
    expect(lines.some((line) => line.includes("incomplete: v1.Secret"))).toBe(true)
  })

  test("draws what is shorter than a pixel, also at the very end", () => {
    const page = pageOf(header(0, 86_400), event("applied", 86_400, pod({ phase: "Failed" })))
    const widths = [...page.matchAll(/<rect [^>]*width="([\d.]+)%"/g)].map(([, width]) => Number(width))
    expect(widths).toHaveLength(2)
    for (const width of widths) expect(width).toBeGreaterThan(0)
  })

  test("shows two long values where they differ", () => {
    const long = (end: string): Described => ({ ...deployment, spec: { args: `${"x".repeat(5000)}${end}` } })
    const page = pageOf(
      header(0, 60),
      event("existed", -5, deployment),
      event("applied", 1, long("one")),
      event("applied", 2, long("two")),
    )
    expect(partOf(page, "Changes").join("\n")).toMatch(/spec\.args: "?…x{40}one" → "?…x{40}two"/)
  })

  test("of a trace without anything is a page too", () => {
    expect(linesOf(pageOf(header(0, 60)))).toContain("Nothing changed.")
    expect(linesOf(pageOf({ type: "header", cut: 0, kinds: [], incomplete: [] }))).toContain("Nothing changed.")
  })

  test("of SimKube's trace shows the lifecycles that it lists below their owner", () => {
    const lines = linesOf(pageOf(header(0, 60), event("applied", 1, deployment), listed("shop/web", 0x5fn, [5, 9])))
    expect(lines).toContain("Pod with spec 000000000000005f Running")
  })
})

describe("a page of a long trace", () => {
  const configMap = (index: number): Described =>
    core("ConfigMap", { name: `c${index}`, namespace: "a", uid: `u${index}` })

  test("has the objects in which something happened last, the newest changes, and says so", () => {
    const existing = Array.from({ length: 1200 }, (_, index) => event("existed", -1, configMap(index)))
    const created = Array.from({ length: 1500 }, (_, index) =>
      event("applied", 1 + index / 100, configMap(2000 + index)),
    )
    const changes = Array.from({ length: 900 }, (_, index) =>
      event("applied", 20 + index / 100, { ...deployment, spec: { replicas: index } }),
    )
    const page = pageOf(header(0, 60), ...existing, event("existed", -1, deployment), ...created, ...changes)
    const lines = linesOf(page)
    expect(lines).toContain("The page leaves out 1,701 objects in which nothing went wrong, or nothing happened last.")
    expect(lines).toContain("The page leaves out 1,400 changes before the newest.")
    const rows = partOf(page, "Time line", "Changes")
    expect(rows).toContain("Deployment/web")
    expect(rows).toContain("ConfigMap/c3499")
    expect(rows).not.toContain("ConfigMap/c0")
    const listed = partOf(page, "Changes").slice(1)
    expect(listed).toHaveLength(1000)
    expect(listed.at(-1)).toContain("898 → 899")
  })

  test("has an object that failed, however much else there is, before and after", () => {
    const before = Array.from({ length: 1500 }, (_, index) => event("existed", -1, configMap(index)))
    const after = Array.from({ length: 3000 }, (_, index) =>
      event(index % 2 === 0 ? "applied" : "deleted", 5 + index / 1000, configMap(5000 + Math.floor(index / 2))),
    )
    const evicted = { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." }
    const failed = [event("applied", 1, pod(evicted)), event("deleted", 2, pod({ phase: "Failed" }))]
    const page = pageOf(header(0, 60), ...before, ...failed, ...after)
    expect(partOf(page, "Time line", "Changes")).toContain("Pod/web-x")
    expect(partOf(page, "What went wrong", "Time line").join("\n")).toContain(
      "shop Deployment/web phase Failed (Evicted) The node was low on resource: memory.",
    )
  })

  test("is bounded, however much an object does and however long its fields are", () => {
    const long = "x".repeat(5000)
    const changes = Array.from({ length: 5000 }, (_, index) =>
      event("applied", 1 + index / 100, { ...deployment, spec: { replicas: index, note: `${index}${long}` } }),
    )
    const page = pageOf(header(0, 60), ...changes)
    expect(page.length).toBeLessThan(1024 * 1024)
  })

  test("is bounded, however many objects, with however many containers, do much", () => {
    const changes = Array.from({ length: 1200 }, (_, index) => {
      const containerStatuses = Array.from({ length: 60 }, (__, container) => ({
        name: `c${container}`,
        state: Math.floor(index / 30) % 2 === 0 ? { running: {} } : { waiting: {} },
      }))
      const { metadata, ...object } = pod({ phase: "Running", containerStatuses })
      return event("applied", 1 + index / 1000, { ...object, metadata: { ...metadata, name: `p${index % 30}` } })
    })
    const page = pageOf(header(0, 60), ...changes)
    expect(page.match(/<rect /g)?.length).toBe(20_030)
    expect(linesOf(page)).toContain("The page leaves out 38,830 parts of the time line.")
  })
})

test("whatever happens, the page is well-formed, and what it links to is there", () => {
  fc.assert(
    fc.property(anyEvents, (items) => {
      checkPage(pageOf(header(0, 60), ...items))
    }),
    { numRuns: rounds(300) },
  )
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
    { numRuns: rounds(300) },
  )
})
