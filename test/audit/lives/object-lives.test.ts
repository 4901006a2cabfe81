/** What each write of a log with whole objects does, and what one without them leaves unknown. */
import { describe, expect, test } from "vitest"
import { auditEvent, begin, configMap, type EventFacts, stored, success } from "../audit-events.ts"
import { livesOf } from "./lives-of.ts"

const micros = (seconds: number): number => begin + seconds * 1_000_000

const created = (facts: EventFacts = {}) => auditEvent({ verb: "create", code: 201, response: configMap(1), ...facts })
const actions = (lived: ReturnType<typeof livesOf>) =>
  lived.changes.map(({ action, time }) => [action, (time - begin) / 1_000_000])

describe("an object with its responses", () => {
  test("is created, changed and deleted, with its last state", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, response: configMap(2, { a: "1" }) }),
      auditEvent({ at: 2, verb: "patch", response: configMap(3, { a: "2" }) }),
      auditEvent({ at: 3, verb: "delete", response: success() }),
    ])
    expect(lived.changes).toEqual([
      { ...change(0, "applied", "1"), object: configMap(1) },
      { ...change(1, "applied", "2"), object: configMap(2, { a: "1" }) },
      { ...change(2, "applied", "3"), object: configMap(3, { a: "2" }) },
      { ...change(3, "deleted", "3"), object: configMap(3, { a: "2" }) },
    ])
    expect(lived.gaps).toEqual([])
    expect(lived.lives.record.counts).toMatchObject({ found: 0, superseded: 0, unseenDeletions: 0 })
  })

  test("has the name that the server made", () => {
    const response = configMap(1, {}, { name: "web-x7k2p", generateName: "web-" })
    expect(livesOf([created({ name: "", response })]).changes[0]?.name).toBe("web-x7k2p")
  })

  test("appears with its first change if it existed before, which is counted", () => {
    const lived = livesOf([auditEvent({ at: 5, verb: "patch", response: configMap(7) })])
    expect(actions(lived)).toEqual([["applied", 5]])
    expect(lived.lives.record.counts.found).toBe(1)
  })

  test("is new if an update or an apply says so with 201", () => {
    expect(livesOf([auditEvent({ verb: "patch", code: 201, response: configMap(7) })]).lives.record.counts.found).toBe(
      0,
    )
  })

  test("has no event for a write that changed nothing", () => {
    expect(livesOf([created(), auditEvent({ at: 1, response: configMap(1) })]).changes).toHaveLength(1)
  })

  test("has no event for an older version that is logged later, which is counted", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, response: configMap(5, { a: "5" }) }),
      auditEvent({ at: 1, response: configMap(4, { a: "4" }) }),
    ])
    expect(lived.changes.map(({ resourceVersion }) => resourceVersion)).toEqual(["1", "5"])
    expect(lived.lives.record.counts.superseded).toBe(1)
  })

  test("is not brought back by an entry that comes after its deletion", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, verb: "delete", response: success() }),
      auditEvent({ at: 1, response: configMap(2) }),
    ])
    expect(lived.state.size).toBe(0)
    expect(lived.lives.record.counts.superseded).toBe(1)
  })

  test("vanishes if another one has its name, whose deletion was not logged", () => {
    const lived = livesOf([created(), created({ at: 2, response: configMap(9, {}, { uid: "u2" }) })])
    expect(lived.changes.map(({ action, uid, resourceVersion }) => [action, uid, resourceVersion])).toEqual([
      ["applied", "u1", "1"],
      ["vanished", "u1", "9"],
      ["applied", "u2", "9"],
    ])
  })

  test("is not deleted by the late entry about a former one of its name", () => {
    const lived = livesOf([
      created({ response: configMap(9, {}, { uid: "u2" }) }),
      auditEvent({ at: 1, verb: "delete", response: success("u1") }),
    ])
    expect(lived.state.size).toBe(1)
  })

  test("keeps the API version in which it came; another one cannot be converted and is a gap", () => {
    const scaler = (version: string, resourceVersion: number) =>
      stored(`autoscaling/${version}`, "HorizontalPodAutoscaler", resourceVersion)
    const facts = { resource: "autoscaling/v2 horizontalpodautoscalers" }
    const lived = livesOf([
      auditEvent({ ...facts, verb: "create", code: 201, response: scaler("v2", 1) }),
      auditEvent({ ...facts, at: 1, resource: "autoscaling/v1 horizontalpodautoscalers", response: scaler("v1", 2) }),
      auditEvent({ ...facts, at: 2, response: scaler("v2", 3) }),
    ])
    expect(lived.changes.map(({ gvk, resourceVersion }) => [gvk, resourceVersion])).toEqual([
      ["autoscaling/v2.HorizontalPodAutoscaler", "1"],
      ["autoscaling/v2.HorizontalPodAutoscaler", "3"],
    ])
    expect(lived.gaps).toMatchObject([{ fromTime: micros(1), toTime: micros(2), fromVersion: "1", toVersion: "3" }])
  })

  test("of a kind that is excluded leaves nothing, not even a loss", () => {
    const isExcluded = ({ kind }: { kind: string }): boolean => kind === "ConfigMap"
    const lived = livesOf([created(), auditEvent({ at: 1, level: "Metadata" })], { isExcluded })
    expect([lived.changes, lived.gaps, [...lived.lives.record.losses.counts]]).toEqual([[], [], []])
  })

  test("is not made of what the server stores nowhere: reviews, and dry runs whose address is not in the log", () => {
    const review = stored("example.com/v1", "Review", 0, { metadata: { name: "", resourceVersion: "" } })
    const { resourceVersion: _, ...metadata } = configMap(1).metadata as { resourceVersion: string }
    expect(
      livesOf([created({ response: review }), created({ response: { ...configMap(1), metadata } })]).changes,
    ).toEqual([])
  })
})

