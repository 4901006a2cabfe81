/** Invalid bodies, which must not harm the server. */

import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { rounds } from "../../harness/effort.ts"
import { openForFile } from "../opened-sandbox.ts"
import { applyPatch, bodyOf, configMaps, jsonPatch, mergePatch, send, sendFor, strategicPatch } from "./write-client.ts"

const sandbox = await openForFile({ ledger: "none" })
beforeAll(async () => {
  await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "base" }, data: { k: "v" } })
})

test("whatever the body, the response is a failure Status, and the server keeps running", async () => {
  const types = [
    "application/json",
    "application/yaml",
    "",
    mergePatch.type,
    strategicPatch.type,
    jsonPatch.type,
    applyPatch.type,
  ]
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constantFrom("null", "[]", "5", '"x"', "{}", "[{}]", "---", "a: &x [*x]"),
  )
  const method = fc.constantFrom("POST", "PUT", "PATCH")
  await fc.assert(
    fc.asyncProperty(method, fc.constantFrom(...types), body, async (verb, type = "", text) => {
      const path = verb === "POST" ? configMaps : `${configMaps}/base?fieldManager=x`
      const answer = await send(sandbox, verb, path, text, { type })
      if (answer.status >= 300) expect(bodyOf(answer)).toMatchObject({ kind: "Status", code: answer.status })
      expect([200, 201, 400, 409, 415, 422, 500]).toContain(answer.status)
      expect(answer.text).not.toContain("Internal error")
    }),
    { numRuns: rounds(300) },
  )
  expect((await send(sandbox, "GET", `${configMaps}/base`)).status).toBe(200)
})

test("a body over 3 MB is refused with 413, announced or not", async () => {
  const body = JSON.stringify({ metadata: { name: "big" }, data: { k: "x".repeat(3 * 1024 * 1024) } })
  const answer = await send(sandbox, "POST", configMaps, body)
  expect([answer.status, bodyOf(answer).reason]).toEqual([413, "RequestEntityTooLarge"])
  expect(sandbox.get("v1.ConfigMap", "default", "big")).toBeUndefined()
})

test("__proto__ and the like are keys like any other", async () => {
  const text =
    '{"metadata":{"name":"proto","labels":{"constructor":"x"}},"data":{"__proto__":"a","toString":"b","constructor":"c"}}'
  await sendFor(sandbox, 201, "POST", configMaps, text)
  const patch = '{"data":{"__proto__":"d","hasOwnProperty":"e"},"__proto__":{"polluted":"yes"}}'
  for (const options of [mergePatch, strategicPatch])
    await sendFor(sandbox, 200, "PATCH", `${configMaps}/proto`, patch, options)
  const json = '[{"op":"add","path":"/data/valueOf","value":"f"},{"op":"add","path":"/data/__proto__","value":"g"}]'
  await sendFor(sandbox, 200, "PATCH", `${configMaps}/proto`, json, jsonPatch)
  const applied = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{"__proto__":"h"}}'
  await sendFor(sandbox, 200, "PATCH", `${configMaps}/proto?fieldManager=m&force=true`, applied, applyPatch)
  const { text: stored } = await send(sandbox, "GET", `${configMaps}/proto`)
  const data = JSON.parse(stored).data as object
  expect(Object.entries(data).sort()).toEqual([
    ["__proto__", "h"],
    ["constructor", "c"],
    ["hasOwnProperty", "e"],
    ["toString", "b"],
    ["valueOf", "f"],
  ])
  expect(({} as { polluted?: string }).polluted).toBeUndefined()
})

describe("unknown fields", () => {
  const body = { metadata: { name: "unknown" }, data: { k: "v" }, nope: { deep: 1 } }

  test("are dropped, with a warning unless the client declines it", async () => {
    const warned = await send(sandbox, "POST", `${configMaps}?dryRun=All`, body)
    expect([warned.status, warned.warnings]).toEqual([201, ['unknown field "nope"']])
    expect(warned.text).not.toContain("nope")
    const silent = await send(sandbox, "POST", `${configMaps}?dryRun=All&fieldValidation=Ignore`, body)
    expect([silent.status, silent.warnings]).toEqual([201, []])
    expect(silent.text).not.toContain("nope")
  })

  test("are refused when the client is strict, as are repeated ones", async () => {
    const text = '{"metadata":{"name":"x"},"data":{"a":"1","a":"2"},"nope":1}'
    const answer = await send(sandbox, "POST", `${configMaps}?fieldValidation=Strict`, text)
    expect([answer.status, bodyOf(answer).message]).toEqual([
      400,
      'the body cannot be read as a ConfigMap of v1: strict decoding error: duplicate field "data.a", unknown field "nope"',
    ])
  })
})

