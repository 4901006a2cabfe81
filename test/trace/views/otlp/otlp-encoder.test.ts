/** Lives as OpenTelemetry spans: which OTLP trace they are in, from when to when they last, what they say, and what went wrong. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { UnwritableTraceError } from "../../../../src/trace/formats/format.ts"
import type { TraceItem } from "../../../../src/trace/trace-item.ts"
import { otlpEncoder } from "../../../../src/trace/views/otlp/otlp-encoder.ts"
import { rounds } from "../../../harness/effort.ts"
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
import { type Traced, tracedIn } from "./traced.ts"

const traced = (...items: ReadonlyArray<TraceItem>): ReadonlyArray<Traced> => tracedIn(encoded(otlpEncoder(), items))

/** `name begin–end`, in seconds after the epoch, indented below its parent; in the order of the begins. */
const treeOf = (spans: ReadonlyArray<Traced>): ReadonlyArray<string> => {
  const below = (parent: string, indent: string): string[] =>
    spans
      .filter(({ parentSpanId }) => parentSpanId === parent)
      .toSorted((one, other) => one.begin - other.begin)
      .flatMap(({ name, begin, end, spanId }) => [
        `${indent}${name} ${(begin - epoch) / 1e6}–${(end - epoch) / 1e6}`,
        ...below(spanId, `${indent}  `),
      ])
  return below("", "")
}

const named = (spans: ReadonlyArray<Traced>, name: string): Traced => {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`there is no span ${name}`)
  return found
}

const { deployment, replicaSet } = webIn("shop")
const pod = (status: object, more: object = {}): Described =>
  ownedBy(
    core("Pod", { name: "web-1-x", namespace: "shop", uid: "p", ...more }, { spec: { nodeName: "node-1" }, status }),
    replicaSet,
  )

describe("an OTLP trace", () => {
  const items = [
    header(0, 60, { clusterUid: "cluster-1" }),
    event("applied", 1, deployment),
    event("applied", 2, replicaSet),
    event("applied", 3, pod({ phase: "Pending" })),
    event("applied", 5, pod({ phase: "Running", podIP: "10.0.0.1", containerStatuses: [running(5)] })),
    event("deleted", 40, pod({ phase: "Running", containerStatuses: [running(5)] })),
  ]

  test("is all that one object at the top owns, each below its owner; phases and runs of containers are below their pod", () => {
    const spans = traced(...items)
    expect(treeOf(spans)).toEqual([
      "Deployment/web 1–60",
      "  ReplicaSet/web-1 2–60",
      "    Pod/web-1-x 3–40",
      "      phase Pending 3–5",
      "      phase Running 5–40",
      "      container main 5–40",
    ])
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  })

  test("says with the names of the semantic conventions what a span is about", () => {
    const spans = traced(...items)
    const ofDeployment = {
      "service.name": "web",
      "service.namespace": "shop",
      "k8s.namespace.name": "shop",
      "k8s.cluster.uid": "cluster-1",
      "k8s.deployment.name": "web",
      "k8s.deployment.uid": "d",
    }
    const ofPod = {
      ...ofDeployment,
      "k8s.replicaset.name": "web-1",
      "k8s.replicaset.uid": "r",
      "k8s.pod.name": "web-1-x",
      "k8s.pod.uid": "p",
      "k8s.node.name": "node-1",
    }
    expect(named(spans, "Deployment/web").resource).toEqual(ofDeployment)
    expect(named(spans, "Pod/web-1-x").resource).toEqual(ofPod)
    expect(named(spans, "container main").resource).toEqual({
      ...ofPod,
      "k8s.container.name": "main",
      "container.image.name": "nginx:1",
    })
    expect(named(spans, "Pod/web-1-x").says).toMatchObject({
      "k8s.object.kind": "Pod",
      "k8s.object.api_version": "v1",
      "kubereel.end": "deleted",
    })
    expect(named(spans, "phase Running").says).toEqual({ "k8s.pod.status.phase": "Running", "k8s.pod.ip": "10.0.0.1" })
  })

  test("has the same bytes each time, and of one object with a UID the same ID in any trace", () => {
    expect(encoded(otlpEncoder(), items)).toEqual(encoded(otlpEncoder(), items))
    const later = traced(header(100, 160), event("existed", 50, deployment))
    expect(later[0]?.traceId).toBe(traced(...items)[0]?.traceId)
    expect(later[0]?.spanId).not.toBe(named(traced(...items), "Deployment/web").spanId)
    const nameless = (start: number) =>
      traced(header(start, start + 1), event("existed", 0, { ...deployment, metadata: { name: "web" } }))[0]?.traceId
    expect(nameless(0)).not.toBe(nameless(10))
  })

  test("without the owner itself begins with what it owns, and has the owner's name", () => {
    const spans = traced(header(0, 60), event("applied", 3, pod({ phase: "Pending" })))
    expect(treeOf(spans)).toEqual(["Pod/web-1-x 3–60", "  phase Pending 3–60"])
    expect(named(spans, "Pod/web-1-x").resource).toMatchObject({
      "service.name": "web-1",
      "k8s.replicaset.name": "web-1",
    })
  })
})