test("the UID of namespace kube-system is the cluster's", () => {
  const response = stored("v1", "Namespace", 4, { metadata: { name: "kube-system", uid: "c1", namespace: undefined } })
  const event = auditEvent({ resource: "namespaces", name: "kube-system", namespace: "kube-system", response })
  expect(livesOf([event]).lives.record.clusterUid).toBe("c1")
})

test("a write that comes far too late has the time of the one before", () => {
  const lived = livesOf([created({ at: 10 }), auditEvent({ at: 2, response: configMap(2) })])
  expect(actions(lived)).toEqual([
    ["applied", 10],
    ["applied", 10],
  ])
  expect(lived.lives.record.counts.late).toBe(1)
})

describe("a write without an object", () => {
  test("begins a gap of its kind and namespace, which the next whole object ends", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, verb: "patch", level: "Metadata" }),
      auditEvent({ at: 2, verb: "patch", level: "Request", request: { data: {} } }),
      auditEvent({ at: 3, response: configMap(8) }),
    ])
    expect(lived.gaps).toEqual([
      {
        ...{ gvk: "v1.ConfigMap", namespace: "shop", reason: "unlogged", fromVersion: "1", toVersion: "8" },
        ...{ time: micros(3), fromTime: micros(1), toTime: micros(3) },
        detail:
          "the audit log has no objects for 1 change logged at level Metadata; 1 change made by patches, which level Request logs without their results",
      },
    ])
  })

  test("is a gap until every object of the kind and namespace is known again, or gone", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, verb: "patch", level: "Metadata" }),
      auditEvent({ at: 2, verb: "patch", level: "Metadata", name: "other" }),
      auditEvent({ at: 3, response: configMap(8) }),
      auditEvent({ at: 4, verb: "delete", name: "other", level: "Metadata" }),
    ])
    expect(lived.gaps.map(({ fromTime, toTime }) => [fromTime, toTime])).toEqual([[micros(1), micros(4)]])
  })

  test("leaves the gap open to the end of the log if nothing ends it", () => {
    const lived = livesOf([auditEvent({ at: 1, level: "Metadata" })], { end: micros(60) })
    expect(lived.gaps).toMatchObject([{ gvk: "v1.ConfigMap", fromVersion: "", toVersion: "", toTime: micros(60) + 1 }])
  })

  test("names kinds of Kubernetes by their resource, and others by their plural until an object has come", () => {
    const gvks = (resource: string) => livesOf([auditEvent({ resource, level: "Metadata" })]).gaps.map(({ gvk }) => gvk)
    expect(gvks("networking.k8s.io/v1 networkpolicies")).toEqual(["networking.k8s.io/v1.NetworkPolicy"])
    expect(gvks("networking.k8s.io/v1 ingresses")).toEqual(["networking.k8s.io/v1.Ingress"])
    expect(gvks("storage.k8s.io/v1 volumeattributesclasses")).toEqual(["storage.k8s.io/v1.VolumeAttributesClass"])
    expect(gvks("example.com/v1 crontabs")).toEqual(["example.com/v1.crontabs"])
    const known = auditEvent({ resource: "example.com/v1 crontabs", response: stored("example.com/v1", "CronTab", 2) })
    const lost = auditEvent({ at: 1, resource: "example.com/v1 crontabs", level: "Metadata" })
    expect(livesOf([known, lost]).gaps.map(({ gvk }) => gvk)).toEqual(["example.com/v1.CronTab"])
  })

  test.each<[string, EventFacts]>([
    ["metadata-level", { level: "Metadata" }],
    ["truncated", { annotations: { "audit.k8s.io/truncated": "true" } }],
    ["patch-at-request-level", { level: "Request", verb: "patch", request: { spec: {} } }],
    [
      "generated-name",
      { level: "Request", verb: "create", name: "", request: { kind: "Pod", metadata: { generateName: "a-" } } },
    ],
    ["no-object", { response: { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: {}, rows: [] } }],
    ["no-object", { response: { kind: "Status", apiVersion: "v1", metadata: {} } }],
    ["no-object", {}],
  ])("is counted by its reason: %s", (reason, facts) => {
    const [counted] = livesOf([auditEvent(facts)]).lives.record.losses.counts
    expect([...(counted?.reasons ?? [])]).toEqual([[reason, 1]])
  })
})

