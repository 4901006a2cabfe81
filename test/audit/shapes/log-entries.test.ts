import { gzipSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { AuditEntry, AuditedWrite } from "../../../src/audit/shapes/audited-write.ts"
import { entriesIn } from "../../../src/audit/shapes/log-entries.ts"
import type { JsonObject, JsonValue } from "../../../src/trace/index.ts"
import { auditEvent, begin, configMap, type EventFacts, instant } from "../audit-events.ts"

const only = (value: JsonValue): AuditEntry => {
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
      received: begin + 1_490_000,
      author: { user: "admin", groups: [], userAgent: "", sourceIPs: [] },
      fieldManager: "",
      id: "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11",
      uid: "",
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

  const row = { AuditId: event.auditID, Stage: event.stage, Level: event.level, Verb: event.verb }
  const azure: JsonObject = {
    ...{
      TimeGenerated: instant(0),
      RequestUri: event.requestURI,
      ObjectRef: event.objectRef,
      ResponseStatus: event.responseStatus,
    },
    ...{ ...row, ResponseObject: event.responseObject, StageReceivedTime: event.stageTimestamp, User: event.user },
    RequestReceivedTime: event.requestReceivedTimestamp,
  } as JsonObject
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
    ["Azure's storage", { time: instant(0), category: "kube-audit", properties: { log: text, stream: "stdout" } }],
    ["Azure's event hub", { records: [{ category: "kube-audit", properties: { log: `${text}\n` } }] }],
    ["Azure's table", [azure]],
    [
      "Azure's table with texts",
      { ...azure, ObjectRef: JSON.stringify(event.objectRef), ResponseObject: JSON.stringify(event.responseObject) },
    ],
    [
      "Azure's query",
      {
        tables: [
          { columns: Object.keys(azure).map((name) => ({ name, type: "dynamic" })), rows: [Object.values(azure)] },
        ],
      },
    ],
    ["an older table of Azure", { tables: [{ columns: [{ name: "log_s" }, { name: "pod_s" }], rows: [[text, "x"]] }] }],
    ["Elasticsearch", { hits: { total: { value: 1 }, hits: [{ _index: "audit", _source: event, sort: [1] }] } }],
    ["Elasticsearch with a message", { _source: { "@timestamp": instant(0), message: text, tags: ["a"] } }],
    ["names with underscores", { ...withoutKind(event), auditID: null, audit_id: String(event.auditID) }],
    ["Docker", { log: `${text}\n`, stream: "stdout", time: instant(0) }],
    [
      "Loki",
      { status: "success", data: { result: [{ stream: { a: "b" }, values: [["1772366400000000000", text]] }] } },
    ],
    [
      "OpenTelemetry",
      {
        resourceLogs: [
          { scopeLogs: [{ logRecords: [{ body: { stringValue: text }, attributes: [{ key: "a", value: {} }] }] }] },
        ],
      },
    ],
    ["Splunk", { preview: false, result: { _raw: text, _time: "x" } }],
    ["Pub/Sub", { message: { data: Buffer.from(text).toString("base64"), messageId: "1" } }],
    [
      "Kinesis and Lambda",
      { awslogs: { data: gzipSync(JSON.stringify({ logEvents: [{ message: text }] })).toString("base64") } },
    ],
    ["a text in a text in a text", JSON.stringify(JSON.stringify(JSON.stringify({ log: text })))],
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

  test("any nesting of them yields the entry, and only it", () => {
    const wrappers: ReadonlyArray<(inner: JsonValue) => JsonValue> = [
      (inner) => [inner],
      (inner) => ({ time: 5, log: inner, tags: ["a", { b: 1 }] }),
      (inner) => ({ "@message": inner, kind: "Event" }),
      (inner) => ({ records: [inner], columns: "x" }),
      (inner) => ({ properties: { _source: inner, list: [1, "auditing"] } }),
      (inner) => ({ columns: [{ name: "a" }, { name: "b" }], rows: [[1, inner]] }),
      (inner) => [
        { field: "@ptr", value: "x" },
        { field: "@message", value: inner },
      ],
      (inner) => JSON.stringify(inner),
      (inner) => `<13>Mar  1 12:00:00 host app[5]: ${JSON.stringify(inner)}\n`,
      (inner) => ({ data: Buffer.from(JSON.stringify({ inner })).toString("base64") }),
      (inner) => ({ data: gzipSync(JSON.stringify({ inner })).toString("base64"), a: 1 }),
    ]
    const expected = entriesIn(event)
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...wrappers), { maxLength: 6 }), (chosen) => {
        expect(entriesIn(chosen.reduce((inner, wrap) => wrap(inner), event as JsonValue))).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })

  test("of a list, each element without an entry is counted; beside an entry, the rest of its envelope is not", () => {
    const list = [{ message: text }, { message: "started" }, { message: text.slice(0, -1) }]
    for (const value of [list, { records: list, other: [{ a: 1 }] }])
      expect(entriesIn(value).map(({ tag }) => tag)).toEqual(["write", "unknown", "unknown"])
  })

  test("foreign JSON of any shape is unknown and does no harm", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const isEmpty = Array.isArray(value) && value.length === 0
        expect(entriesIn(value as JsonValue).length > 0).toBe(!isEmpty)
        expect(entriesIn(value as JsonValue).every(({ tag }) => tag === "unknown")).toBe(true)
      }),
    )
  })

  test.each<[JsonValue, string]>([
    [5, "JSON, but a number"],
    [null, "JSON, but null"],
    [{ level: "info", msg: "started" }, 'an object with "level", "msg"'],
    [{}, "an object with no members"],
    [{ kind: "EventList", apiVersion: "audit.k8s.io/v1", items: [{ level: "info" }] }, 'an object with "level"'],
    [{ results: [[{ field: "a", value: "b" }]] }, 'an object with "a"'],
    [{ message: "I0301 12:00:00.000 started" }, 'an object with "message"'],
    [{ kind: "Event", apiVersion: "v1", metadata: {} }, 'an object with "kind", "apiVersion", "metadata"'],
  ])("%j is named: %s", (value, found) => {
    expect(entriesIn(value)).toEqual([{ tag: "unknown", found }])
  })

  test("messages inside one another without end are named", () => {
    let value: JsonValue = event
    for (let depth = 0; depth < 1000; depth++) value = { message: value }
    expect(only(value)).toEqual({ tag: "unknown", found: "an envelope inside too many others" })
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
