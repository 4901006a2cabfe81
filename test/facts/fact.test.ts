/** What of a change becomes a fact, and that no secret does. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { factOf } from "../../src/facts/fact.ts"

type Change = Parameters<typeof factOf>[0]

const bytes = (object: object | undefined): Uint8Array =>
  object === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(object))

/** The fact of a change of an object from one state to another. */
const fact = (
  gvk: string,
  after: object | undefined,
  before?: object,
  type: Change["type"] = before === undefined ? "created" : "changed",
  author?: Parameters<typeof factOf>[2],
) =>
  factOf(
    {
      type,
      event: {
        ...{
          type: "object",
          sequence: 7,
          time: 1_764_000_000_000_001,
          gvk,
          action: "applied",
          uid: "u",
          namespace: "shop",
        },
        ...{ name: "web", resourceVersion: "12", object: bytes(after) },
      },
      before: before === undefined ? undefined : bytes(before),
    },
    "cluster-1",
    author,
  )

const pod = (status: object, spec: object = {}): object => ({
  metadata: {
    ownerReferences: [
      { kind: "Node", name: "n" },
      { kind: "ReplicaSet", name: "web-5c", controller: true },
    ],
  },
  spec,
  status,
})
const running = { running: { startedAt: "2026-01-01T00:00:00Z" } }
const ended = (reason: string, finishedAt: string) => ({ terminated: { reason, finishedAt, exitCode: 137 } })
const container = (state: object, restartCount: number, lastState: object = {}) => ({
  containerStatuses: [{ name: "main", state, lastState, restartCount }],
})

describe("A fact", () => {
  test("says what changed, who did it, and what the object is", () => {
    const template = {
      spec: {
        containers: [
          { name: "web", image: "web:1", resources: { requests: { cpu: "250m", memory: "64Mi" } } },
          { name: "log", image: "log:1", resources: { requests: { cpu: "1" } } },
        ],
        initContainers: [{ name: "wait", image: "web:1" }],
      },
    }
    const entry = (time: string) => [{ manager: "kubectl", operation: "Update", time, fieldsV1: { "f:spec": {} } }]
    const state = (replicas: number, time: string) => ({
      metadata: { resourceVersion: time, managedFields: entry(time) },
      spec: { replicas, template },
    })
    const author = {
      ...{ user: "admin", impersonated: "alice", groups: [], userAgent: "" },
      sourceIPs: [],
      verb: "patch",
    }
    expect(
      fact("apps/v1.Deployment", state(3, "2026-01-02T00:00:00Z"), state(2, "2026-01-01T00:00:00Z"), "changed", author),
    ).toEqual({
      ...{ time: 1_764_000_000_000_001, cluster_uid: "cluster-1", sequence: 7, gvk: "apps/v1.Deployment" },
      ...{ kind: "Deployment", namespace: "shop", name: "web", uid: "u", resource_version: "12", operation: "changed" },
      ...{ changed: ["spec.replicas"], manager: "kubectl", username: "admin as alice", owner: null, phase: null },
      ...{ reason: null, replicas: 3, restarts: null, images: ["web:1", "log:1"], node: null, cpu: 1.25 },
      ...{ memory: 64 * 1024 * 1024, images_before: null, replicas_before: 2, restarts_before: null },
    })
  })

  test("says once how a container of a pod ended, also if it runs again already", () => {
    const before = pod({ phase: "Running", ...container(running, 0) }, { nodeName: "node-1" })
    const first = ended("OOMKilled", "2026-01-01T00:01:00Z")
    const killed = pod({ phase: "Running", ...container(first, 0) }, { nodeName: "node-1" })
    const again = pod({ phase: "Running", ...container(running, 1, first) }, { nodeName: "node-1" })
    const second = pod({ phase: "Running", ...container(running, 2, ended("OOMKilled", "2026-01-01T00:02:00Z")) })
    const waiting = pod({ ...container({ waiting: { reason: "CrashLoopBackOff" } }, 2, first) })
    const facts = [fact("v1.Pod", killed, before), fact("v1.Pod", again, killed), fact("v1.Pod", second, again)]
    expect(facts.map(({ reason, restarts }) => [reason, restarts])).toEqual([
      ["OOMKilled", 0],
      [null, 1],
      ["OOMKilled", 2],
    ])
    expect(facts[0]).toMatchObject({ owner: "ReplicaSet/web-5c", node: "node-1", phase: "Running", replicas: null })
    expect(fact("v1.Pod", waiting, again).reason).toBe("CrashLoopBackOff")
    expect(fact("v1.Pod", again, undefined, "appeared").reason).toBeNull()
  })

  test("says why a pod is disturbed before anything else", () => {
    const conditions = [
      { type: "PodScheduled", status: "False", reason: "Unschedulable" },
      { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" },
    ]
    expect(fact("v1.Pod", pod({ conditions, reason: "Evicted" })).reason).toBe("EvictionByEvictionAPI")
    expect(fact("v1.Pod", pod({ conditions: conditions.slice(0, 1) })).reason).toBe("Unschedulable")
  })

  test.each([
    [
      "v1.Node",
      { status: { conditions: [{ type: "Ready", status: "False", reason: "KubeletNotReady" }] } },
      "NotReady",
      "KubeletNotReady",
    ],
    [
      "v1.Node",
      { status: { conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }] } },
      "Ready",
      "KubeletReady",
    ],
    ["v1.Node", { status: {} }, "Unknown", null],
    [
      "batch/v1.Job",
      { status: { conditions: [{ type: "Failed", status: "True", reason: "DeadlineExceeded" }] } },
      "Failed",
      "DeadlineExceeded",
    ],
    [
      "v1.Event",
      { type: "Warning", reason: "BackOff", involvedObject: { kind: "Pod", name: "web-1" } },
      "Warning",
      "BackOff",
    ],
    ["v1.Namespace", { status: { phase: "Terminating" } }, "Terminating", null],
    ["example.com/v1.Thing", { status: { phase: "It is: a sentence with the token abc" } }, null, null],
  ])("of a %s has its phase and reason", (gvk, object, phase, reason) => {
    expect(fact(gvk, object)).toMatchObject({ phase, reason })
    if (gvk === "v1.Event") expect(fact(gvk, object).owner).toBe("Pod/web-1")
  })

  test("of an object that vanished is that of its last state, without what was not written", () => {
    const last = { metadata: { managedFields: [{ manager: "kubectl", operation: "Update" }] }, spec: { replicas: 2 } }
    const expected = { replicas: 2, changed: null, manager: null }
    expect(fact("apps/v1.Deployment", undefined, last, "vanished")).toMatchObject(expected)
    expect(fact("apps/v1.Deployment", last, last, "deleted")).toMatchObject(expected)
  })

  test("names at most 64 paths", () => {
    const data = (value: string) => ({
      data: Object.fromEntries(Array.from({ length: 100 }, (_, key) => [`k${key}`, value])),
    })
    expect(fact("v1.ConfigMap", data("a"), data("b")).changed).toHaveLength(64)
  })

  test("counts sidecars among the containers, and containers that only initialise not", () => {
    const requests = (cpu: string, restartPolicy?: string) => ({ restartPolicy, resources: { requests: { cpu } } })
    const initContainers = [requests("2", "Always"), requests("4")]
    expect(fact("v1.Pod", pod({}, { containers: [requests("1")], initContainers })).cpu).toBe(3)
  })

  test("of an Event about nothing has no owner, and of a Node without a status no phase", () => {
    expect(fact("v1.Event", { involvedObject: {} }).owner).toBeNull()
    expect(fact("v1.Node", { metadata: {} }).phase).toBeNull()
  })

  test("has numbers only that columns can have", () => {
    const odd = { spec: { replicas: 1e300 }, status: { allocatable: { cpu: "many", memory: "9e400" } } }
    expect(fact("v1.Node", odd)).toMatchObject({ cpu: null })
  })
})

