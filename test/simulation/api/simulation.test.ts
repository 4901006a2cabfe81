/** What `Schema` decodes and what the API server accepts is the same, as far as a schema can say it. */
import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkCustomValue, customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../../../src/sandbox/schema/custom/schema-defaults.ts"
import { pruneUnknownFields } from "../../../src/sandbox/schema/field-check.ts"
import { readSimulation } from "../../../src/simulation/api/simulation.ts"
import { bodyOf } from "./arbitrary-bodies.ts"
import { simulationSchema } from "./definition.ts"

const type = customType(simulationSchema)
const head = { apiVersion: "simkube.io/v1", kind: "Simulation", metadata: { name: "demo" } }

/** The object as the server stores it, and what it says against it. */
const served = (body: unknown) => {
  const object = { ...(structuredClone(body) as object), ...head }
  pruneUnknownFields(type, object)
  dropNulls(type, object)
  applySchemaDefaults(type, object)
  return {
    object,
    problems: checkCustomValue(simulationSchema, object).map(({ field, detail }) => `${field}: ${detail}`),
  }
}

const driver = { image: "reel", namespace: "simkube", port: 8888, tracePath: "/data/trace" }

describe("a Simulation", () => {
  test("of the schema is accepted by the server and by Schema", () => {
    fc.assert(
      fc.property(bodyOf(simulationSchema, 0), (body) => {
        const { object, problems } = served(body)
        expect(problems).toEqual([])
        expect(readSimulation(object)).toEqual(Result.succeed(object))
      }),
      { numRuns: 200 },
    )
  })

  test("with faults is refused by both or by neither", () => {
    const outcomes = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(
        fc.constantFrom(20, 200).chain((faults) => bodyOf(simulationSchema, faults)),
        (body) => {
          // What is no object at all never reaches the schema.
          if (typeof body !== "object" || body === null || Array.isArray(body)) return
          const { object, problems } = served(body)
          const reading = readSimulation(object)
          expect({ object, problems, isAccepted: Result.isSuccess(reading) }).toEqual({
            object,
            problems,
            isAccepted: problems.length === 0,
          })
          outcomes[problems.length === 0 ? "accepted" : "refused"] += 1
        },
      ),
      { numRuns: 1000 },
    )
    // Otherwise nothing would have been compared.
    expect(Math.min(outcomes.accepted, outcomes.refused)).toBeGreaterThan(50)
  })

  test("of SimKube 2.6, which has no lifecycleParams, gets the defaults of later fields (W-56)", () => {
    const hooks = { preRunHooks: [{ cmd: "kubectl", args: ["get", "nodes"] }], postRunHooks: null }
    const { object, problems } = served({ spec: { driver, hooks } })
    expect(problems).toEqual([])
    expect(object).toMatchObject({
      spec: {
        driver: { ...driver, virtualNsPrefix: "virtual", certManagerIssuer: "selfsigned" },
        hooks: { preRunHooks: [{ timeout: "5m" }], postRunHooks: null },
      },
    })
  })

  test("keeps what the Prometheus operator may know and we do not", () => {
    const remoteWriteConfigs = [{ url: "http://rw", queueConfig: { capacity: 1 }, ofLaterVersions: { a: [1] } }]
    expect(served({ spec: { driver, metrics: { remoteWriteConfigs } } }).object).toMatchObject({
      spec: { metrics: { remoteWriteConfigs } },
    })
  })

  test("that another definition let in is refused with the field and what to do", () => {
    const reading = readSimulation({ ...head, spec: { driver: { ...driver, port: 0 }, speed: -1 } })
    const message = Result.isFailure(reading) ? reading.failure.message : ""
    expect(message).toMatch(/^the Simulation demo cannot be run: .*port.*speed.*apply it again$/)
  })
})
