import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { readAuditBatch } from "../../../src/audit/index.ts"
import type { JsonValue } from "../../../src/trace/index.ts"
import { auditEvent, begin, configMap, type EventFacts, stored, success } from "../audit-events.ts"

const batchOf = (...items: ReadonlyArray<JsonValue>): string =>
  JSON.stringify({ kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items })

const readingOf = (text: string) => {
  const reading = readAuditBatch(text)
  if (reading.tag === "malformed") throw new Error(reading.problem)
  return reading
}

/** `wrote u1 7 certain`. */
const effectsOf = (facts: EventFacts): ReadonlyArray<string> =>
  readingOf(batchOf(auditEvent(facts))).writes.map(
    ({ effect, uid, version, isCertain }) => `${effect} ${uid} ${version} ${isCertain ? "certain" : "possible"}`,
  )

const marked = { deletionTimestamp: "2026-03-01T12:00:30Z" }

describe("a write", () => {
  test("names who made it, when, and with what request", () => {
    const user = { username: "alice", groups: ["ops", "system:authenticated"], uid: "7" }
    const event = {
      ...auditEvent({ at: 2, verb: "patch", subresource: "status", response: configMap(7) }),
      ...{ user, impersonatedUser: { username: "bob" }, userAgent: "kubectl/v1.34", sourceIPs: ["10.0.0.7"] },
    }
    expect(readingOf(batchOf(event, auditEvent({ at: 5, verb: "get" })))).toEqual({
      ...{ tag: "batch", events: 2, unknown: 0, range: { from: begin + 2_000_000, to: begin + 5_000_000 } },
      writes: [
        {
          ...{ group: "", resource: "configmaps", uid: "u1", effect: "wrote", version: "7", isCertain: false },
          ...{ action: "patch status", received: begin + 1_990_000, completed: begin + 2_000_000 },
          author: {
            ...{ user: "alice", groups: ["ops", "system:authenticated"], impersonated: "bob" },
            ...{ userAgent: "kubectl/v1.34", sourceIPs: ["10.0.0.7"] },
          },
        },
      ],
    })
  })

  test("is certain if it made the object, or names another version before it", () => {
    expect(effectsOf({ verb: "create", code: 201, response: configMap(7) })).toEqual(["wrote u1 7 certain"])
    expect(effectsOf({ request: configMap(6), response: configMap(7) })).toEqual(["wrote u1 7 certain"])
    expect(effectsOf({ verb: "patch", response: configMap(7) })).toEqual(["wrote u1 7 possible"])
  })

  test("that returns the version which it was sent with has changed nothing", () => {
    expect(effectsOf({ request: configMap(7), response: configMap(7) })).toEqual([])
  })

  test("of a scale has the version of the object", () => {
    const scale = stored("autoscaling/v1", "Scale", 9)
    expect(
      effectsOf({ verb: "patch", resource: "apps/v1 deployments", subresource: "scale", response: scale }),
    ).toEqual(["wrote u1 9 possible"])
  })

  test("that removes the last finalizer removes the object, and its response has the version before", () => {
    expect(effectsOf({ verb: "patch", response: configMap(7, {}, marked) })).toEqual(["removed u1  certain"])
    expect(effectsOf({ verb: "patch", response: configMap(7, {}, { ...marked, finalizers: ["a/b"] }) })).toEqual([
      "wrote u1 7 possible",
    ])
  })

  test("of a binding is known by the UID of the pod alone", () => {
    const request = { metadata: { name: "web", uid: "u1" }, target: { name: "node-1" } }
    const given: EventFacts = { verb: "create", code: 201, resource: "pods", subresource: "binding", request }
    expect(effectsOf({ ...given, response: success() })).toEqual(["bound u1  certain"])
    expect(effectsOf({ ...given, request: { target: { name: "node-1" } } })).toEqual([])
  })

  test.each<EventFacts>([
    { level: "Metadata" },
    { code: 409, response: configMap(7) },
    { query: "?dryRun=All", response: configMap(7) },
    { stage: "ResponseStarted", response: configMap(7) },
    { verb: "create", code: 201, resource: "pods", subresource: "eviction", response: success("") },
  ])("that says of no object what became of it names no one: %o", (facts) => {
    expect(effectsOf(facts)).toEqual([])
  })
})

describe("a deletion", () => {
  test("that returns the UID of what is gone, or an object that nothing holds, has removed it", () => {
    expect(effectsOf({ verb: "delete", response: success("u9") })).toEqual(["removed u9  certain"])
    expect(effectsOf({ verb: "delete", response: configMap(7) })).toEqual(["removed u1  certain"])
  })

  test("of what has a grace period or finalizers may have marked it, or have found the mark", () => {
    const pod = stored("v1", "Pod", 8, { metadata: { ...marked, deletionGracePeriodSeconds: 30 } })
    expect(effectsOf({ verb: "delete", resource: "pods", response: pod })).toEqual(["wrote u1 8 possible"])
  })

  test("of a collection may have removed what nothing held", () => {
    const held = configMap(8, {}, { uid: "u2", finalizers: ["a/b"] })
    const response = { kind: "ConfigMapList", apiVersion: "v1", items: [configMap(7), held] }
    expect(effectsOf({ verb: "deletecollection", name: "", response })).toEqual(["removed u1  possible"])
  })
})

test("texts and lists that clients choose are cut", () => {
  const user = { username: "u".repeat(5000), groups: Array.from({ length: 500 }, (_, index) => `g${index}`) }
  const sourceIPs = Array.from({ length: 99 }, () => "10.0.0.1")
  const event = { ...auditEvent({ response: configMap(7) }), user, sourceIPs, userAgent: "a".repeat(100_000) }
  const [write] = readingOf(batchOf(event)).writes
  expect(write?.author.user).toHaveLength(256)
  expect(write?.author.userAgent).toHaveLength(256)
  expect([write?.author.groups.length, write?.author.sourceIPs.length]).toEqual([32, 8])
})

test("what is no batch is refused in words that quote nothing, and an event that cannot be read is counted", () => {
  const problems = ["secret", "[]", "{}", `{"kind":"EventList","apiVersion":"v1","items":[]}`].map(readAuditBatch)
  expect(problems).toEqual([
    { tag: "malformed", problem: "the body is not JSON" },
    ...Array.from({ length: 3 }, () => ({
      ...{ tag: "malformed", problem: "the body is no EventList of audit.k8s.io with items" },
    })),
  ])
  const { objectRef: _, ...nowhere } = auditEvent({})
  expect(readingOf(batchOf(1, {}, nowhere, auditEvent({ name: "a" })))).toMatchObject({ events: 4, unknown: 2 })
})

test("any JSON is read, or refused, and never ends the recorder", () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.dictionary(fc.constantFrom("user", "responseObject", "verb"), fc.jsonValue()),
      (items, broken) => {
        const events = [{ ...auditEvent({ response: configMap(7) }), ...broken }, ...items] as ReadonlyArray<JsonValue>
        expect(readingOf(batchOf(...events)).events).toBe(events.length)
      },
    ),
  )
})