describe("spans", () => {
  test("have an event for each change of what is wanted, which names the fields, and none for status", () => {
    const spans = traced(
      header(0, 60),
      event("applied", 1, deployment),
      event("applied", 2, { ...deployment, status: { replicas: 1 } }),
      event("applied", 3, { ...deployment, spec: { replicas: 2, paused: true } }),
      event("applied", 4, {
        ...deployment,
        metadata: { ...deployment.metadata, deletionTimestamp: timeText(4) },
        spec: { replicas: 2, paused: true },
      }),
    )
    expect(named(spans, "Deployment/web").events).toEqual([
      { name: "changed", time: epoch + 3e6, says: { "kubereel.changed.fields": ["spec.replicas", "spec.paused"] } },
      { name: "deletion requested", time: epoch + 4e6, says: { "kubereel.deletion.time": timeText(4) } },
    ])
  })

  test("keep the first 128 events and say how many more there were", () => {
    const changes = Array.from({ length: 200 }, (_, index) =>
      event("applied", 1 + index / 10, { ...deployment, spec: { replicas: index } }),
    )
    const [span] = traced(header(0, 60), ...changes)
    expect(span?.events).toHaveLength(128)
    expect(span?.droppedEvents).toBe(71)
  })

  test("of containers are their runs; those that failed or had no memory left are errors", () => {
    const waiting = { reason: "CrashLoopBackOff", message: "back-off" }
    const crashing = { state: { waiting }, lastState: terminated(1, 8, 137, "OOMKilled") }
    const spans = traced(
      header(0, 60),
      ...seen(
        pod,
        [1, { containerStatuses: [running(1)] }],
        [9, { containerStatuses: [running(0, { restartCount: 1, ...crashing })] }],
        [20, { containerStatuses: [running(20, { restartCount: 1 })] }],
        [30, { containerStatuses: [running(0, { restartCount: 1, state: terminated(20, 30, 0, "Completed") })] }],
      ),
    )
    const runs = spans.filter(({ name }) => name === "container main")
    expect(runs.map(({ begin, end, error }) => [(begin - epoch) / 1e6, (end - epoch) / 1e6, error])).toEqual([
      [1, 8, "Terminated: OOMKilled (137)"],
      [20, 30, undefined],
    ])
    expect(runs[0]?.says).toMatchObject({ "process.exit.code": 137, "k8s.container.status.reason": "OOMKilled" })
    expect(named(spans, "Pod/web-1-x").events).toMatchObject([
      { name: "container waiting", says: { "k8s.container.status.reason": "CrashLoopBackOff" } },
    ])
  })

  test("of a container that was seen only when it had ended begin when its status says", () => {
    const done = { name: "job", state: terminated(4, 8, 3, "Error") }
    const spans = traced(
      header(0, 60),
      event("applied", 2, pod({ phase: "Pending" })),
      event("applied", 8.5, pod({ phase: "Failed", reason: "Evicted", message: "no room", containerStatuses: [done] })),
    )
    expect(treeOf(spans)).toEqual([
      "Pod/web-1-x 2–60",
      "  phase Pending 2–8.5",
      "  container job 4–8.5",
      "  phase Failed 8.5–60",
    ])
    expect(spans.flatMap(({ name, error }) => (error === undefined ? [] : [`${name}: ${error}`])).toSorted()).toEqual([
      "Pod/web-1-x: Failed: Evicted: no room",
      "container job: Terminated: Error (3)",
      "phase Failed: Failed: Evicted: no room",
    ])
  })

  test("of objects with a condition that is wrong are errors, with an event when it began and when it was over", () => {
    const node = (status: string): Described => {
      const conditions = [{ type: "Ready", status, message: "the kubelet says nothing" }]
      return core("Node", { name: "node-1", uid: "n" }, { status: { conditions } })
    }
    const spans = traced(
      header(0, 60),
      event("existed", -1, node("True")),
      event("applied", 5, node("Unknown")),
      event("applied", 9, node("True")),
    )
    const { error, events } = named(spans, "Node/node-1")
    expect(error).toBe("Ready: Unknown: the kubelet says nothing")
    expect(events.map(({ name, time }) => [name, (time - epoch) / 1e6])).toEqual([
      ["condition Ready: Unknown", 5],
      ["condition Ready: True", 9],
    ])
  })

  test("show what the trace lacks in an OTLP trace of their own", () => {
    const spans = traced(
      header(0, 60, { incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] }),
      event("applied", 1, deployment),
      gap("v1.Pod", -5, 20, "shop"),
    )
    const missing = spans.filter(({ name }) => name !== "Deployment/web")
    expect(missing.map(({ name, error }) => [name, error])).toEqual([
      ["gap: v1.Pod", "expired: the server forgot"],
      ["incomplete: v1.Secret", "the kind was not watched: forbidden"],
    ])
    expect(new Set(missing.map(({ traceId }) => traceId)).size).toBe(1)
    expect(missing[0]).toMatchObject({ begin: epoch, end: epoch + 20e6 })
    expect(named(spans, "Deployment/web").traceId).not.toBe(missing[0]?.traceId)
  })

  test("of lifecycles that SimKube lists are below their owner, if it exists", () => {
    const spans = traced(
      header(0, 60),
      event("applied", 1, deployment),
      listed("shop/web", 0x5fn, [5, 9]),
      listed("shop/gone", 0x5fn, [5, 9]),
    )
    expect(treeOf(spans)).toEqual([
      "Deployment/web 1–60",
      "  Pod with spec 000000000000005f 5–9",
      "Pod with spec 000000000000005f 5–9",
    ])
    expect(spans.find(({ parentSpanId, name }) => parentSpanId === "" && name.startsWith("Pod"))?.resource).toEqual({
      "service.name": "gone",
      "service.namespace": "shop",
      "k8s.namespace.name": "shop",
      "k8s.deployment.name": "gone",
    })
  })
})

