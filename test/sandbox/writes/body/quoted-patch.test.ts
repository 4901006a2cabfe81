/**
 * The document that a refused patch is answered with: the order of its members tells what Go had opened. Expected texts as
 * Kubernetes 1.34.4 answered.
 */

import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../../../src/sandbox/index.ts"
import { jsonPatch, mergePatch, sendFor, type WriteOptions } from "../write-client.ts"

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.start({ ledger: "none" })
  await sendFor(sandbox, 201, "POST", "/api/v1/namespaces/default/services", {
    spec: {
      type: "ClusterIP",
      clusterIP: "None",
      ports: [{ targetPort: 8080, port: 80 }],
      selector: { b: "1", a: "1" },
    },
    metadata: { name: "s" },
  })
})
afterAll(() => sandbox.close())

/** The quoted document's spec, text as it stands. */
const quotedSpec = async (patch: unknown, type: WriteOptions): Promise<string> => {
  const path = "/api/v1/namespaces/default/services/s?fieldValidation=Strict"
  const { message } = await sendFor(sandbox, 422, "PATCH", path, patch, type)
  const [, quoted = '""'] = /Invalid value: ("(?:\\.|[^"\\])*")/.exec(message) ?? []
  return JSON.parse(quoted).match(/"spec":(.*),"status":/)?.[1] ?? ""
}

const untouched =
  '{"ports":[{"protocol":"TCP","port":80,"targetPort":8080}],"selector":{"a":"1","b":"1"},"clusterIP":"None",' +
  '"clusterIPs":["None"],"type":"ClusterIP","sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack",' +
  '"internalTrafficPolicy":"Cluster"}'

test("what the patch has not opened has the order of Go's structs, whatever the client's was", async () => {
  expect(await quotedSpec({ nope: 1 }, mergePatch)).toBe(untouched)
})

test("what it has opened is sorted, what lies in it unopened is not", async () => {
  expect(await quotedSpec({ spec: { nope: 1 } }, mergePatch)).toMatch(
    /^\{"clusterIP":"None",.*"nope":1,"ports":\[\{"protocol":"TCP","port":80,"targetPort":8080\}\],"selector".*\}$/,
  )
})

test("an item that a JSON patch has brought stands as it came, before the old ones as they were", async () => {
  const value = { port: 81, nope: 1, name: "n" }
  expect(await quotedSpec([{ op: "add", path: "/spec/ports/0", value }], jsonPatch)).toContain(
    '"ports":[{"port":81,"nope":1,"name":"n"},{"protocol":"TCP","port":80,"targetPort":8080}]',
  )
})
