/**
 * 188 requests, good and bad, sent one after the other to Kubernetes 1.34.4 (real-answers.json, recorded once) and to a
 * sandbox: the same statuses, bodies and warnings, except for the differences in differences.ts.
 */

import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Sandbox } from "../../../src/library/sandbox.ts"
import { differences } from "./differences.ts"
import { normalised } from "./normalised.ts"
import { send, sendFor, type WriteAnswer } from "./write-client.ts"

interface RecordedRequest {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type: string
  readonly body: string
  readonly status: number
  readonly answer: unknown
  readonly warnings: ReadonlyArray<string>
}

const recorded = JSON.parse(
  readFileSync(new URL("./real-answers.json", import.meta.url), "utf8"),
) as ReadonlyArray<RecordedRequest>

const answers = new Map<string, WriteAnswer>()
beforeAll(async () => {
  await using sandbox = await Sandbox.start({ lifecycle: true })
  for (const name of ["writes-probe", "writes-probe2"])
    await sendFor(sandbox, 201, "POST", "/api/v1/namespaces", { metadata: { name } })
  for (const { name, method, path, type, body } of recorded)
    answers.set(name, await send(sandbox, method, path, body === "" ? undefined : body, { type }))
})
afterAll(() => answers.clear())

const summary = (status: number, answer: unknown, warnings: ReadonlyArray<string>): unknown => ({
  status,
  answer,
  warnings: [...warnings].sort(),
})

const same = recorded.filter(({ name }) => differences[name] === undefined)

test.each(same.map((request) => [request.name, request] as const))("%s", (name, request) => {
  const ours = answers.get(name)
  const expected = normalised(JSON.stringify(request.answer))
  expect(summary(ours?.status ?? 0, normalised(ours?.text ?? ""), ours?.warnings ?? [])).toEqual(
    summary(request.status, typeof request.answer === "string" ? request.answer : expected, request.warnings),
  )
})

/** The sandbox's namespace controller may be as late as the real one, on a busy machine. */
const notAlways = new Set(["finalize-last"])

test("every listed difference is one", () => {
  for (const name of Object.keys(differences).filter((each) => !notAlways.has(each))) {
    const request = recorded.find((candidate) => candidate.name === name)
    const ours = answers.get(name)
    expect([name, normalised(ours?.text ?? "")]).not.toEqual([name, request?.answer])
  }
})
