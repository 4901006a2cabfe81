import { expect, test } from "vitest"
import {
  inputSchemaOf,
  integerOr,
  optionalText,
  optionalWord,
  readParameters,
  requiredText,
  switchOf,
  textOr,
} from "../../../src/cli/mcp/tool-parameters.ts"

const table = {
  kind: requiredText("the kind"),
  name: optionalText("the name"),
  since: textOr("10m", "the beginning"),
  output: optionalWord(["table", "json"], "the form"),
  with_owned: switchOf("more of them"),
  limit: integerOr(50, 500, "how many"),
}

test("values are read, and absent ones have their defaults; null and the empty text count as absent", () => {
  const given = { kind: "pods", name: "", output: null, limit: 7 }
  expect(readParameters(table, given)).toEqual({
    ...{ kind: "pods", name: undefined, since: "10m", output: undefined, with_owned: false, limit: 7 },
  })
})

test.each([
  [{}, "kind is required: the kind"],
  [{ kind: 3 }, "kind must be a string, not a number"],
  [{ kind: ["pods"] }, "kind must be a string, not an array"],
  [{ kind: "x".repeat(5000) }, "kind is longer than 4096 characters"],
  [{ kind: "pods", output: "yaml" }, "output must be one of table, json"],
  [{ kind: "pods", with_owned: "yes" }, "with_owned must be true or false, not a string"],
  [{ kind: "pods", limit: 0 }, "limit must be an integer from 1 to 500"],
  [{ kind: "pods", limit: 1.5 }, "limit must be an integer from 1 to 500"],
  [{ kind: "pods", nmae: "web" }, 'unknown parameter "nmae"; did you mean name?'],
  [{ kind: "pods", toString: 1 }, /^unknown parameter "toString"; parameters are kind, name/],
  [JSON.parse('{"kind":"pods","__proto__":{"limit":3}}'), /^unknown parameter "__proto__"/],
])("what is wrong is named: %j", (given, message) => {
  expect(() => readParameters(table, given)).toThrow(message)
})

test("the schema says what is required, what is allowed and what the defaults are", () => {
  expect(inputSchemaOf({ kind: table.kind, limit: table.limit })).toEqual({
    type: "object",
    properties: {
      kind: { type: "string", description: "the kind" },
      limit: { type: "integer", minimum: 1, maximum: 500, description: "how many", default: 50 },
    },
    required: ["kind"],
    additionalProperties: false,
  })
})
