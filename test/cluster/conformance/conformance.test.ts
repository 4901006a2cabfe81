/**
 * The sandbox conforms: every script gets the same responses and events from it as from Kubernetes 1.34, apart from
 * the differences that differences.ts explains.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { openTestCluster } from "../guard.ts"
import { type Difference, describeDifference, isKnown } from "./compare.ts"
import { knownDifferences } from "./differences.ts"
import { runAll } from "./run-all.ts"
import type { Script } from "./script.ts"
import { scripts } from "./scripts/index.ts"
import { Target } from "./target.ts"

let sandbox: Sandbox
let targets: readonly Target[] = []
let results: ReadonlyMap<Script, Promise<readonly Difference[]>> = new Map()

beforeAll(async () => {
  const { connection } = await openTestCluster()
  sandbox = await Sandbox.start({ lifecycle: true })
  const real = new Target("cluster", connection)
  const ours = new Target("sandbox", { server: sandbox.url, options: {} })
  targets = [real, ours]
  results = runAll(real, ours, scripts, process.pid.toString(36))
  // Each is awaited by its own test; one that fails before its turn must not end the process.
  for (const result of results.values()) result.catch(() => undefined)
})
afterAll(async () => {
  await Promise.allSettled(results.values())
  for (const target of targets) target.close()
  await sandbox?.close()
})

describe("the sandbox answers as Kubernetes does", () => {
  test.each(scripts.map((script) => [script.name, script] as const))("%s", async (_name, script) => {
    const differences = (await results.get(script)) ?? []
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
