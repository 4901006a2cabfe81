/** Decoded states for the next write must equal parsed ones. */

import { afterEach, expect, test } from "vitest"
import { compact, makeChange, parseObject, type Resource } from "../../../src/apiserver/index.ts"
import { Sandbox } from "../../../src/library/sandbox.ts"
import type { MutableObject } from "../../../src/sandbox/rules/kind-rules.ts"
import { encodeObject, withVersion } from "../../../src/sandbox/store/object-encoding.ts"
import { ParsedStates } from "../../../src/sandbox/store/object-store.ts"

const configMaps: Resource = {
  gvk: { group: "", version: "v1", kind: "ConfigMap" },
  plural: "configmaps",
  namespaced: true,
}

const opened: Sandbox[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
})

const changeOf = (object: MutableObject, revision: bigint, resource = configMaps) =>
  makeChange(
    { type: "ADDED", uid: "u", namespace: "default", name: "a", labels: undefined, revision },
    withVersion(encodeObject(resource, object), revision),
    compact,
  )

const objectOf = (text: string): MutableObject => ({
  metadata: { name: "a", namespace: "default", uid: "u", labels: {}, finalizers: undefined, resourceVersion: "1" },
  binaryData: undefined,
  data: { text },
})

test("a taken state equals the parsed one, without members that were not encoded", () => {
  const states = new ParsedStates()
  const object = objectOf("one")
  const change = changeOf(object, 7n)
  states.keep(configMaps, change, object)
  const taken = states.take(change)
  expect(taken).toStrictEqual(parseObject(change))
  expect(taken.data).toBe(object.data)
})

test("a state is handed out once: changing it does not affect the next caller", () => {
  const states = new ParsedStates()
  const object = objectOf("one")
  const change = changeOf(object, 7n)
  states.keep(configMaps, change, object)
  states.take(change).data = "spoilt"
  expect(states.take(change)).toStrictEqual(parseObject(change))
})

test("the oldest states are parsed again when there are too many", () => {
  const states = new ParsedStates()
  const objects = Array.from({ length: 30 }, (_, index) => objectOf(String(index).repeat(100_000)))
  const changes = objects.map((object, index) => changeOf(object, BigInt(index + 1)))
  for (const [index, change] of changes.entries()) states.keep(configMaps, change, objects[index] as MutableObject)
  const shared = changes.map((change, index) => states.take(change).data === objects[index]?.data)
  expect(shared[0]).toBe(false)
  expect(shared.at(-1)).toBe(true)
})

test("a custom object is parsed, because its keys are sorted as it is encoded", () => {
  const states = new ParsedStates()
  const custom = { ...configMaps, custom: true }
  const object: MutableObject = { ...objectOf("one"), data: { b: 1, a: 2 } }
  const change = changeOf(object, 7n, custom)
  states.keep(custom, change, object)
  expect(Object.keys(states.take(change).data as object)).toEqual(["a", "b"])
})

test("a refused patch leaves nothing behind for the next one", async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 0 })
  opened.push(sandbox)
  const path = "/api/v1/namespaces/default/services"
  const spec = { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] }
  await sandbox.request({ method: "POST", path, body: { metadata: { name: "web" }, spec } })
  const before = (await sandbox.request({ method: "GET", path: `${path}/web` })).text
  const refused = { spec: { type: "NodePort", sessionAffinity: "Nonsense" } }
  expect((await sandbox.request({ method: "PATCH", path: `${path}/web`, body: refused })).status).toBe(422)
  const dry = { spec: { type: "NodePort" } }
  expect((await sandbox.request({ method: "PATCH", path: `${path}/web?dryRun=All`, body: dry })).status).toBe(200)
  expect((await sandbox.request({ method: "GET", path: `${path}/web` })).text).toBe(before)
  expect((await sandbox.request({ method: "PATCH", path: `${path}/web`, body: {} })).text).toBe(before)
})
