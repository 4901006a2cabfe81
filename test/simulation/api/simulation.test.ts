/** What `Schema` decodes and what the API server accepts is the same, as far as a schema can say it. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkCustomValue, customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../../../src/sandbox/schema/custom/schema-defaults.ts"
import { pruneUnknownFields } from "../../../src/sandbox/schema/field-check.ts"
import { matchesPattern } from "../../../src/sandbox/schema/pattern.ts"
import { structuralSchema } from "../../../src/simulation/api/definitions.ts"
import { readSimulation, traceDurationMs, traceDurationRule } from "../../../src/simulation/api/simulation.ts"
import { rounds } from "../../harness/effort.ts"
import { bodyOf } from "./arbitrary-bodies.ts"
import { simulationSchema } from "./definition.ts"

describe("a structural schema", () => {
  test("has the tighter of two bounds, nullable for a type null, and OpenAPI's exclusive bound", () => {
    const schema = Schema.Struct({
      port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 })),
      speed: Schema.optionalKey(Schema.NullOr(Schema.Finite.check(Schema.isGreaterThan(0)))),
    }).annotate({ "x-kubernetes-map-type": "atomic", internal: true })
    expect(structuralSchema(schema)).toEqual({
      type: "object",
      required: ["port"],
      "x-kubernetes-map-type": "atomic",
      properties: {
        port: { type: "integer", minimum: 1, maximum: 65_535 },
        speed: { type: "number", minimum: 0, exclusiveMinimum: true, nullable: true },
      },
    })
  })

  test.each([
    ["a union", Schema.Union([Schema.String, Schema.Finite]), "anyOf"],
    ["an enum that may be null", Schema.NullOr(Schema.Literals(["a", "b"])), "an enum that may be null"],
    [
      "an exclusive bound beside another",
      Schema.Int.check(Schema.isGreaterThan(0)).annotate({ format: "int32" }),
      "two values of minimum",
    ],
    ["a tuple", Schema.Tuple([Schema.String]), "prefixItems"],
    ["a number that may be infinite", Schema.Number, "anyOf"],
  ])("is refused for %s, with the place", (_, field, what) => {
    expect(() => structuralSchema(Schema.Struct({ outer: Schema.Struct({ field }) }))).toThrow(
      `no structural schema can have ${what} at .outer.field`,
    )
  })
})

/** The patterns of the rule, which are all that it consists of. */
const patterns = [...traceDurationRule.rule.matchAll(/self\.matches\(r?'([^']*)'\)/g)].map(
  ([, pattern = ""]) => pattern,
)
const isAccepted = (text: string): boolean => patterns.every((pattern) => matchesPattern(pattern, text))

test.each([
  ["+5m", 300_000],
  ["90s", 90_000],
  ["+1h30m", 5_400_000],
  ["1 hour and 30 minutes", 5_400_000],
  ["2 days, 1 week", 777_600_000],
  ["+10 mins", 600_000],
])("%s is %i ms", (text, ms) => {
  expect({ ms: traceDurationMs(text), isAccepted: isAccepted(text) }).toEqual({ ms, isAccepted: true })
})

test.each(["", "5", "m", "-5m", "1.5h", "2 months", "1 year", "0s", "5m later", "5m\n", "2026-11-23T12:00:00Z", "5ms"])(
  "%j is refused",
  (text) => {
    expect({ ms: traceDurationMs(text), isAccepted: isAccepted(text) }).toEqual({ ms: undefined, isAccepted: false })
  },
)

test("everything that the API server accepts can be read, and nothing else", () => {
  const piece = fc.constantFrom(
    "+",
    " ",
    ",",
    " and ",
    "1",
    "90",
    "0",
    "s",
    "min",
    "minutes",
    "h",
    "hours",
    "d",
    "weeks",
    "ms",
    "y",
    "-",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const text = pieces.join("")
      expect([text, traceDurationMs(text) !== undefined]).toEqual([text, isAccepted(text)])
    }),
    { numRuns: rounds(2000) },
  )
})

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
      { numRuns: rounds(200) },
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
      { numRuns: rounds(1000) },
    )
    // Otherwise nothing would have been compared.
    expect(Math.min(outcomes.accepted, outcomes.refused)).toBeGreaterThan(rounds(50))
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
