import { describe, expect, test } from "vitest"
import { auditEvent, begin, type EventFacts, stored } from "../audit-events.ts"
import { livesOf } from "./lives-of.ts"

const deployment = (version: number, replicas: number) =>
  stored("apps/v1", "Deployment", version, { spec: { replicas } })
const pod = (version: number, spec = {}, status = {}, metadata = {}) =>
  stored("v1", "Pod", version, { metadata, spec, status })
const created = (response: ReturnType<typeof pod>, resource: string) =>
  auditEvent({ verb: "create", code: 201, resource, response })

const pods = (facts: EventFacts) => auditEvent({ at: 1, resource: "pods", ...facts })
const reasonsOf = (lived: ReturnType<typeof livesOf>) =>
  [...lived.lives.record.losses.counts].flatMap(({ reasons }) => [...reasons.keys()])

test.each(["status", "ephemeralcontainers", "resize"])("the response of pods/%s is the pod", (subresource) => {
  const response = pod(2, {}, { phase: "Running" })
  const lived = livesOf([created(pod(1), "pods"), pods({ verb: "patch", subresource, response })])
  expect(lived.changes.at(-1)?.object).toEqual(response)
})

describe("scale", () => {
  const scale = (version: string, replicas?: number) => ({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name: "web", namespace: "shop", uid: "u1", resourceVersion: version },
    spec: { ...(replicas !== undefined && { replicas }) },
  })
  const scaling = (facts: EventFacts) =>
    auditEvent({ at: 1, verb: "patch", resource: "apps/v1 deployments", subresource: "scale", ...facts })

  test("changes the replicas of the object that is known, which has the version of the Scale", () => {
    const lived = livesOf([created(deployment(1, 1), "apps/v1 deployments"), scaling({ response: scale("5", 3) })])
    expect(lived.changes.at(-1)).toMatchObject({ action: "applied", resourceVersion: "5", object: deployment(5, 3) })
  })

  test("without replicas is zero, which JSON leaves out", () => {
    const lived = livesOf([created(deployment(1, 1), "apps/v1 deployments"), scaling({ response: scale("5") })])
    expect(lived.changes.at(-1)?.object).toEqual(deployment(5, 0))
  })

  test("of an object that is not known, or has no replicas, is a loss", () => {
    expect(reasonsOf(livesOf([scaling({ response: scale("5", 3) })]))).toEqual(["unseen-object"])
    const other = stored("apps/v1", "Deployment", 1, { spec: { size: 1 } })
    expect(reasonsOf(livesOf([created(other, "apps/v1 deployments"), scaling({ response: scale("5", 3) })]))).toEqual([
      "no-object",
    ])
  })

  test("at level Request is known of an update, but not of a patch", () => {
    const before = created(deployment(1, 1), "apps/v1 deployments")
    const update = scaling({ verb: "update", level: "Request", request: scale("1", 4) })
    expect(livesOf([before, update]).changes.at(-1)?.object).toEqual(deployment(1, 4))
    const patch = scaling({ level: "Request", request: { spec: { replicas: 4 } } })
    expect(reasonsOf(livesOf([before, patch]))).toEqual(["patch-at-request-level"])
  })
})

describe("binding", () => {
  const request = { kind: "Binding", apiVersion: "v1", metadata: { name: "web" }, target: { kind: "Node", name: "n1" } }

  test("puts the pod on its node", () => {
    const lived = livesOf([
      created(pod(1), "pods"),
      pods({ verb: "create", subresource: "binding", code: 201, request }),
    ])
    expect(lived.changes.at(-1)).toMatchObject({ resourceVersion: "1", object: { spec: { nodeName: "n1" } } })
  })

  test("of the old collection does the same", () => {
    const lived = livesOf([
      created(pod(1), "pods"),
      auditEvent({ at: 1, verb: "create", resource: "bindings", name: "", code: 201, request }),
    ])
    expect(lived.changes.at(-1)?.object).toMatchObject({ spec: { nodeName: "n1" } })
  })

  test("without its body is a loss", () => {
    const binding = pods({ verb: "create", subresource: "binding", level: "Metadata" })
    expect(reasonsOf(livesOf([created(pod(1), "pods"), binding]))).toEqual(["metadata-level"])
    expect(reasonsOf(livesOf([binding]))).toEqual(["metadata-level"])
  })
})

