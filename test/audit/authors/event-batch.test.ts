import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { AuditBatchReader } from "../../../src/audit/index.ts"
import type { JsonValue } from "../../../src/trace/index.ts"
import { auditEvent, begin, configMap, type EventFacts, stored, success } from "../audit-events.ts"

const batchOf = (...items: ReadonlyArray<JsonValue>): string =>
  JSON.stringify({ kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items })

/** `pieceBytes`: of each piece in which the body arrives. */
const read = (text: string, pieceBytes = Number.POSITIVE_INFINITY) => {
  const reader = new AuditBatchReader()
  const body = Buffer.from(text)
  for (let start = 0; start < body.length; start += pieceBytes) reader.push(body.subarray(start, start + pieceBytes))
  return reader.end()
}

const readingOf = (text: string, pieceBytes?: number) => {
  const reading = read(text, pieceBytes)
  if (reading.tag === "malformed") throw new Error(reading.problem)
  return reading
}

/** `wrote u1 7 certain`. */
const effectsOf = (facts: EventFacts): ReadonlyArray<string> =>
  readingOf(batchOf(auditEvent(facts))).writes.map(
    ({ effect, object, version, isCertain }) => `${effect} ${object} ${version} ${isCertain ? "certain" : "possible"}`,
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
          ...{ group: "", resource: "configmaps", object: "u1", effect: "wrote", version: "7", isCertain: false },
          ...{ received: begin + 1_990_000, completed: begin + 2_000_000 },
          auditID: "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11",
          author: {
            ...{ verb: "patch", subresource: "status", fieldManager: "kubectl" },
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

  test("has the field manager that it names, or else that of its user agent", () => {
    const managersOf = (query: string, userAgent: string): ReadonlyArray<string | undefined> =>
      readingOf(batchOf({ ...auditEvent({ query, response: configMap(7) }), userAgent })).writes.map(
        ({ author }) => author.fieldManager,
      )
    expect(managersOf("?fieldManager=kubectl-edit&fieldValidation=Strict", "kubectl/v1.34")).toEqual(["kubectl-edit"])
    expect(managersOf("", "kube-controller-manager/v1.34 (linux/amd64)")).toEqual(["kube-controller-manager"])
  })

  test("of which the log has no response is known by the name of its object", () => {
    expect(effectsOf({ level: "Metadata" })).toEqual(["requested shop/web  possible"])
    expect(effectsOf({ level: "Metadata", verb: "create", code: 201 })).toEqual(["requested shop/web  certain"])
    expect(effectsOf({ level: "Metadata", resource: "nodes", namespace: "" })).toEqual(["requested /web  possible"])
    // The server made the name.
    expect(effectsOf({ level: "Metadata", verb: "create", code: 201, name: "" })).toEqual([])
    const eviction = { verb: "create", code: 201, resource: "pods", subresource: "eviction", response: success("") }
    expect(effectsOf(eviction)).toEqual(["requested shop/web  possible"])
  })

  test.each<EventFacts>([
    { code: 409, response: configMap(7) },
    { query: "?dryRun=All", response: configMap(7) },
    { stage: "ResponseStarted", response: configMap(7) },
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
    expect(effectsOf({ verb: "deletecollection", name: "", response })).toEqual([
      ...["requested shop/  certain", "removed u1  possible"],
    ])
    expect(effectsOf({ verb: "deletecollection", name: "", query: "?labelSelector=a%3Db" })).toEqual([
      "requested shop/  possible",
    ])
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
  const problems = ["secret", "[]", "{}", `{"kind":"EventList","apiVersion":"v1","items":[]}`].map((text) => read(text))
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
      fc.integer({ min: 1, max: 100 }),
      (items, broken, pieceBytes) => {
        const events = [{ ...auditEvent({ response: configMap(7) }), ...broken }, ...items] as ReadonlyArray<JsonValue>
        const reading = readingOf(batchOf(...events))
        expect(reading.events).toBe(events.length)
        expect(readingOf(batchOf(...events), pieceBytes)).toEqual(reading)
      },
    ),
  )
})

test("a list without its end, a too long event and too many of them are refused or counted, and kept nowhere", () => {
  const whole = batchOf(auditEvent({ response: configMap(7) }), {})
  for (const end of [1, 2, 20]) expect(read(whole.slice(0, -end)).tag).toBe("malformed")
  expect(readingOf(batchOf({ long: "x".repeat(8 * 1024 * 1024) }, auditEvent({})))).toMatchObject({
    events: 2,
    unknown: 1,
  })
  expect(read(batchOf().replace("[]", `[1${",1".repeat(600_000)}]`))).toEqual({
    ...{ tag: "malformed", problem: "the list has too many events" },
  })
  // What is in other lists is no event.
  const strange = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","other":[${JSON.stringify(auditEvent({ response: configMap(7) }))}],"items":[]}`
  expect(read(strange).tag).toBe("malformed")
})
