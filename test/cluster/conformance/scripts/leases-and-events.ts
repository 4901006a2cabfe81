/** Leases and Events, these in both of their groups. */

import type { JsonObject } from "../../exact-json.ts"
import { get, inNamespace, mergePatch, post, put, remove, type Script } from "../script.ts"

const table = { headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } }
const leases = inNamespace("coordination.k8s.io/v1", "leases")
const coreEvents = inNamespace("v1", "events")
const newEvents = inNamespace("events.k8s.io/v1", "events")
const lease = (spec: JsonObject): JsonObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "l" },
  spec,
})
const time = "2020-01-01T00:00:00.123456Z"
const about: JsonObject = { apiVersion: "v1", kind: "ConfigMap", name: "x", namespace: "<ns>" }

const coordination: Script = {
  name: "leases-and-events",
  area: "rules",
  steps: [
    post(
      "lease",
      leases,
      lease({
        holderIdentity: "me",
        leaseDurationSeconds: 15,
        acquireTime: time,
        renewTime: time,
      }),
    ),
    put("without a version", `${leases}/l`, lease({ holderIdentity: "you" })),
    mergePatch("renewed", `${leases}/l`, { spec: { renewTime: "2020-01-02T00:00:00.000000Z" } }),
    mergePatch("three digits", `${leases}/l`, { spec: { renewTime: "2020-01-02T00:00:00.123Z" } }),
    mergePatch("whole seconds", `${leases}/l`, { spec: { renewTime: "2020-01-02T00:00:00Z" } }),
    mergePatch("no seconds to live", `${leases}/l`, { spec: { leaseDurationSeconds: 0 } }),
    mergePatch("negative transitions", `${leases}/l`, { spec: { leaseTransitions: -1 } }),
    get("table", leases, table),
    put("created by an update", `${leases}/m`, { ...lease({ holderIdentity: "x" }), metadata: { name: "m" } }),
    remove("delete", `${leases}/l`),
    post("core event", coreEvents, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e1" },
      involvedObject: about,
      reason: "Tested",
      message: "a test",
      type: "Normal",
      source: { component: "conformance" },
      firstTimestamp: "2020-01-01T00:00:00Z",
      lastTimestamp: "2020-01-01T00:00:00Z",
      count: 1,
    }),
    get("the same event in its own group", `${newEvents}/e1`),
    post("event of the new group", newEvents, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e2" },
      eventTime: time,
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "Test",
      reason: "Tested",
      type: "Normal",
      regarding: about,
      note: "a note",
    }),
    get("the same event in the core", `${coreEvents}/e2`),
    post("event of nothing", coreEvents, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e3" },
      involvedObject: {},
    }),
    post("event of another namespace", coreEvents, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e3" },
      involvedObject: { kind: "Pod", namespace: "default", name: "x" },
    }),
    post("new event without its fields", newEvents, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e3" },
      regarding: { kind: "Pod", namespace: "<ns>", name: "x" },
    }),
    mergePatch("counted", `${coreEvents}/e1`, { count: 2 }),
    get("by involved object", coreEvents, {
      query: { fieldSelector: "involvedObject.kind=ConfigMap,reason=Tested" },
    }),
    get("by a field of the other group", newEvents, { query: { fieldSelector: "regarding.kind=ConfigMap" } }),
    get("table of events", coreEvents, table),
  ],
}

export const leasesAndEvents: readonly Script[] = [coordination]
