import { describe, expect, test } from "vitest"
import type { AuditEntry, AuditedWrite } from "../../../src/audit/audited-write.ts"
import { entriesIn } from "../../../src/audit/shapes/log-entries.ts"
import type { JsonObject, JsonValue } from "../../../src/trace/json/exact-json.ts"
import { auditEvent, begin, configMap, type EventFacts, instant } from "../audit-events.ts"

const only = (value: JsonValue | undefined): AuditEntry => {
  const entries = entriesIn(value)
  expect(entries).toHaveLength(1)
  return entries[0] as AuditEntry
}

const writeIn = (value: JsonValue): AuditedWrite => {
  const entry = only(value)
  if (entry.tag !== "write") throw new Error(`no write: ${JSON.stringify(entry)}`)
  return entry.write
}

const tagOf = (facts: EventFacts): string => only(auditEvent(facts)).tag

describe("an event of an API server", () => {
  test("is a write with its place, time and bodies", () => {
    const request = configMap(0)
    const response = configMap(7)
    const given = { at: 1.5, verb: "create", resource: "apps/v1 deployments", code: 201, request, response }
    expect(writeIn(auditEvent(given))).toEqual({
      time: begin + 1_500_000,
      id: "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11",
      verb: "create",
      group: "apps",
      version: "v1",
      resource: "deployments",
      subresource: "",
      namespace: "shop",
      name: "web",
      level: "RequestResponse",
      isTruncated: false,
      isCreation: true,
      isSelection: false,
      request,
      response,
    })
  })

  test("has the time of its reception if the stage has none", () => {
    const { stageTimestamp: _, ...event } = auditEvent({ at: 2 })
    expect(writeIn(event).time).toBe(begin + 1_990_000)
  })

  test.each(["RequestReceived", "ResponseStarted", "Panic"])("is none at stage %s", (stage) => {
    expect(tagOf({ stage })).toBe("no-write")
  })

  test.each(["get", "list", "watch", "proxy", "connect"])("is none with the verb %s", (verb) => {
    expect(tagOf({ verb })).toBe("no-write")
  })

  test.each([199, 302, 404, 409, 500])("is none if the response is %i", (code) => {
    expect(tagOf({ code })).toBe("no-write")
  })

  test("is none if it is a dry run, by its address or its body", () => {
    expect(tagOf({ query: "?fieldManager=kubectl&dryRun=All" })).toBe("no-write")
    expect(tagOf({ query: "?dryRun=" })).toBe("write")
    expect(tagOf({ verb: "delete", request: { kind: "DeleteOptions", dryRun: ["All"] } })).toBe("no-write")
    const deleteOptions = { dryRun: ["All"] }
    expect(tagOf({ verb: "create", subresource: "eviction", request: { kind: "Eviction", deleteOptions } })).toBe(
      "no-write",
    )
  })

  test.each(["exec", "log", "token", "proxy", "portforward", "attach"])(
    "is none of the subresource %s",
    (subresource) => {
      expect(tagOf({ verb: "create", subresource })).toBe("no-write")
    },
  )

  test("is none if it asks the server something that nothing stores", () => {
    expect(tagOf({ verb: "create", resource: "authorization.k8s.io/v1 subjectaccessreviews" })).toBe("no-write")
    expect(tagOf({ verb: "create", resource: "authentication.k8s.io/v1 tokenreviews" })).toBe("no-write")
  })

  test("is none if it has no resource", () => {
    const { objectRef: _, ...event } = auditEvent({ verb: "create" })
    expect(only(event).tag).toBe("no-write")
  })

  test("names a namespace as cluster-scoped, which its reference does not", () => {
    expect(writeIn(auditEvent({ resource: "namespaces", namespace: "shop", name: "shop" })).namespace).toBe("")
  })

  test("says whether a collection was selected from, and whether the server left out what was too long", () => {
    expect(writeIn(auditEvent({ query: "?labelSelector=app%3Dweb" })).isSelection).toBe(true)
    expect(writeIn(auditEvent({ annotations: { "audit.k8s.io/truncated": "true" } })).isTruncated).toBe(true)
  })

  test("is unknown without a status or a time, and says what is missing", () => {
    const { responseStatus: _, ...withoutStatus } = auditEvent({})
    expect(only(withoutStatus)).toEqual({ tag: "unknown", found: "an audit event without responseStatus.code" })
    const { stageTimestamp: __, requestReceivedTimestamp: ___, ...withoutTime } = auditEvent({})
    expect(only(withoutTime)).toEqual({ tag: "unknown", found: "an audit event without a valid stageTimestamp" })
  })
})

const withoutKind = ({ kind: _, apiVersion: __, ...rest }: JsonObject): JsonObject => rest

