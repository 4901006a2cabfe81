/** Objects of built-in kinds as Go writes them again (Kubernetes 1.34.4). */

import { expect, test } from "vitest"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { asGoWrites } from "../../../src/sandbox/schema/go-written.ts"

const typeOf = (group: string, kind: string) => {
  const type = new SchemaCatalogue().of({ group, version: "v1", kind })
  if (type === undefined) throw new Error(`there is no ${kind}`)
  return type
}

test("empty lists, maps and nulls are dropped, members that are always written stay", () => {
  const service = { metadata: { finalizers: [], labels: {} }, spec: { selector: {}, type: null, ports: [{ port: 1 }] } }
  expect(asGoWrites(typeOf("", "Service"), service)).toEqual({ metadata: {}, spec: { ports: [{ port: 1 }] } })
  const rbac = "rbac.authorization.k8s.io"
  expect(asGoWrites(typeOf(rbac, "ClusterRole"), { rules: [] })).toEqual({ rules: [] })
  expect(asGoWrites(typeOf(rbac, "ClusterRoleBinding"), { subjects: [] })).toEqual({})
  expect(asGoWrites(typeOf("storage.k8s.io", "CSINode"), { spec: { drivers: [] } })).toEqual({ spec: { drivers: [] } })
  expect(asGoWrites(typeOf("", "ConfigMap"), { data: { key: null } })).toEqual({ data: { key: "" } })
  const forgotten = { metadata: { managedFields: [] } }
  expect(asGoWrites(typeOf("", "ConfigMap"), forgotten)).toBe(forgotten)
  const pod = { spec: { securityContext: {}, volumes: [{ name: "v", emptyDir: {} }] } }
  expect(asGoWrites(typeOf("", "Pod"), pod)).toBe(pod)
})

test("times that are not pointers are null when they are empty", () => {
  expect(asGoWrites(typeOf("", "Pod"), { status: { conditions: [{ type: "Ready" }] } })).toEqual({
    status: { conditions: [{ type: "Ready", lastProbeTime: null, lastTransitionTime: null }] },
  })
})

test("parts shared with the previous state are not walked, and arguments are not changed", () => {
  const before = { data: { a: "b" }, metadata: { labels: {} } }
  const after = { ...before, binaryData: {} }
  const written = asGoWrites(typeOf("", "ConfigMap"), after, before) as typeof before
  expect(written).toEqual(before)
  expect([written.metadata === before.metadata, "binaryData" in after]).toEqual([true, true])
})

test("a RawExtension is owned as a whole", () => {
  expect(typeOf("apps", "ControllerRevision").fields.get("data")?.isAtomic).toBe(true)
})
