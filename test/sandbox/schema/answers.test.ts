/** The real server's responses to some two hundred valid and invalid objects, compared with the results of the schema modules. */

import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { StructuralSchema } from "../../../src/apiserver/index.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { checkCustomValue, customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../../../src/sandbox/schema/custom/schema-defaults.ts"
import { pruneUnknownFields, strictFieldProblems, undecodable } from "../../../src/sandbox/schema/field-check.ts"
import type { KubernetesType } from "../../../src/sandbox/schema/kubernetes-type.ts"

interface Answer {
  readonly path: string
  readonly body: string
  readonly code: number
  readonly message?: string
  readonly causes?: ReadonlyArray<{ readonly reason: string; readonly message: string; readonly field: string }>
}

const recorded = JSON.parse(readFileSync(new URL("answers.json", import.meta.url), "utf8")) as {
  definition: { spec: { versions: [{ schema: { openAPIV3Schema: StructuralSchema } }] } }
  answers: Answer[]
}
const schema = recorded.definition.spec.versions[0].schema.openAPIV3Schema
const catalogue = new SchemaCatalogue()
catalogue.add({ group: "schema-work.example.com", version: "v1", kind: "Gadget" }, customType(schema))

const typeFor = (body: string): KubernetesType => {
  const [, apiVersion = "", kind = ""] = /"apiVersion":"([^"]*)","kind":"([^"]*)"/.exec(body) ?? []
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  const type = catalogue.of({ group, version, kind })
  if (type === undefined) throw new Error(`no type for ${apiVersion} ${kind}`)
  return type
}

/** Whether the schema modules refuse a body with a 400. */
const isBadRequest = (body: string): boolean => {
  const type = typeFor(body)
  const value: unknown = JSON.parse(body)
  return undecodable(type, value) !== undefined || strictFieldProblems(type, body, value).length > 0
}

const named = recorded.answers.map((answer) => [answer.body.slice(0, 400), answer] as const)

describe("answers of the real server", () => {
  test.each(named)("decoding and strict fields: %s", (_, { body, code }) => {
    expect(isBadRequest(body)).toBe(code === 400)
  })

  const custom = named.filter(([, { path, code }]) => path.endsWith("/gadgets") && code !== 400)
  test.each(custom)("values of a custom kind: %s", (_, { body, code, causes }) => {
    const value: unknown = JSON.parse(body)
    const type = typeFor(body)
    pruneUnknownFields(type, value)
    dropNulls(type, value)
    applySchemaDefaults(type, value)
    const problems = checkCustomValue(schema, value)
    if (code === 201) return expect(problems).toEqual([])
    const textOf = ({ reason, field }: { reason: string; field: string }): string => `${reason} ${field}`
    expect(new Set(problems.map(({ type, field }) => `FieldValue${type} ${field}`))).toEqual(
      new Set((causes ?? []).map(textOf)),
    )
  })
})
