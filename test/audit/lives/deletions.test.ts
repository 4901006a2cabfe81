import { describe, expect, test } from "vitest"
import { auditEvent, begin, configMap, type EventFacts, stored, success } from "../audit-events.ts"
import { livesOf } from "./lives-of.ts"

const pod = (version: number, metadata = {}, spec = { nodeName: "n1" }) =>
  stored("v1", "Pod", version, { metadata, spec, status: { phase: "Running" } })
const namespace = (version: number, finalizers: ReadonlyArray<string>, metadata = {}) =>
  stored("v1", "Namespace", version, { metadata: { namespace: undefined, ...metadata }, spec: { finalizers } })

const create = (response: ReturnType<typeof pod>, facts: EventFacts = {}) =>
  auditEvent({ verb: "create", code: 201, resource: "pods", response, ...facts })
const remove = (facts: EventFacts = {}) => auditEvent({ at: 1, verb: "delete", resource: "pods", ...facts })
const actions = (events: Parameters<typeof livesOf>[0]) => livesOf(events).changes.map(({ action }) => action)

const marked = { deletionTimestamp: "2026-03-01T12:00:31Z", deletionGracePeriodSeconds: 30 }

describe("a deletion with its response", () => {
  test("ends the object at once if that is a Status", () => {
    expect(
      actions([
        create(configMap(1), { resource: "configmaps" }),
        remove({ resource: "configmaps", response: success() }),
      ]),
    ).toEqual(["applied", "deleted"])
  })

  test("leaves a pod its grace period; the deletion without one ends it, with its last state", () => {
    const last = pod(9, { ...marked, deletionGracePeriodSeconds: 0 })
    const lived = livesOf([
      create(pod(1)),
      remove({ response: pod(2, marked) }),
      auditEvent({ at: 2, verb: "patch", resource: "pods", subresource: "status", response: pod(3, marked) }),
      remove({ at: 3, response: last }),
    ])
    expect(lived.changes.map(({ action, resourceVersion }) => [action, resourceVersion])).toEqual([
      ["applied", "1"],
      ["applied", "2"],
      ["applied", "3"],
      ["deleted", "9"],
    ])
    expect(lived.changes.at(-1)?.object).toEqual(last)
  })

  test("ends an object that is returned as it was, without a mark", () => {
    expect(actions([create(pod(1)), remove({ response: pod(1) })])).toEqual(["applied", "deleted"])
  })

  test("leaves an object with finalizers until an update removes the last of them", () => {
    const held = { deletionTimestamp: "2026-03-01T12:00:01Z", deletionGracePeriodSeconds: 0 }
    const update = (version: number, finalizers: ReadonlyArray<string>) =>
      auditEvent({
        at: version,
        resource: "pods",
        response: pod(version, { ...held, ...(finalizers.length > 0 && { finalizers }) }),
      })
    const begun = [
      create(pod(1, { finalizers: ["a", "b"] })),
      remove({ response: pod(2, { ...held, finalizers: ["a", "b"] }) }),
    ]
    expect(actions([...begun, update(3, ["a"])])).toEqual(["applied", "applied", "applied"])
    expect(actions([...begun, update(3, ["a"]), update(4, [])])).toEqual(["applied", "applied", "applied", "deleted"])
  })

  test("leaves a namespace until it is finalized", () => {
    const facts = { resource: "namespaces", namespace: "web" }
    const deletion = { deletionTimestamp: "2026-03-01T12:00:01Z" }
    const events = [
      create(namespace(1, ["kubernetes"]), facts),
      remove({ ...facts, response: namespace(2, ["kubernetes"], deletion) }),
      auditEvent({ ...facts, at: 5, subresource: "finalize", response: namespace(3, [], deletion) }),
    ]
    expect(actions(events.slice(0, 2))).toEqual(["applied", "applied"])
    expect(actions(events)).toEqual(["applied", "applied", "deleted"])
  })

  test("counts once if two are made at the same time, of which the later one finds nothing", () => {
    const empty = { apiVersion: "v1", kind: "Pod", metadata: {}, spec: { containers: null }, status: {} }
    const lived = livesOf([
      create(pod(1)),
      remove({ response: empty }),
      remove({ at: 2, response: pod(3, { ...marked, deletionGracePeriodSeconds: 0 }) }),
      remove({ at: 2, response: empty }),
      remove({ at: 2, response: success() }),
    ])
    expect(lived.changes.map(({ action }) => action)).toEqual(["applied", "deleted"])
    expect(lived.lives.record.counts).toMatchObject({ unseenDeletions: 0, superseded: 0 })
  })

  test("of an object that the log has not shown is no event, but counted, and late entries do not bring it back", () => {
    for (const response of [success(), pod(5)]) {
      const lived = livesOf([remove({ response }), auditEvent({ at: 2, resource: "pods", response: pod(4) })])
      expect(lived.changes).toEqual([])
      expect(lived.lives.record.counts).toMatchObject({ unseenDeletions: 1, superseded: 1 })
    }
  })
})

