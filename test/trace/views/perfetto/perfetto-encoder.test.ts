/** Lives in a Perfetto trace: who has which lane, from when to when something is drawn, and what it says. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { perfettoEncoder } from "../../../../src/trace/views/perfetto/perfetto-encoder.ts"
import { rounds } from "../../../harness/effort.ts"
import { watchLines } from "../../recording.ts"
import { anyEvents } from "../any-events.ts"
import {
  core,
  type Described,
  encoded,
  epoch,
  event,
  gap,
  header,
  listed,
  ownedBy,
  running,
  seen,
  terminated,
  timeText,
  webIn,
} from "../items.ts"
import { type Drawing, drawingOf, linesOf } from "./drawing.ts"

const drawn = (...items: ReadonlyArray<TraceItem>): Drawing => drawingOf(encoded(perfettoEncoder(), items))

const { deployment, replicaSet } = webIn("a")
const pod = (more: object = {}, name = "web-1-x", uid = "p"): Described =>
  ownedBy(core("Pod", { name, namespace: "a", uid }, more), replicaSet)
const bare = (status: object): Described =>
  core(
    "Pod",
    { name: "one", namespace: "a", uid: "o" },
    { spec: { nodeName: "node-1", containers: [{ name: "main" }] }, status },
  )
const configMap = (name: string, uid: string): Described => core("ConfigMap", { name, namespace: "a", uid })

describe("lanes", () => {
  test("are namespaces, in them the object at the top of the owner chain, and below it all that it owns", () => {
    const { lanes } = drawn(
      header(0, 60),
      event("applied", 1, deployment),
      event("applied", 2, replicaSet),
      event("applied", 3, pod()),
      event("applied", 4, core("Node", { name: "node-1", uid: "n" })),
    )
    expect([...lanes.keys()]).toEqual([
      "namespace a",
      "namespace a > Deployment/web",
      "namespace a > Deployment/web > ReplicaSet/web-1",
      "namespace a > Deployment/web > Pod/web-1-x",
      "objects without a namespace",
      "objects without a namespace > Node/node-1",
    ])
  })

  test("are the same in whatever order the objects of the start come", () => {
    const objects = [deployment, replicaSet, pod()]
    const expected = drawn(header(0, 60), ...objects.map((each) => event("existed", -5, each)))
    fc.assert(
      fc.property(fc.shuffledSubarray(objects, { minLength: 3 }), (shuffled) => {
        const { lanes } = drawn(header(0, 60), ...shuffled.map((each) => event("existed", -5, each)))
        expect(new Set(lanes.keys())).toEqual(new Set(expected.lanes.keys()))
        expect(lanes.get("namespace a > Deployment/web > Pod/web-1-x")).toMatchObject([
          { name: "web-1-x", begin: epoch, end: epoch + 60e6 },
        ])
      }),
    )
  })

  test("wait for an owner that a slower stream brings, and after ten seconds take the owner's name", () => {
    const soon = drawn(
      header(0, 60),
      event("applied", 1, pod()),
      event("applied", 2, replicaSet),
      event("applied", 9, deployment),
    )
    expect(linesOf(soon, "namespace a > Deployment/web > Pod/web-1-x", epoch)).toEqual(["web-1-x 1–60"])
    const late = drawn(
      header(0, 60),
      event("applied", 1, pod()),
      event("applied", 2, replicaSet),
      event("applied", 20, configMap("other", "c")),
      event("applied", 30, deployment),
    )
    // By the name of the owner it is the same lane, because names and UIDs are known.
    expect(linesOf(late, "namespace a > Deployment/web > Pod/web-1-x", epoch)).toEqual(["web-1-x 1–60"])
    expect(linesOf(late, "namespace a > Deployment/web", epoch)).toEqual(["web 30–60"])
    const never = drawn(header(0, 60), event("applied", 1, pod()), event("deleted", 2, pod()))
    expect(linesOf(never, "namespace a > ReplicaSet/web-1 > Pod/web-1-x", epoch)).toEqual(["web-1-x 1–2"])
  })

  test("find owners by their names in traces without UIDs", () => {
    const without = (object: Described): Described => ({ ...object, metadata: { ...object.metadata, uid: "" } })
    const set = ownedBy(without(replicaSet), without(deployment))
    const { lanes } = drawn(
      header(0, 60),
      event("existed", 0, without(deployment)),
      event("existed", 0, set),
      event("applied", 3, ownedBy(without(pod()), set)),
    )
    expect([...lanes.keys()]).toContain("namespace a > Deployment/web > Pod/web-1-x")
  })

  test("end although objects own each other or themselves", () => {
    const [one, two, self] = [configMap("one", "1"), configMap("two", "2"), configMap("self", "3")]
    const { lanes } = drawn(
      header(0, 60),
      event("existed", 0, ownedBy(one, two)),
      event("existed", 0, ownedBy(two, one)),
      event("applied", 3, ownedBy(self, self)),
    )
    expect([...lanes.values()].flat().map(({ name }) => name)).toEqual(expect.arrayContaining(["one", "two", "self"]))
  })

  test("of a namespaced object below an owner without a namespace are in the object's namespace", () => {
    const above: Described = { apiVersion: "x.io/v1", kind: "Tenant", metadata: { name: "t", uid: "t" } }
    const { lanes } = drawn(
      header(0, 60),
      event("applied", 1, above),
      event("applied", 2, ownedBy(configMap("c", "c"), above)),
    )
    expect([...lanes.keys()]).toEqual([
      "objects without a namespace",
      "objects without a namespace > Tenant/t",
      "namespace a",
      "namespace a > Tenant/t",
      "namespace a > Tenant/t > ConfigMap/c",
    ])
  })
})

describe("lives", () => {
  test("begin with the window or when the object is first seen, and end when it is deleted or with the window", () => {
    const other = { ...deployment, metadata: { ...deployment.metadata, name: "api", uid: "e" } }
    const drawing = drawn(
      header(0, 60),
      event("existed", -3000, deployment),
      event("applied", 10, other),
      event("deleted", 20.5, deployment),
    )
    expect(linesOf(drawing, "namespace a > Deployment/web", epoch)).toEqual(["web 0–20.5"])
    expect(linesOf(drawing, "namespace a > Deployment/api", epoch)).toEqual(["api 10–60"])
    expect(drawing.lanes.get("namespace a > Deployment/web")?.[0]?.says).toEqual({
      kind: "apps/v1.Deployment",
      namespace: "a",
      name: "web",
      uid: "d",
      end: "deleted",
    })
  })

  test("of two objects that have one name after another are two slices, whether the deletion was seen or not", () => {
    const second = { ...deployment, metadata: { ...deployment.metadata, uid: "d2" } }
    const drawing = drawn(
      header(0, 60),
      event("applied", 1, deployment),
      event("vanished", 5, deployment),
      event("applied", 5, second),
      event("applied", 9, { ...deployment, metadata: { ...deployment.metadata, uid: "d3" } }),
      event("deleted", 10, second),
    )
    const lane = "namespace a > Deployment/web"
    expect(linesOf(drawing, lane, epoch)).toEqual(["web 1–5", "web 5–9", "web 9–60"])
    expect(drawing.lanes.get(lane)?.map(({ says }) => says.end)).toEqual([
      "deleted at an unknown time: a list no longer had it",
      "replaced by another object of its name",
      "exists at the end of the trace",
    ])
  })

  test("that only their end shows are drawn at that moment", () => {
    const drawing = drawn(header(0, 60), event("deleted", 7, deployment))
    expect(linesOf(drawing, "namespace a > Deployment/web", epoch)).toEqual(["web 7–7"])
  })

  test("have an instant for each change of what is wanted, which names the fields, and none for status", () => {
    const drawing = drawn(
      header(0, 60),
      event("applied", 1, deployment),
      event("applied", 2, { ...deployment, status: { replicas: 1 } }),
      event("applied", 3, { ...deployment, spec: { replicas: 2 } }),
      event("applied", 4, { ...deployment, spec: { replicas: 3, paused: true } }),
      event("applied", 5, { ...deployment, spec: { paused: true, replicas: 3 } }),
      event("applied", 6, {
        ...deployment,
        spec: { paused: true, replicas: 3 },
        metadata: { ...deployment.metadata, deletionTimestamp: timeText(6) },
      }),
    )
    const lane = "namespace a > Deployment/web"
    expect(linesOf(drawing, lane, epoch)).toEqual([
      "web 1–60",
      "changed spec.replicas 3",
      "changed spec.replicas and more 4",
      "deletion requested 6",
    ])
    expect(drawing.lanes.get(lane)?.find(({ begin }) => begin === epoch + 4e6)?.says).toEqual({
      fields: "spec.replicas, spec.paused",
    })
  })
})

test("a node that is not ready has an instant when that begins and when it is over", () => {
  const node = (status: string, reason: string): Described =>
    core(
      "Node",
      { name: "node-1", uid: "n" },
      { status: { conditions: [{ type: "Ready", status, reason, message: "m" }] } },
    )
  const { lanes } = drawn(
    header(0, 60),
    event("existed", -1, node("True", "KubeletReady")),
    event("applied", 5, node("Unknown", "NodeStatusUnknown")),
    event("applied", 9, node("True", "KubeletReady")),
  )
  const instants = lanes.get("objects without a namespace > Node/node-1")?.filter(({ isInstant }) => isInstant)
  expect(instants?.map(({ name, begin, says }) => [name, (begin - epoch) / 1e6, says.message])).toEqual([
    ["Ready: Unknown (NodeStatusUnknown)", 5, "m"],
    ["Ready: True (KubeletReady)", 9, "m"],
  ])
})

describe("pods", () => {
  const lane = "namespace a > Pod/one"

  test("have their phases as slices within their life", () => {
    const drawing = drawn(
      header(0, 60),
      event("applied", 1, { ...bare({ phase: "Pending" }), spec: {} }),
      event("applied", 3.25, bare({ phase: "Running", podIP: "10.0.0.1" })),
      event("applied", 30, bare({ phase: "Succeeded" })),
      event("deleted", 40, bare({ phase: "Succeeded" })),
    )
    expect(linesOf(drawing, lane, epoch)).toEqual([
      "one 1–40",
      "Pending 1–3.25",
      "Running 3.25–30",
      "changed spec.nodeName and more 3.25",
      "Succeeded 30–40",
    ])
    expect(drawing.lanes.get(lane)?.find(({ name }) => name === "Running")?.says).toEqual({
      node: "node-1",
      "pod IP": "10.0.0.1",
    })
    expect(drawing.lanes.get(lane)?.find(({ name }) => name === "one")?.says.node).toBe("node-1")
  })

  test("that find no node have a slice for that time, which says why", () => {
    const unscheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" }
    const { lanes } = drawn(
      header(0, 60),
      event("applied", 10, bare({ phase: "Pending" })),
      event("applied", 11, bare({ phase: "Pending", conditions: [unscheduled] })),
      event("applied", 30, bare({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] })),
    )
    const phases = lanes.get("namespace a > Pod/one")?.filter(({ depth }) => depth === 1)
    expect(phases?.map(({ name, begin, says }) => [name, (begin - epoch) / 1e6, says.message])).toEqual([
      ["Pending", 10, undefined],
      ["Pending: Unschedulable", 11, "0/3 nodes"],
      ["Pending", 30, undefined],
    ])
  })

  test("have a lane for each container with its states: why it waits, that it runs, how it ended", () => {
    const waiting = {
      name: "main",
      image: "nginx:1",
      restartCount: 0,
      state: { waiting: { reason: "ErrImagePull", message: "no such image" } },
    }
    const init = { name: "setup", image: "busybox", restartCount: 0, state: terminated(2, 4, 0, "Completed") }
    const drawing = drawn(
      header(0, 60),
      ...seen(
        bare,
        [1, { phase: "Pending", containerStatuses: [waiting] }],
        [4.5, { phase: "Pending", containerStatuses: [waiting], initContainerStatuses: [init] }],
        [6.5, { phase: "Running", containerStatuses: [running(6)], initContainerStatuses: [init] }],
        [9.75, { phase: "Failed", containerStatuses: [running(6, { state: terminated(6, 9, 1, "Error") })] }],
      ),
    )
    expect(linesOf(drawing, `${lane} > main`, epoch)).toEqual([
      "Waiting: ErrImagePull 1–6.5",
      "Running 6.5–9.75",
      "Terminated: Error (1) 9.75–60",
    ])
    expect(linesOf(drawing, `${lane} > setup (init container)`, epoch)).toEqual(["Terminated: Completed (0) 4.5–60"])
    expect(drawing.lanes.get(`${lane} > main`)?.map(({ says }) => says)).toEqual([
      { image: "nginx:1", restarts: 0, message: "no such image" },
      { image: "nginx:1", restarts: 0 },
      { image: "nginx:1", restarts: 0, "exit code": 1 },
    ])
  })

  test("of which the recorder learnt late have the times that their status states, within the window", () => {
    const drawing = drawn(
      header(0, 60),
      event("existed", -100, bare({ phase: "Running", containerStatuses: [running(-500)] })),
      ...seen(bare, [40, { containerStatuses: [running(-500, { state: terminated(-500, 25, 0, "Completed") })] }]),
    )
    expect(linesOf(drawing, `${lane} > main`, epoch)).toEqual(["Running 0–25", "Terminated: Completed (0) 25–60"])
  })

  test("show the end of a container between two states that were seen, once", () => {
    const lastState = terminated(2, 10, 137, "OOMKilled")
    const again = running(15, { restartCount: 1, lastState })
    const crashing = { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: terminated(15, 28, 1, "Error") }
    const drawing = drawn(
      header(0, 60),
      ...seen(
        bare,
        [2.5, { containerStatuses: [running(2)] }],
        [20, { containerStatuses: [again] }],
        [21, { containerStatuses: [{ ...again, ready: true }] }],
        [30, { containerStatuses: [{ ...again, ...crashing }] }],
        [31, { containerStatuses: [{ ...again, ...crashing }] }],
      ),
    )
    expect(linesOf(drawing, `${lane} > main`, epoch)).toEqual([
      "Running 2.5–10",
      "Terminated: OOMKilled (137) 10–15",
      "Running 15–28",
      "Terminated: Error (1) 28–30",
      "Waiting: CrashLoopBackOff 30–60",
    ])
  })

  test("whose node's clock is wrong are drawn in the order of what happened", () => {
    const drawing = drawn(
      header(0, 60),
      ...seen(
        bare,
        [2.5, { containerStatuses: [running(900)] }],
        [20, { containerStatuses: [running(2, { state: terminated(1, 1, 2, "Error") })] }],
      ),
    )
    expect(linesOf(drawing, `${lane} > main`, epoch)).toEqual(["Running 2.5–2.5", "Terminated: Error (2) 2.5–60"])
  })

  test("with a status of any form are drawn as far as it can be read", () => {
    const drawing = drawn(
      header(0, 60),
      ...[
        7,
        "x",
        [],
        { phase: 3 },
        { containerStatuses: {} },
        { containerStatuses: [1, null, { name: "main", state: "x" }] },
      ].map((status, at) => event("applied", at, bare(status as object))),
    )
    expect(linesOf(drawing, lane, epoch)).toEqual(["one 0–60"])
  })
})

describe("a trace", () => {
  test("shows what it lacks: gaps, and kinds that were not being watched", () => {
    const drawing = drawn(
      header(0, 60, {
        incomplete: [
          { gvk: "v1.Secret", state: "forbidden" },
          { gvk: "v1.Pod", namespace: "b", state: "failing" },
        ],
      }),
      gap("v1.Pod", -10, 5),
      gap("v1.Pod", 7, 8),
      gap("v1.Pod", 7, 9, "a"),
    )
    expect(linesOf(drawing, "missing from the trace > v1.Pod", epoch)).toEqual(["gap: expired 0–5", "gap: expired 7–8"])
    expect(linesOf(drawing, "missing from the trace > v1.Pod in a", epoch)).toEqual(["gap: expired 7–9"])
    expect(linesOf(drawing, "missing from the trace > v1.Secret: forbidden", epoch)).toEqual([
      "incomplete: forbidden 0–60",
    ])
    expect(linesOf(drawing, "missing from the trace > v1.Pod in b: failing", epoch)).toEqual([
      "incomplete: failing 0–60",
    ])
  })

  test("that selects a whole recording, or has no window, begins with its first item", () => {
    const whole: TraceItem = {
      type: "header",
      window: { start: 0, end: epoch + 9e6 },
      cut: 0,
      kinds: [],
      incomplete: [],
    }
    const without: TraceItem = { type: "header", cut: 0, kinds: [], incomplete: [] }
    for (const first of [whole, without]) {
      const drawing = drawn(first, event("applied", 5, deployment), event("deleted", 9, deployment))
      expect(drawing.start).toBe(epoch + 5e6)
      expect(linesOf(drawing, "namespace a > Deployment/web", epoch)).toEqual(["web 5–9"])
    }
    expect(drawn(without)).toMatchObject({ packets: 1, start: 0 })
  })

  test("of SimKube has the lifecycles that it lists below their owner", () => {
    const withoutUid = { ...deployment, metadata: { ...deployment.metadata, uid: "" } }
    const drawing = drawn(
      { type: "header", cut: 0, kinds: [], incomplete: [], sanitised: "simkube" },
      { type: "batch", time: epoch },
      event("existed", 0, withoutUid),
      { type: "batch", time: epoch + 50e6 },
      {
        type: "lifecycles",
        gvk: "apps/v1.Deployment",
        owner: "a/web",
        pods: new Map([
          [
            255n,
            [
              { state: "finished", start: epoch / 1e6 + 1, end: epoch / 1e6 + 9 },
              { state: "running", start: epoch / 1e6 + 5 },
              { state: "empty" },
            ],
          ],
        ]),
      },
    )
    expect(linesOf(drawing, "namespace a > Deployment/web", epoch)).toEqual(["web 0–50"])
    expect(linesOf(drawing, "namespace a > Deployment/web > Pod with spec 00000000000000ff", epoch)).toEqual([
      "Running 1–9",
      "Running 5–50",
    ])
  })

  test("that lists the lifecycles of an owner twice has a lane for each", () => {
    const drawing = drawn(header(0, 60), listed("a/web", 1n, [5, 6]), listed("a/web", 1n, [3, 4]))
    expect(linesOf(drawing, "namespace a > Deployment/web > Pod with spec 0000000000000001", epoch)).toEqual([
      "Running 3–4",
      "Running 5–6",
    ])
  })
})

test("whatever happens, slices have ends, lanes are trees and their times never go back", () => {
  fc.assert(
    fc.property(anyEvents, fc.boolean(), (items, hasWindow) => {
      const first = header(0, 60)
      // The reader checks ends, trees and order.
      const drawing = drawn(hasWindow ? first : ({ ...first, window: undefined } as never), ...items)
      const bounds = hasWindow
        ? [epoch, Math.max(epoch + 60e6, ...items.map((item) => (item as { event: { time: number } }).event.time))]
        : []
      for (const each of [...drawing.lanes.values()].flat()) {
        expect(each.begin).toBeGreaterThanOrEqual(bounds[0] ?? 0)
        expect(each.end).toBeLessThanOrEqual(bounds[1] ?? Number.MAX_SAFE_INTEGER)
      }
    }),
    { numRuns: rounds(500) },
  )
})

test("a minute of a real cluster: every pod that a Deployment owns is in the Deployment's lane, with its containers", () => {
  const kinds = [
    "v1.Pod",
    "apps/v1.Deployment",
    "apps/v1.ReplicaSet",
    "apps/v1.StatefulSet",
    "apps/v1.DaemonSet",
    "batch/v1.Job",
    "batch/v1.CronJob",
  ]
  const lines = watchLines("recording", new Map(kinds.map((gvk) => [gvk, {}])) as never)
  const items = lines.map(({ time, type, object }) => {
    const described = JSON.parse(Buffer.from(object).toString()) as Described
    return event(type === "DELETED" ? "deleted" : "applied", (time - epoch) / 1e6, described)
  })
  const drawing = drawn({ type: "header", cut: 0, kinds, incomplete: [] }, ...items)
  const paths = [...drawing.lanes.keys()]
  const pods = paths.filter((path) => /> Pod\/[^>]+$/.test(path))
  expect(pods.length).toBeGreaterThan(10)
  expect(pods.filter((path) => path.includes("> Deployment/")).length).toBeGreaterThan(3)
  expect(pods.filter((path) => path.includes("> ReplicaSet/"))).toEqual([])
  for (const path of pods) {
    const phases = drawing.lanes.get(path)?.filter(({ depth, isInstant }) => depth === 1 && !isInstant)
    expect({ path, phases: phases?.map(({ name }) => name) }).toEqual({
      path,
      phases: expect.arrayContaining(["Pending"]),
    })
  }
  const containers = paths.filter((path) => /> Pod\/[^>]+ > /.test(path))
  expect(containers.some((path) => drawing.lanes.get(path)?.some(({ name }) => name === "Running"))).toBe(true)
})
