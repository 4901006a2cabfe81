/** `matchConditions`: which requests a webhook is asked about, and what becomes of a condition that fails. */

import { expect, test } from "vitest"
import { compileCondition } from "../../../../src/sandbox/cel/condition.ts"
import type { Value } from "../../../../src/sandbox/cel/values.ts"
import { bodyOf, configMaps, send, sendFor } from "../write-client.ts"
import { configuration, mutatingConfigurations, patching, validatingConfigurations, webhook } from "./webhook-server.ts"
import { configMap, start } from "./with-webhooks.ts"

const conditions = (...expressions: readonly string[]): object => ({
  matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
})

test("a webhook is asked only if all of its conditions are true", async () => {
  const { sandbox, server } = await start(() => patching({ op: "add", path: "/data/seen", value: "yes" }))
  const both = conditions(
    "has(object.data) && object.data.?k.orValue('') == 'v'",
    "request.operation == 'CREATE' && request.namespace == 'default' && request.userInfo.groups.exists(g, g != '')",
    "oldObject == null && request.resource.resource == 'configmaps'",
    "request.kind == request.requestKind && request.resource == request.requestResource",
  )
  await sendFor(
    sandbox,
    201,
    "POST",
    mutatingConfigurations,
    configuration("one", { ...webhook(server, "/m"), ...both }),
  )
  expect(bodyOf(await send(sandbox, "POST", configMaps, configMap("a"))).data).toEqual({ k: "v", seen: "yes" })
  expect(bodyOf(await send(sandbox, "POST", configMaps, { ...configMap("b"), data: { k: "w" } })).data).toEqual({
    k: "w",
  })
  expect(server.reviews).toHaveLength(1)
})

test("a condition that fails refuses the request, unless failures are ignored or another condition is false", async () => {
  const { sandbox, server } = await start(() => ({ allowed: false }))
  const failing = "object.data.missing == 'x'"
  const configure = (name: string, expressions: readonly string[], rest: object = {}): object => ({
    ...webhook(server, `/${name}`),
    ...conditions(...expressions),
    ...rest,
  })
  const create = (...webhooks: readonly object[]) =>
    sendFor(sandbox, 201, "POST", validatingConfigurations, configuration("one", ...webhooks))
  await create(configure("ignored", [failing], { failurePolicy: "Ignore" }), configure("false", [failing, "false"]))
  await sendFor(sandbox, 201, "POST", configMaps, configMap("a"))
  await sendFor(sandbox, 200, "DELETE", `${validatingConfigurations}/one`)
  await create(configure("fails", [failing]))
  const refused = bodyOf(await send(sandbox, "POST", configMaps, configMap("b")))
  expect(refused).toMatchObject({
    code: 403,
    reason: "Forbidden",
    message: `configmaps "b" is forbidden: expression '${failing}' resulted in error: no such key: missing`,
  })
  expect(server.reviews).toEqual([])
})

test("conditions are compiled when they are written", async () => {
  const { sandbox, server } = await start(() => ({ allowed: true }))
  const one = { ...webhook(server, "/m"), ...conditions("object.", "1 + 1", "request.nope == ''", "") }
  const refused = bodyOf(await send(sandbox, "POST", mutatingConfigurations, configuration("one", one)))
  const fields = [0, 1, 2, 3].map((index) => `webhooks[0].matchConditions[${index}].expression`)
  expect(refused.details.causes).toMatchObject(fields.map((field) => ({ field })))
  const authorizing = {
    ...webhook(server, "/m"),
    ...conditions("authorizer.group('').resource('pods').check('get').allowed()"),
  }
  const message = bodyOf(await send(sandbox, "POST", mutatingConfigurations, configuration("one", authorizing))).message
  expect(message).toContain("undeclared reference to 'authorizer'")
})

test("kinds and resources of a request are equal if their parts are", () => {
  const kind = (version: string) => ({ group: "apps", version, kind: "Deployment" })
  const run = (text: string, requestKind: object): Value => {
    const program = compileCondition(text)
    if (typeof program === "string") throw new Error(program)
    return program.run({ request: { kind: kind("v1"), requestKind } })
  }
  const text = "request.kind == request.requestKind"
  expect([run(text, kind("v1")), run(text, kind("v1beta1"))]).toEqual([true, false])
  // One of them has been read in part, and they are still compared as a whole.
  const afterwards = "request.kind.version == 'v1' && request.kind != request.requestKind"
  expect([run(afterwards, kind("v1")), run(afterwards, kind("v1beta1"))]).toEqual([false, true])
  expect(compileCondition("request.kind == request.resource")).toContain("no matching overload")
})
