/** `reel mcp` on a recorder that asks the cluster who may read what: an assistant sees what the owner of its token may. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../src/sandbox/index.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { Assistant } from "./mcp/assistant.ts"

const rbac = "rbac.authorization.k8s.io"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
let assistant: Assistant
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
  const words = ["--server", await recorder.listening()]
  assistant = await Assistant.connected(words, { KUBEREEL_TOKEN: "token-of-ann" })
})
afterAll(async () => {
  await assistant[Symbol.asyncDispose]()
  await place.close()
  await sandbox.close()
})

test("what she may read is in the answer, which says that it is restricted", async () => {
  expect(await assistant.call("get_objects", { kind: "cm", namespace: "shop", field: "data.of" })).toEqual({
    ...{ isComplete: true, isRestricted: true },
    items: [{ kind: "v1.ConfigMap", namespace: "shop", name: "prices", values: ["shop"] }],
  })
  const { items } = await assistant.call("object_history", { kind: "cm", name: "prices", namespace: "shop" })
  expect(items).toMatchObject([{ type: "created", namespace: "shop" }])
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
  const [text, isError] = await assistant.text(tool, given)
  expect(text).not.toContain('"bank"')
  if (isError) expect(text).toMatch(/status 403: /)
  else expect(JSON.parse(text)).toMatchObject({ isRestricted: true, items: [] })
})
