import * as Schema from "effect/Schema"
import { describe, expect, test } from "vitest"
import { structuralSchema } from "../../../src/simulation/api/definitions.ts"

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