describe("at level Request", () => {
  const sent = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "web", resourceVersion: "3" },
    data: { a: "1" },
  }

  test("the object is as it was sent, in its place, without the version of the state before", () => {
    const lived = livesOf([auditEvent({ verb: "create", code: 201, level: "Request", request: sent })])
    expect(lived.changes).toMatchObject([
      {
        ...{ action: "applied", gvk: "v1.ConfigMap", uid: "", resourceVersion: "" },
        object: { metadata: { name: "web", namespace: "shop" }, data: { a: "1" } },
      },
    ])
    expect(lived.changes[0]?.object?.metadata).not.toHaveProperty("resourceVersion")
    expect([...lived.lives.record.counts.sent]).toEqual([["v1.ConfigMap", 1]])
    expect(lived.gaps).toEqual([])
  })

  test("an update keeps the UID of the object that was known, and ends a gap", () => {
    const lived = livesOf([
      created(),
      auditEvent({ at: 1, verb: "patch", level: "Metadata" }),
      auditEvent({ at: 2, level: "Request", request: sent }),
    ])
    expect(lived.changes.at(-1)).toMatchObject({ uid: "u1", object: { data: { a: "1" } } })
    expect(lived.gaps).toHaveLength(1)
  })

  test("an update of the status changes the status alone", () => {
    const request = { ...sent, data: { a: "ignored" }, status: { phase: "Ready" } }
    const lived = livesOf([created(), auditEvent({ at: 1, level: "Request", subresource: "status", request })])
    expect(lived.changes.at(-1)?.object).toEqual({ ...configMap(1), status: { phase: "Ready" } })
  })

  test("a patch is a loss, and so is the status of an object that is not known", () => {
    const request = { ...sent, status: {} }
    const lived = livesOf([auditEvent({ level: "Request", subresource: "status", request })])
    expect([...lived.lives.record.losses.counts].map(({ reasons }) => [...reasons])).toEqual([[["unseen-object", 1]]])
  })
})

/** The change of `web` in these tests. */
const change = (seconds: number, action: string, resourceVersion: string) => ({
  ...{ time: micros(seconds), action, gvk: "v1.ConfigMap", uid: "u1", namespace: "shop", name: "web", resourceVersion },
})
