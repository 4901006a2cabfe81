/** Where the runs of a driver's hooks are recorded, and what becomes of the hooks if they are not. */
import { expect, test } from "vitest"
import { systemClock } from "../../../src/clock.ts"
import {
  type ApiClient,
  type ApiError,
  ApiRefusalError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  UnauthorizedError,
} from "../../../src/kube/index.ts"
import type { Simulation } from "../../../src/simulation/api/simulation.ts"
import { DriverHooks } from "../../../src/simulation/driver/driver-status.ts"

const facts = (code: number, detail = "no") => ({
  ...{ verb: "patch", kind: "simkube.io/v1.Simulation", namespace: "", name: "demo" },
  ...{ code, reason: "", detail, causes: [] },
})

/** Runs two hooks, while the first writes of the status are refused. */
const driven = async (...refusals: ApiError[]) => {
  const hook = { cmd: "echo", args: ["ran"] }
  let stored: Simulation = {
    apiVersion: "simkube.io/v1",
    kind: "Simulation",
    metadata: { name: "demo", uid: "u" },
    spec: { hooks: { preRunHooks: [hook, hook] } } as never,
  }
  let writes = 0
  const client = {
    get: async () => stored,
    create: async () => ({}),
    patch: async (...[, , , patch]: [unknown, unknown, unknown, object]) => {
      writes++
      const refusal = refusals.shift()
      if (refusal !== undefined) throw refusal
      stored = { ...stored, ...patch, metadata: stored.metadata }
      return stored
    },
  } as unknown as ApiClient
  const log: string[] = []
  const hooks = new DriverHooks({
    client,
    clock: systemClock,
    environment: { PATH: process.env.PATH },
    repetition: 1,
    signal: new AbortController().signal,
    log: (line) => log.push(line),
  })
  await hooks.run("preRun", stored)
  await hooks.close()
  return { log, writes, runs: stored.status?.hooks }
}

const ran = "preRun hook: ran"

test.each<[string, ApiError]>([
  ["is malformed", new ApiRefusalError(facts(400))],
  ["has a field that is not declared", new ApiRefusalError(facts(500, ".status.hooks: field not declared in schema"))],
  ["has credentials that it does not accept", new UnauthorizedError(facts(401))],
  ["is not permitted", new ForbiddenError(facts(403))],
  ["has no object", new NotFoundError(facts(404))],
  ["is not valid", new InvalidError(facts(422))],
])("hooks run without a record, and that is said once, if the server says that it %s", async (_, refusal) => {
  const { log, writes } = await driven(refusal)
  expect(log).toEqual([`runs of hooks are not in the status of the Simulation: ${refusal.message}`, ran, ran])
  expect(writes).toBe(1)
})

test("a record is written again after a conflict, and when the server is back", async () => {
  const { log, writes, runs } = await driven(new ConflictError(facts(409)), new ApiRefusalError(facts(503)))
  expect(log).toEqual([ran, ran])
  expect(writes).toBe(6)
  expect(runs).toMatchObject([
    { phase: "preRun", repetition: 1, index: 0, exitCode: 0 },
    { phase: "preRun", repetition: 1, index: 1, exitCode: 0 },
  ])
})
