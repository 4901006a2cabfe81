import fc from "fast-check"
import { expect, test } from "vitest"
import { healthOf, partsOf, type Tone, tones } from "../../src/timeline/index.ts"

const pod = (status: object) => ["v1.Pod", { status }] as const
const container = (state: object, more: object = {}) => ({ containerStatuses: [{ name: "main", state, ...more }] })
const killed = { terminated: { reason: "OOMKilled", exitCode: 137 } }
const condition = (type: string, status: string, more: object = {}) => ({ conditions: [{ type, status, ...more }] })

const judged: ReadonlyArray<readonly [string, readonly [string, unknown], Tone, string?]> = [
  ["ready pod", pod({ phase: "Running", ...condition("Ready", "True") }), tones.good],
  ["starting pod", pod({ phase: "Pending", ...container({ waiting: { reason: "PodInitializing" } }) }), tones.waiting],
  ["finished pod", pod({ phase: "Succeeded" }), tones.over],
  ["evicted pod", pod({ phase: "Failed", reason: "Evicted", message: "low on memory" }), tones.bad, "failed-pod"],
  [
    "pod without a node",
    pod({ phase: "Pending", ...condition("PodScheduled", "False", { reason: "Unschedulable" }) }),
    tones.bad,
    "unscheduled-pod",
  ],
  [
    "crashing pod",
    pod({ phase: "Running", ...container({ waiting: { reason: "CrashLoopBackOff" } }) }),
    tones.bad,
    "crash-loop",
  ],
  [
    "pod that waits after it ran out of memory",
    pod(container({ waiting: { reason: "CrashLoopBackOff" } }, { lastState: killed })),
    tones.bad,
    "out-of-memory",
  ],
  ["killed container", pod({ phase: "Running", ...container(killed) }), tones.bad, "out-of-memory"],
  ["image", pod(container({ waiting: { reason: "ErrImagePull" } })), tones.bad, "image-not-pulled"],
  ["node", ["v1.Node", { status: condition("Ready", "Unknown") }], tones.bad, "node-not-ready"],
  ["full node", ["v1.Node", { status: condition("DiskPressure", "True") }], tones.bad, "node-under-pressure"],
  ["job", ["batch/v1.Job", { status: condition("Failed", "True") }], tones.bad, "failed-job"],
  ["complete job", ["batch/v1.Job", { status: condition("Complete", "True") }], tones.over],
  ["roll-out", ["apps/v1.Deployment", { status: condition("Progressing", "False") }], tones.bad, "stalled-roll-out"],
  [
    "roll-out under way",
    ["apps/v1.Deployment", { status: { unavailableReplicas: 1, availableReplicas: 2 } }],
    tones.waiting,
    "replicas-missing",
  ],
  ["set", ["apps/v1.StatefulSet", { status: { replicas: 2, readyReplicas: 2 } }], tones.good],
  ["custom kind", ["example.com/v1.Widget", { status: condition("Ready", "False") }], tones.bad],
  ["claim", ["v1.PersistentVolumeClaim", { status: { phase: "Pending" } }], tones.waiting],
  ["map", ["v1.ConfigMap", { data: {} }], tones.plain],
  [
    "pod after a debugger",
    pod({
      phase: "Running",
      ...condition("Ready", "True"),
      ephemeralContainerStatuses: [{ name: "debug", state: { terminated: { exitCode: 130 } } }],
    }),
    tones.good,
  ],
  [
    "pod that a signal ended",
    [
      "v1.Pod",
      {
        metadata: { deletionTimestamp: "x" },
        status: { phase: "Failed", ...container({ terminated: { exitCode: 143 } }) },
      },
    ],
    tones.waiting,
  ],
  [
    "pod that ran out of memory and is deleted",
    ["v1.Pod", { metadata: { deletionTimestamp: "x" }, status: { phase: "Running", ...container(killed) } }],
    tones.bad,
    "out-of-memory",
  ],
  ["pod on its way out", ["v1.Pod", { metadata: { deletionTimestamp: "x" }, status: { phase: "Running" } }], 4],
]
for (const [name, [gvk, object], tone, code] of judged)
  test(name, () => {
    const health = healthOf(gvk, object)
    expect([health.tone, health.wrong?.code]).toEqual([tone, code])
  })

test("the rows below a pod are its conditions and containers, with what they say", () => {
  const status = {
    ...condition("Ready", "False", { reason: "ContainersNotReady" }),
    ...container({ waiting: { reason: "CrashLoopBackOff" } }),
    initContainerStatuses: [{ name: "setup", state: { terminated: { exitCode: 0, reason: "Completed" } } }],
  }
  expect(partsOf("v1.Pod", { status }).map(({ part, tone, text }) => [part.id, tone, text])).toEqual([
    ["condition/Ready", tones.waiting, "False (ContainersNotReady)"],
    ["init container/setup", tones.over, "Terminated: Completed (0)"],
    ["container/main", tones.bad, "Waiting: CrashLoopBackOff"],
  ])
})

test("an object of any structure is judged", () => {
  const key = fc.constantFrom(
    ...["status", "conditions", "phase", "type", "reason", "containerStatuses", "state", "waiting", "terminated"],
    ...["name", "exitCode", "restartCount", "lastState", "replicas", "metadata", "__proto__", "toString"],
  )
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, 1, 1.5, "", "Ready", "Unschedulable", "constructor"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(key, tie("value"), { maxKeys: 4 }),
    ),
  }))
  const gvk = fc.constantFrom("v1.Pod", "v1.Node", "apps/v1.Deployment", "batch/v1.Job", "constructor", "", "a/b.c")
  fc.assert(
    fc.property(gvk, value, (kind, object) => {
      expect(Object.values(tones)).toContain(healthOf(kind, object).tone)
      expect(partsOf(kind, object)).toBeInstanceOf(Array)
    }),
  )
})