describe("a deletion without a response", () => {
  const metadata = { level: "Metadata" }

  test("ends an object that nothing holds", () => {
    const events = [create(configMap(1), { resource: "configmaps" }), remove({ resource: "configmaps", ...metadata })]
    expect(livesOf(events)).toMatchObject({
      changes: [{ action: "applied" }, { action: "deleted", object: configMap(1) }],
      gaps: [],
    })
  })

  test("leaves a running pod, whose state is then unknown, until the second one", () => {
    const lived = livesOf([create(pod(1)), remove(metadata), remove({ at: 3, ...metadata })])
    expect(lived.changes.map(({ action }) => action)).toEqual(["applied", "deleted"])
    expect(lived.gaps).toMatchObject([{ gvk: "v1.Pod", toVersion: "1" }])
  })

  test("ends a running pod that is given no time, and leaves one that is given more", () => {
    const request = (gracePeriodSeconds: number) => ({
      level: "Request",
      request: { kind: "DeleteOptions", gracePeriodSeconds },
    })
    expect(livesOf([create(pod(1)), remove(request(0))]).state.size).toBe(0)
    expect(livesOf([create(pod(1)), remove(request(5))]).state.size).toBe(1)
  })

  test("leaves what the garbage collector holds by a finalizer", () => {
    const request = { kind: "DeleteOptions", propagationPolicy: "Foreground" }
    const events = [
      create(configMap(1), { resource: "configmaps" }),
      remove({ resource: "configmaps", level: "Request", request }),
    ]
    expect(livesOf(events).state.size).toBe(1)
  })

  test.each([[["kubernetes"]], [[]]])(
    "leaves a namespace with the finalizers %j until it is finalized",
    (finalizers) => {
      const facts = { resource: "namespaces", namespace: "web" }
      const events = [create(namespace(1, finalizers), facts), remove({ ...facts, ...metadata })]
      expect(livesOf(events).state.size).toBe(1)
      const finalized = auditEvent({ ...facts, ...metadata, at: 5, subresource: "finalize" })
      expect(livesOf([...events, finalized]).state.size).toBe(0)
    },
  )
})

describe("a deletion of a collection", () => {
  const collection = (facts: EventFacts) => remove({ verb: "deletecollection", name: "", ...facts })
  const listOf = (...items: ReadonlyArray<ReturnType<typeof pod>>) => ({
    kind: "PodList",
    apiVersion: "v1",
    metadata: { resourceVersion: "20" },
    // Items of lists have neither.
    items: items.map(({ kind: _, apiVersion: __, ...item }) => item),
  })
  const waiting = (name: string) => pod(1, { name, uid: name }, { nodeName: "" })
  const running = (name: string) => pod(1, { name, uid: name })

  test("ends what its response lists and nothing holds, and marks the rest", () => {
    const lived = livesOf([
      ...[waiting("a"), running("b"), waiting("c")].map((each) => create(each, { name: "" })),
      collection({ response: listOf(waiting("a"), running("b")) }),
    ])
    expect(lived.changes.slice(3).map(({ action, name }) => [action, name])).toEqual([
      ["deleted", "a"],
      ["applied", "b"],
    ])
    expect(lived.state.get("v1.Pod shop/b")?.metadata).toMatchObject({ deletionGracePeriodSeconds: 30 })
    expect([...lived.state.keys()]).toEqual(["v1.Pod shop/b", "v1.Pod shop/c"])
  })

  test("marks an object once, however often it is repeated", () => {
    const repeated = collection({ response: listOf(running("b")) })
    expect(livesOf([create(running("b")), repeated, repeated, repeated]).changes).toHaveLength(2)
  })

  test("shows objects that existed before, if they exist on", () => {
    const lived = livesOf([collection({ response: listOf(waiting("a"), running("b")) })])
    expect(lived.changes.map(({ name }) => name)).toEqual(["b", "b"])
    expect(lived.lives.record.counts).toMatchObject({ found: 1, unseenDeletions: 1 })
  })

  test("ends Events that were made in another group", () => {
    const made = (group: string, name: string) =>
      stored(group, "Event", 1, { metadata: { name, uid: name }, reason: "Started" })
    const lived = livesOf([
      create(made("events.k8s.io/v1", "a"), { resource: "events.k8s.io/v1 events" }),
      create(made("v1", "b"), { resource: "events" }),
      collection({ resource: "events", response: { ...listOf(made("v1", "a"), made("v1", "b")), kind: "EventList" } }),
    ])
    expect(lived.changes.map(({ action, gvk, name }) => [action, gvk, name])).toEqual([
      ["applied", "events.k8s.io/v1.Event", "a"],
      ["applied", "v1.Event", "b"],
      ["deleted", "events.k8s.io/v1.Event", "a"],
      ["deleted", "v1.Event", "b"],
    ])
    expect(lived.changes[2]?.object).toMatchObject({ apiVersion: "events.k8s.io/v1" })
  })

  test("without a response is one of all that is known in the namespace", () => {
    const elsewhere = create(pod(1, { name: "d", uid: "d", namespace: "other" }, { nodeName: "" }), {
      namespace: "other",
    })
    const lived = livesOf([create(waiting("a")), create(running("b")), elsewhere, collection({ level: "Metadata" })])
    expect([...lived.state.keys()]).toEqual(["v1.Pod shop/b", "v1.Pod other/d"])
  })

  test("without a response is a loss if it selects objects", () => {
    const lived = livesOf([create(waiting("a")), collection({ level: "Metadata", query: "?labelSelector=a" })])
    expect(lived.state.size).toBe(1)
    expect(lived.gaps).toHaveLength(1)
  })
})

