/** Our responses to writes compared with those of a real API server, recorded in test/data/apiserver. */

import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { recordedAnswer } from "../recorded-answer.ts"
import { normalised } from "./normalised.ts"
import { applyPatch, deployment, deployments, send, type WriteAnswer } from "./write-client.ts"

let sandbox: Sandbox
const answers = new Map<string, WriteAnswer>()

const applied = (replicas: number) => {
  const object = deployment("ssa", replicas)
  return JSON.stringify(object)
}

beforeAll(async () => {
  sandbox = await Sandbox.start()
  const ask = async (name: string, ...request: [method: string, path: string, body?: unknown, options?: object]) => {
    answers.set(name, await send(sandbox, ...request))
  }
  await ask("write-ssa-create", "PATCH", `${deployments}/ssa?fieldManager=me`, applied(1), applyPatch)
  await ask("write-ssa-conflict", "PATCH", `${deployments}/ssa?fieldManager=you`, applied(2), applyPatch)
  await ask("write-create-exists", "POST", deployments, deployment("ssa"))
  const missing = "/apis/apps/v1/namespaces/nope/deployments"
  await ask("write-create-missing-namespace", "POST", missing, deployment("x"))
  const bad = {
    metadata: { name: "bad" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "c" } }, spec: { containers: [] } },
    },
  }
  await ask("write-create-invalid", "POST", deployments, bad)
  await ask("write-create-malformed", "POST", deployments, '{"apiVersion":')
  const old = deployment("ssa")
  await ask("write-update-conflict", "PUT", `${deployments}/ssa`, {
    ...old,
    metadata: { name: "ssa", resourceVersion: "1" },
  })
  await ask("write-delete", "DELETE", `${deployments}/ssa`)
})
afterAll(() => sandbox.close())

test.each([
  "write-ssa-create",
  "write-ssa-conflict",
  "write-create-exists",
  "write-create-missing-namespace",
  "write-create-invalid",
  "write-create-malformed",
  "write-update-conflict",
  "write-delete",
])("%s", (name) => {
  const recorded = recordedAnswer(name)
  const ours = answers.get(name)
  expect([ours?.status, normalised(ours?.text ?? "")]).toEqual([recorded.status, normalised(recorded.text)])
  expect(ours?.headers["content-type"]).toBe(recorded.headers["content-type"])
})
