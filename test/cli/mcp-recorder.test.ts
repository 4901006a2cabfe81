/** `reel mcp` on a recorder that asks the cluster who may read what: an assistant sees what the owner of its token may. */
import { fileURLToPath } from "node:url"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"

const bin = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))
const rbac = "rbac.authorization.k8s.io"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
let client: Client
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start({ authorization: "rbac", users: [{ token: "token-of-ann", username: "ann" }] })
  const role = { apiGroup: rbac, kind: "Role", name: "reader" }
  sandbox.put(`${rbac}/v1.Role`, {
    metadata: { namespace: "shop", name: "reader" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }],
  } as never)
  sandbox.put(`${rbac}/v1.RoleBinding`, {
    metadata: { namespace: "shop", name: "ann" },
    roleRef: role,
    subjects: [{ apiGroup: rbac, kind: "User", name: "ann" }],
  } as never)
  for (const namespace of ["shop", "bank"])
    sandbox.put("v1.ConfigMap", { metadata: { namespace, name: "prices" }, data: { of: namespace } })
  recorder = place.record({
    cluster: { server: sandbox.url, user: { token: sandbox.token } },
    more: ["--auth", "kubernetes"],
  })
  await recorder.ready()
  client = new Client({ name: "test", version: "1" })
  await client.connect(
    new StdioClientTransport({
      ...{ command: process.execPath, args: [bin, "mcp", "--server", await recorder.listening()] },
      env: { PATH: process.env.PATH ?? "", KUBEREEL_TOKEN: "token-of-ann" },
    }),
  )
})
afterAll(async () => {
  await client.close()
  await place.close()
  await sandbox.close()
})

const call = async (name: string, given: Record<string, unknown>): Promise<readonly [string, boolean]> => {
  const { content, isError } = await client.callTool({ name, arguments: given })
  const [part] = content as ReadonlyArray<{ readonly text: string }>
  return [part?.text ?? "", isError === true]
}

test("what she may read is in the answer, which says that it is restricted", async () => {
  const [text] = await call("get_objects", { kind: "cm", namespace: "shop", field: "data.of" })
  expect(JSON.parse(text)).toEqual({
    ...{ isComplete: true, isRestricted: true },
    items: [{ kind: "v1.ConfigMap", namespace: "shop", name: "prices", values: ["shop"] }],
  })
  const [history] = await call("object_history", { kind: "cm", name: "prices", namespace: "shop" })
  expect(JSON.parse(history)).toMatchObject({ items: [{ type: "created", namespace: "shop" }] })
})

test.each([
  ["get_objects", { kind: "cm", namespace: "bank" }],
  ["get_objects", { kind: "cm" }],
  ["object_history", { kind: "cm", name: "prices", namespace: "bank" }],
  ["events", { since: "0", namespace: "bank" }],
  ["differences", { at: "-1h..now", namespace: "bank" }],
  ["why", { kind: "cm", name: "prices", namespace: "bank" }],
  ["coverage", {}],
])("what she may not read is not in any answer: %s %j", async (tool, given) => {
  const [text, isError] = await call(tool, given)
  expect(text).not.toContain('"bank"')
  if (isError) expect(text).toMatch(/status 403: /)
  else expect(JSON.parse(text)).toMatchObject({ isRestricted: true, items: [] })
})