describe("wrappings", () => {
  const event = auditEvent({ response: configMap(3) })
  const text = JSON.stringify(event)

  test.each<[string, JsonValue]>([
    ["a list of a webhook", { kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items: [event] }],
    [
      "a list of a webhook, whose items have no kind",
      { kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items: [withoutKind(event)] },
    ],
    [
      "Logs Insights on the command line",
      {
        results: [
          [
            { field: "@timestamp", value: "2026-03-01 12:00:00.000" },
            { field: "@message", value: text },
            { field: "@ptr", value: "CnwK" },
          ],
        ],
        statistics: { recordsMatched: 1 },
        status: "Complete",
      },
    ],
    ["Logs Insights with an object", { "@timestamp": "2026-03-01 12:00:00.000", "@message": event }],
    ["Logs Insights with a text", { "@timestamp": "2026-03-01 12:00:00.000", "@message": text }],
    ["a message", { timestamp: 1_772_366_400_000, message: text }],
    ["a subscription", { messageType: "DATA_MESSAGE", logEvents: [{ id: "1", timestamp: 1, message: text }] }],
    ["the command line of AWS", { events: [{ timestamp: 1, message: text, ingestionTime: 2 }], nextToken: "f/1" }],
    ["an array", [event]],
  ])("%s is taken off", (_, wrapped) => {
    expect(entriesIn(wrapped)).toEqual(entriesIn(event))
  })

  test("several events in one wrapping are several entries, in order", () => {
    const items = [auditEvent({ name: "a" }), auditEvent({ verb: "get" }), auditEvent({ name: "b" })]
    const entries = entriesIn({ kind: "EventList", apiVersion: "audit.k8s.io/v1", items })
    expect(entries.map((entry) => (entry.tag === "write" ? entry.write.name : entry.tag))).toEqual([
      "a",
      "no-write",
      "b",
    ])
  })

  test.each<[JsonValue | undefined, string]>([
    [undefined, "no JSON"],
    [5, "JSON, but a number"],
    [null, "JSON, but null"],
    [{ level: "info", msg: "started" }, 'an object with "level", "msg"'],
    [{}, "an object with no members"],
    [{ kind: "EventList", apiVersion: "audit.k8s.io/v1", items: [{ level: "info" }] }, 'an object with "level"'],
    [{ results: [[{ field: "a", value: "b" }]] }, 'an object with "a"'],
    [{ message: "I0301 12:00:00.000 started" }, "a message that is no JSON"],
    [{ kind: "Event", apiVersion: "v1", metadata: {} }, 'an object with "kind", "apiVersion", "metadata"'],
  ])("%j is named: %s", (value, found) => {
    expect(entriesIn(value)).toEqual([{ tag: "unknown", found }])
  })

  test("messages inside one another without end are named", () => {
    let value: JsonValue = event
    for (let depth = 0; depth < 1000; depth++) value = { message: value }
    expect(only(value)).toEqual({ tag: "unknown", found: "messages inside too many others" })
  })
})

describe("an entry of Cloud Logging", () => {
  const entry = (payload: JsonObject): JsonObject => ({
    protoPayload: {
      "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
      methodName: "io.k8s.apps.v1.deployments.create",
      resourceName: "apps/v1/namespaces/shop/deployments/web",
      serviceName: "k8s.io",
      status: { code: 0 },
      ...payload,
    },
    insertId: "a",
    resource: { type: "k8s_cluster" },
    timestamp: instant(2),
  })

  test("is a write, and its bodies lose their type, which names a kind that they do not", () => {
    const request = { "@type": "apps.k8s.io/v1.Deployment", apiVersion: "apps/v1", kind: "Deployment", spec: {} }
    const response = { "@type": "apps.k8s.io/v1.Deployment", metadata: { name: "web" } }
    expect(writeIn(entry({ request, response }))).toMatchObject({
      time: begin + 2_000_000,
      verb: "create",
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: "shop",
      name: "web",
      subresource: "",
      level: "RequestResponse",
      isCreation: true,
      request: { apiVersion: "apps/v1", kind: "Deployment", spec: {} },
      response: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } },
    })
  })

  test.each<[string, JsonObject]>([
    [
      "core/v1/namespaces/shop/pods/web/status",
      { group: "", namespace: "shop", resource: "pods", name: "web", subresource: "status" },
    ],
    ["core/v1/namespaces/shop/pods", { namespace: "shop", resource: "pods", name: "" }],
    ["core/v1/namespaces/shop", { namespace: "", resource: "namespaces", name: "shop", subresource: "" }],
    [
      "core/v1/namespaces/shop/finalize",
      { namespace: "", resource: "namespaces", name: "shop", subresource: "finalize" },
    ],
    ["core/v1/nodes/n1", { namespace: "", resource: "nodes", name: "n1" }],
    ["rbac.authorization.k8s.io/v1/clusterroles/x", { group: "rbac.authorization.k8s.io", resource: "clusterroles" }],
  ])("%s", (resourceName, place) => {
    expect(writeIn(entry({ resourceName, methodName: "io.k8s.core.v1.pods.update" }))).toMatchObject(place)
  })

  test("has the level that its bodies say", () => {
    expect(writeIn(entry({})).level).toBe("Metadata")
    expect(writeIn(entry({ request: {} })).level).toBe("Request")
  })

  test("is no write if it failed, was a read, a dry run, or is of another service", () => {
    expect(only(entry({ status: { code: 7, message: "Forbidden" } })).tag).toBe("no-write")
    expect(only(entry({ status: {} })).tag).toBe("write")
    expect(only(entry({ methodName: "io.k8s.apps.v1.deployments.list" })).tag).toBe("no-write")
    expect(only(entry({ methodName: "io.k8s.apps.v1.deployments.delete", request: { dryRun: ["All"] } })).tag).toBe(
      "no-write",
    )
    expect(only(entry({ serviceName: "container.googleapis.com" })).tag).toBe("no-write")
  })

  test("is named if it has no method or no resource", () => {
    expect(only({ protoPayload: {} }).tag).toBe("unknown")
    expect(only(entry({ resourceName: "projects/p" })).tag).toBe("unknown")
    expect(only(entry({ resourceName: "" })).tag).toBe("unknown")
  })
})