describe("a patch that is nested deeper than the server reads", () => {
  const nested = (levels: number, [open, close]: readonly [string, string] = ['{"a":', "}"]): string =>
    `${open.repeat(levels)}1${close.repeat(levels)}`
  const bodies = (levels: number): ReadonlyArray<string> => [
    nested(levels),
    `{"data":${nested(levels)}}`,
    `{"data":${nested(levels, ["[", "]"])}}`,
    `{"metadata":{"annotations":${nested(levels)}}}`,
    `{"metadata":{"ownerReferences":[{"uid":"1","name":${nested(levels)}}]}}`,
  ]

  test("is refused with 400 in every format", async () => {
    await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "deep" }, data: { a: "b" } })
    for (const body of bodies(50_000)) {
      const operations = `[{"op":"add","path":"/data/x","value":${body}}]`
      for (const [options, text] of [
        [strategicPatch, body],
        [mergePatch, body],
        [jsonPatch, operations],
        [applyPatch, body],
      ] as const) {
        const answer = await send(sandbox, "PATCH", `${configMaps}/deep?fieldManager=m`, text, options)
        expect([options.type, answer.status, bodyOf(answer).reason]).toEqual([options.type, 400, "BadRequest"])
      }
    }
  })

  test("is refused as the client's mistake between the depth that fits the stack and the real server's limit", async () => {
    await sendFor(sandbox, 201, "POST", configMaps, { metadata: { name: "less-deep" }, data: { a: "b" } })
    for (const body of bodies(9_000)) {
      for (const options of [strategicPatch, mergePatch]) {
        const answer = await send(sandbox, "PATCH", `${configMaps}/less-deep`, body, options)
        expect([400, 422]).toContain(answer.status)
      }
    }
  })
})

describe("YAML that Go's reader refuses", () => {
  const yaml = { type: "application/yaml" }
  test.each<[string, string | Buffer]>([
    ["is not UTF-8", Buffer.from("metadata:\n  name: odd\ndata:\n  a: \xff\n", "latin1")],
    ["has null as a key", "metadata:\n  name: odd\ndata:\n  ~: a\n"],
    ["has a list as a key", "metadata:\n  name: odd\ndata:\n  ? [a]\n  : b\n"],
  ])("because it %s is refused with 400, applied and created", async (_, body) => {
    expect((await send(sandbox, "POST", configMaps, body, yaml)).status).toBe(400)
    const applied = Buffer.concat([Buffer.from("apiVersion: v1\nkind: ConfigMap\n"), Buffer.from(body as string)])
    const answer = await send(sandbox, "PATCH", `${configMaps}/odd?fieldManager=m`, applied, applyPatch)
    expect([answer.status, bodyOf(answer).reason]).toEqual([400, "BadRequest"])
  })

  test("bytes that are not UTF-8 in JSON are replaced when created, and refused when applied", async () => {
    const body = Buffer.from(
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"},"data":{"a":"\xff"}}',
      "latin1",
    )
    expect((await send(sandbox, "POST", configMaps, body)).status).toBe(201)
    expect((await send(sandbox, "PATCH", `${configMaps}/odd?fieldManager=m`, body, applyPatch)).status).toBe(400)
  })
})

test("a method that a subresource has not is a 405, also where the sandbox has no such subresource", async () => {
  const pod = "/api/v1/namespaces/default/pods/p"
  for (const [method, subresource] of [
    ["PATCH", "log"],
    ["POST", "log"],
    ["DELETE", "exec"],
    ["PUT", "portforward"],
    ["POST", "resize"],
  ] as const) {
    const { status } = await send(sandbox, method, `${pod}/${subresource}`, {})
    expect([method, subresource, status]).toEqual([method, subresource, 405])
  }
})
