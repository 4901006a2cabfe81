/** What the real server answered to some two hundred wrong and right objects, against what the schema modules say of them. */

import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { StructuralSchema } from "../../../src/apiserver/openapi/structural-schema.ts"
import { SchemaCatalogue } from "../../../src/sandbox/schema/catalogue.ts"
import { checkCustomValue, customType } from "../../../src/sandbox/schema/custom/custom-schema.ts"
import { applySchemaDefaults, dropNulls } from "../../../src/sandbox/schema/custom/schema-defaults.ts"
import {
  decodeFailure,
  pruneUnknownFields,
  strictFailure,
  strictFieldProblems,
} from "../../../src/sandbox/schema/field-check.ts"
import { formatFieldProblems } from "../../../src/sandbox/schema/field-problem.ts"
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

const typeFor = (body: string): { type: KubernetesType; version: string; kind: string } => {
  const [, apiVersion = "", kind = ""] = /"apiVersion":"([^"]*)","kind":"([^"]*)"/.exec(body) ?? []
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  const type = catalogue.of({ group, version, kind })
  if (type === undefined) throw new Error(`no type for ${apiVersion} ${kind}`)
  return { type, version, kind }
}

/** The 400 that the schema modules lead to, if any. */
const badRequest = (body: string): string | undefined => {
  const { type, ...gvk } = typeFor(body)
  const value: unknown = JSON.parse(body)
  const undecodable = decodeFailure(gvk, type, value)
  if (undecodable !== undefined) return undecodable
  const problems = strictFieldProblems(type, body, value)
  return problems.length === 0 ? undefined : strictFailure(gvk, problems)
}

const named = recorded.answers.map((answer) => [answer.body.slice(0, 400), answer] as const)

describe("answers of the real server", () => {
  test.each(named)("decoding and strict fields: %s", (_, { body, code, message }) => {
    expect(badRequest(body)).toBe(code === 400 ? message : undefined)
  })

  const custom = named.filter(([, { path, code }]) => path.endsWith("/gadgets") && code !== 400)
  test.each(custom)("values of a custom kind: %s", (_, { body, code, message, causes }) => {
    const value: unknown = JSON.parse(body)
    const { type } = typeFor(body)
    pruneUnknownFields(type, value)
    dropNulls(type, value)
    applySchemaDefaults(type, value)
    const problems = checkCustomValue(schema, value)
    if (code === 201) return expect(problems).toEqual([])
    const found = problems.map(({ reason, field, message }) => ({ reason, message, field }))
    const inOrder = (one: { field: string }, other: { field: string }): number => (one.field < other.field ? -1 : 1)
    // The server's order among fields is that of a Go map, which is random.
    expect(found.toSorted(inOrder)).toEqual([...(causes ?? [])].sort(inOrder))
    if (new Set(problems.map(({ field }) => field)).size === 1)
      expect(`Gadget.schema-work.example.com "g" is invalid: ${formatFieldProblems(problems)}`).toBe(message)
  })
})
