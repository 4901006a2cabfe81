/**
 * A sandbox with authorization decides as Kubernetes 1.34 does, and says so in the same words: unlike in the other scripts, messages
 * count.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { type Json, textAt } from "../exact-json.ts"
import { openTestCluster } from "../guard.ts"
import { comparable } from "./comparable.ts"
import { describeDifference, differencesOf, isKnown, type KnownDifference } from "./compare.ts"
import { runScript, type Transcript } from "./run-script.ts"
import { authorizing } from "./scripts/authorizing.ts"
import { Target } from "./target.ts"

const tokens = "A token is signed with a key of its server's, and nobody reads the field owners of what is not stored."
const owners = "The sandbox's controller of aggregated roles updates them; the real one applies."

const known: readonly KnownDifference[] = [
  { script: "*", step: "*", pointer: "/body/status/token", reason: tokens },
  { script: "*", step: "*", pointer: "/body/spec/token", reason: tokens },
  { script: "account-tokens", step: "*", pointer: "/body/metadata/managedFields", reason: tokens },
  { script: "impersonation", step: "its token", pointer: "/body/metadata/managedFields", reason: tokens },
  {
    script: "default-policy",
    step: "cluster roles",
    pointer: "/body/items/*/metadata/managedFields/**",
    reason: owners,
  },
  { script: "default-policy", step: "has its part", pointer: "/body/metadata/managedFields/**", reason: owners },
]

/** Those that have occurred so far. */
const occurred = new Set<KnownDifference>()

let sandbox: Sandbox
let targets: readonly [Target, Target] | undefined

beforeAll(async () => {
  const { connection } = await openTestCluster()
  const real = new Target("cluster", connection)
  const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
  const headers = { "content-type": "application/json" }
  const { text } = await real.send({ method: "POST", path: review, headers, body: "{}" })
  const { status } = JSON.parse(text) as {
    readonly status: { readonly userInfo: { readonly username: string; readonly groups: readonly string[] } }
  }
  // The same user here as there, since refusals name them.
  const users = [{ token: "same", ...status.userInfo }]
  sandbox = await Sandbox.start({ lifecycle: true, authorization: "rbac", users })
  const options = { headers: { authorization: "Bearer same" } }
  targets = [real, new Target("sandbox", { server: sandbox.url, options })]
})
afterAll(async () => {
  for (const target of targets ?? []) target.close()
  await sandbox?.close()
})

/** The messages of all refusals, by step; without what each server chooses itself. */
const messagesOf = ({ records }: Transcript): Readonly<Record<string, string>> =>
  Object.fromEntries(
    records.flatMap((record) => {
      const message = record.type === "answer" ? saidIn(record.body) : ""
      return message === "" ? [] : [[record.step, message.replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, "<uid>")]]
    }),
  )

const saidIn = (body: Json): string =>
  typeof body === "string" ? body : textAt(body, "message") || textAt(body, "status", "error")

describe("the sandbox authorizes as Kubernetes does", () => {
  test.for(authorizing.map((script) => [script.name, script] as const))("%s", async ([, script]) => {
    if (targets === undefined) throw new Error("the suite is not set up")
    const namespace = `${script.name}-${process.pid.toString(36)}`
    const [real, ours] = await Promise.all(targets.map((target) => runScript(target, script, namespace)))
    if (real === undefined || ours === undefined) throw new Error("a transcript is missing")
    const unknown = differencesOf(script.name, comparable(real), comparable(ours)).filter((difference) => {
      const explained = known.filter((one) => isKnown(difference, one))
      for (const one of explained) occurred.add(one)
      return explained.length === 0
    })
    expect(unknown.map(describeDifference)).toEqual([])
    expect(messagesOf(ours)).toEqual(messagesOf(real))
  })
})

test("every known difference still occurs", () => {
  expect(known.filter((one) => !occurred.has(one))).toEqual([])
})
