/**
 * The sandbox conforms: every script gets the same responses and events from it as from Kubernetes 1.34, apart from
 * the differences that differences.ts explains.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { makeCertificates } from "../../kube/certificates.ts"
import { authority, WebhookServer } from "../../sandbox/writes/webhooks/webhook-server.ts"
import { openTestCluster } from "../guard.ts"
import { comparable } from "./comparable.ts"
import { type Difference, describeDifference, differencesOf, isKnown } from "./compare.ts"
import { knownDifferences } from "./differences.ts"
import { runAll } from "./run-all.ts"
import { runScript } from "./run-script.ts"
import type { Script } from "./script.ts"
import { admissionWebhooks } from "./scripts/admission-webhooks.ts"
import { scripts } from "./scripts/index.ts"
import { Target } from "./target.ts"
import { webhookAnswer } from "./webhook-answers.ts"

let sandbox: Sandbox
let webhooks: WebhookServer
let targets: readonly Target[] = []
let results: ReadonlyMap<Script, Promise<readonly Difference[]>> = new Map()

beforeAll(async () => {
  const { connection } = await openTestCluster()
  sandbox = await Sandbox.start({ lifecycle: true })
  const real = new Target("cluster", connection)
  const ours = new Target("sandbox", { server: sandbox.url, options: {} })
  targets = [real, ours]
  webhooks = await WebhookServer.start(webhookAnswer)
  const reached = isLocal(connection.server) ? scripts : scripts.filter((script) => !admissionWebhooks.includes(script))
  results = runAll(real, ours, reached, process.pid.toString(36), webhookVariables())
  // Each is awaited by its own test; one that fails before its turn must not end the process.
  for (const result of results.values()) result.catch(() => undefined)
})
afterAll(async () => {
  await Promise.allSettled(results.values())
  for (const target of targets) target.close()
  await sandbox?.close()
  await webhooks?.[Symbol.asyncDispose]()
})

/** A cluster on another machine does not reach the webhooks of this one. */
const isLocal = (server: string): boolean => ["127.0.0.1", "localhost", "[::1]"].includes(new URL(server).hostname)

const webhookVariables = (ca = authority) => ({ webhooks: webhooks.url, authority: Buffer.from(ca).toString("base64") })

test("a server that cannot call its webhooks is noticed", async ({ skip }) => {
  const [real, ours] = targets
  const script = admissionWebhooks[0]
  if (real === undefined || ours === undefined || script === undefined) throw new Error("the suite is not set up")
  const first = results.get(script) ?? skip("this cluster cannot reach webhooks on this machine")
  // With another authority no call succeeds, so the sandbox refuses what webhooks are to be asked about.
  const name = `deaf-${process.pid.toString(36)}`
  const steps = script.steps.filter(({ name: step }) => step !== "the configuration is noticed")
  const deaf = { ...script, steps }
  const [expected, found] = await Promise.all([
    first.then(() => runScript(real, deaf, name, webhookVariables())),
    runScript(ours, deaf, name, webhookVariables(makeCertificates().authority)),
  ])
  const differences = differencesOf(script.name, comparable(expected), comparable(found))
  expect(differences.map(({ step }) => step)).toEqual(expect.arrayContaining(["create", "replace", "delete"]))
})

describe("the sandbox answers as Kubernetes does", () => {
  test.for(scripts.map((script) => [script.name, script] as const))("%s", async ([, script], { skip }) => {
    const differences = await (results.get(script) ?? skip("this cluster cannot reach webhooks on this machine"))
    const unknown = differences.filter((difference) => !knownDifferences.some((known) => isKnown(difference, known)))
    expect(unknown.map(describeDifference)).toEqual([])
  })
})

test("every known difference still occurs", async () => {
  const all = (await Promise.all(results.values())).flat()
  const gone = knownDifferences.filter(
    (known) => known.sometimes !== true && !all.some((difference) => isKnown(difference, known)),
  )
  expect(gone).toEqual([])
})

test("names of scripts and steps are unique", () => {
  expect(new Set(scripts.map(({ name }) => name)).size).toBe(scripts.length)
  for (const { name, steps } of scripts) {
    const names = steps.map((step) => step.name)
    expect(names.filter((each, index) => names.indexOf(each) !== index).map((each) => `${name}: ${each}`)).toEqual([])
  }
})