describe("the end of a CustomResourceDefinition", () => {
  const definitions = { resource: "apiextensions.k8s.io/v1 customresourcedefinitions", namespace: "" }
  const name = "widgets.example.com"
  const definition = (version: number, metadata = {}) =>
    stored("apiextensions.k8s.io/v1", "CustomResourceDefinition", version, {
      metadata: { name, namespace: undefined, uid: "crd", ...metadata },
    })
  const widget = (uid: string, metadata = {}) =>
    stored("example.com/v1", "Widget", 3, { metadata: { name: uid, uid, ...metadata } })
  const createWidget = (uid: string, metadata = {}) =>
    create(widget(uid, metadata), { resource: "example.com/v1 widgets", name: uid })
  const createDefinition = create(definition(1), { ...definitions, name })
  const held = { deletionTimestamp: "2026-03-01T12:00:01Z", deletionGracePeriodSeconds: 0 }
  const mark = remove({
    ...{ ...definitions, name },
    response: definition(5, { ...held, finalizers: ["customresourcecleanup.apiextensions.k8s.io"] }),
  })
  const finish = (facts: EventFacts = {}) =>
    auditEvent({ ...{ ...definitions, name, at: 4, subresource: "status", response: definition(6, held) }, ...facts })
  const other = create(stored("example.com/v1", "Gadget", 3, { metadata: { uid: "g" } }), {
    resource: "example.com/v1 gadgets",
  })

  test("is the end of its objects in all namespaces, which the API server removes without entries in the log", () => {
    const elsewhere = createWidget("b", { namespace: "other" })
    const { changes, state } = livesOf([createDefinition, createWidget("a"), elsewhere, other, mark, finish()])
    const ended = changes.filter(({ action }) => action === "deleted")
    expect(ended.map((change) => [change.gvk, change.name, change.time])).toEqual([
      ["example.com/v1.Widget", "a", begin + 4_000_000],
      ["example.com/v1.Widget", "b", begin + 4_000_000],
      ["apiextensions.k8s.io/v1.CustomResourceDefinition", name, begin + 4_000_000],
    ])
    expect(ended[0]?.object).toEqual(widget("a"))
    expect([...state.keys()]).toEqual(["example.com/v1.Gadget shop/web"])
  })

  test("not its mark: until then the objects exist", () => {
    expect(livesOf([createDefinition, createWidget("a"), mark]).state.size).toBe(2)
  })

  test("ends them also if the log had not shown it before, or has it without objects", () => {
    expect(livesOf([createWidget("a"), finish()]).state.size).toBe(0)
    const status = { response: success("crd"), verb: "delete" }
    expect(
      livesOf([createDefinition, createWidget("a"), auditEvent({ ...definitions, name, at: 4, ...status })]).state.size,
    ).toBe(0)
    const again = create(definition(9, { uid: "later" }), { ...definitions, name, at: 5 })
    expect([...livesOf([createDefinition, createWidget("a"), again]).state.values()]).toEqual([
      definition(9, { uid: "later" }),
    ])
  })

  test("is the end of their gaps", () => {
    const lost = auditEvent({ at: 2, verb: "patch", level: "Metadata", resource: "example.com/v1 widgets", name: "a" })
    const { gaps } = livesOf([createDefinition, createWidget("a"), lost, mark, finish(), auditEvent({ at: 9 })], {
      end: begin + 9e6,
    })
    expect(gaps.find(({ gvk }) => gvk === "example.com/v1.Widget")).toMatchObject({
      ...{ fromTime: begin + 2_000_000, toTime: begin + 4_000_000 },
    })
  })
})