describe("eviction", () => {
  const running = pod(1, { nodeName: "n1", terminationGracePeriodSeconds: 20 }, { phase: "Running" })
  const eviction = (deleteOptions = {}) =>
    pods({ verb: "create", subresource: "eviction", code: 201, request: { kind: "Eviction", deleteOptions } })

  test("marks a running pod as deleted, which a deletion of the kubelet ends", () => {
    const lived = livesOf([
      created(running, "pods"),
      eviction(),
      pods({ at: 9, verb: "delete", request: { kind: "DeleteOptions", gracePeriodSeconds: 0 }, level: "Request" }),
    ])
    expect(lived.changes.map(({ action }) => action)).toEqual(["applied", "applied", "deleted"])
    expect(lived.changes[1]?.object?.metadata).toMatchObject({
      deletionTimestamp: new Date(begin / 1000 + 21_000).toISOString().replace(".000", ""),
      deletionGracePeriodSeconds: 20,
    })
  })

  test("ends a pod that runs on no node, or has ended, or is given no time", () => {
    for (const waiting of [pod(1), pod(1, { nodeName: "n1" }, { phase: "Succeeded" })])
      expect(livesOf([created(waiting, "pods"), eviction()]).state.size).toBe(0)
    expect(livesOf([created(running, "pods"), eviction({ gracePeriodSeconds: 0 })]).state.size).toBe(0)
  })

  test("leaves a pod with finalizers until they are gone", () => {
    const held = pod(1, {}, {}, { finalizers: ["batch.kubernetes.io/job-tracking"] })
    const lived = livesOf([created(held, "pods"), eviction()])
    expect(lived.state.size).toBe(1)
    const metadata = { deletionTimestamp: "2026-03-01T12:00:01Z", deletionGracePeriodSeconds: 0 }
    const freed = pods({ at: 2, verb: "patch", response: pod(3, {}, {}, metadata) })
    expect(livesOf([created(held, "pods"), eviction(), freed]).state.size).toBe(0)
  })
})

describe("a client that gets the metadata alone", () => {
  const partial = (version: string, metadata = {}) => ({
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: { name: "web", namespace: "shop", uid: "u1", resourceVersion: version, ...metadata },
  })

  test("changes the metadata of the object that is known", () => {
    const request = { metadata: { labels: { a: "b" } } }
    const lived = livesOf([
      created(pod(1, { x: 1 }), "pods"),
      pods({ verb: "patch", request, response: partial("2", { labels: { a: "b" } }) }),
    ])
    expect(lived.changes.at(-1)?.object).toEqual(pod(2, { x: 1 }, {}, { labels: { a: "b" } }))
  })

  test("is a loss if it changes more", () => {
    const request = { metadata: {}, spec: { x: 2 } }
    expect(
      reasonsOf(livesOf([created(pod(1), "pods"), pods({ verb: "patch", request, response: partial("2") })])),
    ).toEqual(["no-object"])
  })

  test("ends an object by removing its last finalizer, also one that was not known", () => {
    const response = partial("3", { deletionTimestamp: "2026-03-01T12:00:01Z" })
    const held = created(pod(1, {}, {}, { finalizers: ["foregroundDeletion"] }), "pods")
    const freed = pods({ verb: "patch", request: { metadata: { finalizers: [] } }, response })
    expect(livesOf([held, freed]).changes.map(({ action }) => action)).toEqual(["applied", "deleted"])
    expect(livesOf([freed])).toMatchObject({
      changes: [],
      gaps: [],
      lives: { record: { counts: { unseenDeletions: 1 } } },
    })
  })
})