describe("requests", () => {
  test("have at most 512 spans and about a mebibyte, one on each line", () => {
    const many = Array.from({ length: 1200 }, (_, index) =>
      event("applied", 1, core("ConfigMap", { name: `c${index}`, uid: `u${index}` })),
    )
    const lines = encoded(otlpEncoder(), [header(0, 60), ...many])
      .toString()
      .trimEnd()
      .split("\n")
    expect(lines.map((line) => tracedIn(Buffer.from(`${line}\n`)).length)).toEqual([512, 512, 176])
    const long = Array.from({ length: 600 }, (_, index) =>
      event("applied", 1, pod({ phase: "Failed", message: "x".repeat(9000) }, { name: `p${index}`, uid: `u${index}` })),
    )
    const bytes = encoded(otlpEncoder(), [header(0, 60), ...long])
    for (const line of bytes.toString().trimEnd().split("\n")) expect(line.length).toBeLessThan(1.2 * 1024 * 1024)
    expect(named(tracedIn(bytes), "phase Failed").says["kubereel.pod.message"]).toBe(`${"x".repeat(4096)}…`)
  })

  test("are none for a trace without anything", () => {
    expect(encoded(otlpEncoder(), [header(0, 60)]).length).toBe(0)
  })
})

test("a trace with an object that is no JSON object, or without its header, is refused", () => {
  expect(() => traced(event("applied", 1, deployment))).toThrow(UnwritableTraceError)
  expect(() => traced(header(0, 60), event("applied", 1, "no object" as never))).toThrow()
})

test("whatever happens, spans have a parent in their trace, IDs of their own, and times in order", () => {
  fc.assert(
    fc.property(anyEvents, (items) => {
      // The reader checks parents, identifiers and order.
      for (const { begin } of traced(header(0, 60), ...items)) expect(begin).toBeGreaterThanOrEqual(epoch)
    }),
    { numRuns: rounds(500) },
  )
})
