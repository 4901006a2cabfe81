/** Our responses compared with those of a real API server, one by one. */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../src/library/sandbox.ts"
import { type Answer, get } from "./client.ts"
import { comparable, recordedAnswer, shape } from "./recorded-answer.ts"

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.start({ revision: 300, token: "sesame", historyLimit: 3 })
  for (let index = 1; index <= 9; index++) {
    sandbox.put("v1.ConfigMap", { metadata: { name: `cm-${index}`, namespace: "default" }, data: { k: String(index) } })
  }
})
afterAll(() => sandbox.close())

const ask = (path: string, method = "GET"): Promise<Answer> =>
  get(sandbox.url + path, { Authorization: "Bearer sesame" }, method)

describe("a failure response has the real server's status, reason and details", () => {
  test.each([
    ["get-not-found", "/apis/apps/v1/namespaces/default/deployments/nope"],
    ["list-exact-expired", "/api/v1/configmaps?resourceVersion=301&resourceVersionMatch=Exact"],
    ["unknown-group", "/apis/nope.example.com/v1/foos"],
    ["unknown-resource", "/api/v1/nopes"],
    ["watch-not-a-number", "/api/v1/configmaps?watch=1&resourceVersion=abc"],
    ["watch-sendinitial-missing-match", "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"],
  ])("%s", async (name, path) => {
    expect(comparable(await ask(path))).toEqual(comparable(recordedAnswer(name)))
  })

  test("unauthorized", async () => {
    expect(comparable(await get(`${sandbox.url}/api/v1/pods`))).toEqual(comparable(recordedAnswer("unauthorized")))
  })

  test.each(["list", "watch"])("forbidden-%s", async (verb) => {
    sandbox.faults.respond("pods", 403, { times: 1 })
    const answer = await ask(verb === "watch" ? "/api/v1/pods?watch=1" : "/api/v1/pods")
    const expected = comparable(recordedAnswer(`forbidden-${verb}`)) as { headers: Record<string, unknown> }
    // The authorizer's handler adds nosniff, which clients ignore.
    delete expected.headers["x-content-type-options"]
    expect(comparable(answer)).toEqual(expected)
  })

  test("list-rv-exact-future, except for the versions", async () => {
    const answer = await ask("/api/v1/configmaps?resourceVersion=99999999&resourceVersionMatch=Exact")
    const recorded = recordedAnswer("list-rv-exact-future")
    const expected = { ...recorded, text: recorded.text.replace("current: 495", `current: ${sandbox.resourceVersion}`) }
    expect(comparable(answer)).toEqual(comparable(expected))
  })

  test("list-bad-continue", async () => {
    const answer = await ask("/api/v1/configmaps?limit=1&continue=gQ")
    expect(comparable(answer)).toEqual(comparable(recordedAnswer("list-bad-continue")))
  })

  test("watch-expired: a 200, then an ERROR event, then the end", async () => {
    const answer = await ask("/api/v1/configmaps?watch=1&resourceVersion=301")
    const recorded = recordedAnswer("watch-expired")
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(`${recorded.text.trimEnd()}\n`.replace("250 (498)", "301 (308)"))
  })

  test("a method that the path does not allow is refused with 405", async () => {
    const answer = await ask("/api/v1/namespaces/default/configmaps", "PUT")
    expect(answer.status).toBe(405)
    expect(JSON.parse(answer.text)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "the server does not allow this method on the requested resource",
      reason: "MethodNotAllowed",
      details: {},
      code: 405,
    })
  })
})

describe("an answer with contents has the real server's keys, in its order", () => {
  test("the first page of a list", async () => {
    const answer = await ask("/api/v1/namespaces/default/configmaps?limit=2")
    const expected = JSON.parse(recordedAnswer("list-configmaps-page1").text) as { items: Array<{ metadata: object }> }
    // Objects that are put have no managedFields.
    for (const item of expected.items) delete (item.metadata as { managedFields?: unknown }).managedFields
    expect(shape(JSON.parse(answer.text))).toEqual(shape(expected))
  })

  test("a list without pages", async () => {
    const { text } = await ask("/apis/apps/v1/deployments")
    const { kind, apiVersion, metadata } = JSON.parse(recordedAnswer("list-deployments").text) as Record<
      string,
      unknown
    >
    expect(shape(JSON.parse(text))).toEqual(shape({ kind, apiVersion, metadata, items: [] }))
  })

  test("the server's version", async () => {
    const answer = await ask("/version")
    expect(shape(JSON.parse(answer.text))).toEqual(shape(JSON.parse(recordedAnswer("version").text)))
  })
})