describe("No secret", () => {
  const secret = fc.stringMatching(/^SECRET[a-z0-9/.~ "[\]\\]{1,20}$/)

  test("is in a fact, whatever its annotation or variable is called", () => {
    fc.assert(
      fc.property(secret, secret, secret, (name, one, other) => {
        const state = (value: string, version: string) => {
          const metadata = { annotations: { [name]: value }, resourceVersion: version }
          const env = [
            { name: name.replaceAll(/[\]\s]/g, ""), value },
            { name: version, value },
          ]
          const containers = [{ name: "web", image: "web:1", env, args: [value], command: [value] }]
          const template = { metadata, spec: { containers } }
          return {
            ...{
              metadata,
              spec: { template },
              data: { key: value },
            },
          }
        }
        for (const gvk of ["apps/v1.Deployment", "v1.ConfigMap", "v1.Event"]) {
          const text = JSON.stringify(fact(gvk, state(other, "2"), state(one, "1"))).replaceAll("SECRETS", "")
          expect(text).not.toContain("SECRET")
        }
      }),
    )
  })

  test("leaves a trace where redaction has replaced it", () => {
    const hash = "redacted:0123456789abcdef"
    const containers = [{ name: "web", image: `https://${hash}@example.com/web:1` }]
    const object = pod({ phase: hash, reason: hash }, { containers, nodeName: hash })
    expect(JSON.stringify(fact("v1.Pod", object))).not.toContain("redacted")
  })

  test.each([
    ["vars[…].value", (value: string) => ({ vars: [{ key: "s3cr3t", value }] })],
    ["hosts[…].value", (value: string) => ({ hosts: [{ ip: "10.0.0.1", value }] })],
    ["list", (value: string) => ({ list: [{ name: "redacted:0123456789abcdef", value }] })],
    ["data", (value: string) => ({ data: { "redacted:0123456789abcdef": value } })],
    ["annotations", (value: string) => ({ annotations: { TOKEN: value } })],
    ["env", (value: string) => ({ env: [{ name: "TOKEN", value }] })],
    ["spec.podAnnotations", (value: string) => ({ spec: { podAnnotations: { TOKEN: value } } })],
    ["spec.extraEnv", (value: string) => ({ spec: { extraEnv: [{ name: "TOKEN", value }] } })],
  ])("is in the path %s", (path, state) => {
    expect(fact("example.com/v1.Thing", state("a"), state("b")).changed).toEqual([path])
  })

  test("hides a change of annotations or variables: their place is named, and other names stay", () => {
    const state = (value: string) => ({
      metadata: { labels: { env: value, "a.env.b": value }, annotations: { "example.com/key": value } },
      spec: { template: { spec: { containers: [{ name: "web", env: [{ name: "KEY", value }] }] } } },
    })
    expect(fact("apps/v1.Deployment", state("a"), state("b")).changed).toEqual([
      ...["metadata.labels.env", 'metadata.labels["a.env.b"]', "metadata.annotations"],
      "spec.template.spec.containers[name=web].env",
    ])
  })
})
