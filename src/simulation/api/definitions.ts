/** The CustomResourceDefinitions of `simkube.io/v1`: what `reel crd` prints, and what k8s/crds has. */
import * as Schema from "effect/Schema"
import type { Kind } from "../../kube/index.ts"
import { simulationKind, simulationRootKind } from "./derived-names.ts"
import { SimulationBody } from "./simulation.ts"

// A `Schema` as the structural OpenAPI v3 schema of a CustomResourceDefinition.

/** Annotations of `Schema` whose names begin with `x-kubernetes-` are kept. Throws an Error for a schema that the API server could not have. */
export const structuralSchema = (schema: Schema.Constraint): Schema.JsonObject => {
  const { schema: converted } = Schema.toJsonSchemaDocument(schema, {
    includeAnnotationKey: (key) => key.startsWith("x-kubernetes-"),
  })
  return structural(converted as Schema.JsonObject, "")
}

type Keyword = (value: Schema.Json, path: string) => Schema.JsonObject

const asItIs =
  (key: string): Keyword =>
  (value) => ({ [key]: value })

const keywords: Readonly<Record<string, Keyword>> = {
  ...Object.fromEntries(
    [
      "type",
      "description",
      "format",
      "default",
      "enum",
      "required",
      "minimum",
      "maximum",
      "minLength",
      "maxLength",
      "minItems",
      "maxItems",
    ].map((key) => [key, asItIs(key)]),
  ),
  exclusiveMinimum: (minimum) => ({ minimum, exclusiveMinimum: true }),
  properties: (properties, path) => ({
    properties: Object.fromEntries(
      Object.entries(properties as Schema.JsonObject).map(([name, each]) => [
        name,
        structural(each as Schema.JsonObject, `${path}.${name}`),
      ]),
    ),
  }),
  items: (items, path) => ({ items: structural(items as Schema.JsonObject, `${path}[]`) }),
  // `true` is what a structural schema means anyway: what it does not mention is removed.
  additionalProperties: (value, path) =>
    typeof value === "boolean" ? {} : { additionalProperties: structural(value as Schema.JsonObject, `${path}[]`) },
  allOf: (parts, path) =>
    merged(
      (parts as ReadonlyArray<Schema.JsonObject>).map((part) => structural(part, path)),
      path,
    ),
  anyOf: (alternatives, path) => {
    const [value, none, ...others] = alternatives as ReadonlyArray<Schema.JsonObject>
    if (value === undefined || none?.type !== "null" || others.length > 0) throw unsupported("anyOf", path)
    // The server would look a null up in the enum, and kubectl refuses an enum with a null in it.
    if (value.enum !== undefined) throw unsupported("an enum that may be null", path)
    return { ...structural(value, path), nullable: true }
  },
}

const structural = (schema: Schema.JsonObject, path: string): Schema.JsonObject =>
  merged(
    Object.entries(schema).map(([key, value]) => {
      if (key.startsWith("x-kubernetes-")) return { [key]: value }
      const keyword = Object.hasOwn(keywords, key) ? keywords[key] : undefined
      if (keyword === undefined) throw unsupported(key, path)
      return keyword(value, path)
    }),
    path,
  )

/** Of two bounds the tighter one counts: `Schema.Int` has bounds of its own. */
const tighter: Readonly<Record<string, (one: number, other: number) => number>> = {
  minimum: Math.max,
  maximum: Math.min,
}

const merged = (parts: ReadonlyArray<Schema.JsonObject>, path: string): Schema.JsonObject => {
  const isExclusive = parts.some((part) => part.exclusiveMinimum === true)
  const all: Record<string, Schema.Json> = {}
  for (const [key, value] of parts.flatMap((part) => Object.entries(part))) {
    const before = all[key]
    const bound = isExclusive ? undefined : tighter[key]
    if (before === undefined || before === value) all[key] = value
    else if (bound !== undefined) all[key] = bound(Number(before), Number(value))
    else throw unsupported(`two values of ${key}`, path)
  }
  return all
}

const unsupported = (what: string, path: string): Error =>
  new Error(`no structural schema can have ${what} at ${path === "" ? "its root" : path}`)

/** A CustomResourceDefinition as JSON. */
export interface Definition extends Schema.JsonObject {
  readonly apiVersion: "apiextensions.k8s.io/v1"
  readonly kind: "CustomResourceDefinition"
}

/** It has no content: it exists to be owner. */
const SimulationRootBody = Schema.Struct({
  spec: Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "Empty." }),
}).annotate({ description: "Owns what a simulation has created, so that its deletion removes all of it." })

type Column = readonly [name: string, type: "string" | "integer" | "number", jsonPath: string, description: string]

/** SimKube's names in SimKube's order: scripts cut the output of kubectl into columns. */
const columns: ReadonlyArray<Column> = [
  ["start time", "string", ".status.startTime", "when the driver started"],
  ["end time", "string", ".status.endTime", "when the driver ended"],
  ["speed factor", "number", ".spec.speed", "how many times as fast as it was recorded"],
  ["completed", "integer", ".status.completedRuns", "complete repetitions"],
  ["total", "integer", ".spec.repetitions", "all repetitions"],
  ["state", "string", ".status.state", "what the simulation is doing"],
]

/** With `-o wide`. The figures are those of the latest repetition. */
const wideColumns: ReadonlyArray<Column> = [
  ["progress %", "integer", ".status.progress.percent", "how much of the present repetition has been replayed"],
  ["objects", "integer", ".status.reports[-1:].objects", "objects that the latest repetition replayed"],
  ["equal", "number", ".status.reports[-1:].objectsEqual", "share of them that went through the recorded states"],
  ["refused", "integer", ".status.reports[-1:].writesRefused", "writes that the cluster refused"],
  ["drift p99 ms", "number", ".status.reports[-1:].driftP99Ms", "99 of 100 writes were at most so late"],
  ["pods paired", "number", ".status.reports[-1:].podsPaired", "share of the recorded pods that have a counterpart"],
  ["reason", "string", '.status.conditions[?(@.type=="Ready")].reason', "why it is ready or not"],
]

const column =
  (priority: number) =>
  ([name, type, jsonPath, description]: Column): Schema.JsonObject => ({
    name,
    type,
    jsonPath,
    description,
    ...(priority === 0 ? {} : { priority }),
  })

const definition = (
  { gvk: { group, version, kind }, plural }: Kind,
  shortNames: ReadonlyArray<string>,
  body: Schema.Constraint,
  more: Readonly<Record<string, Schema.Json>>,
): Definition => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
    scope: "Cluster",
    versions: [
      { name: version, served: true, storage: true, ...more, schema: { openAPIV3Schema: structuralSchema(body) } },
    ],
  },
})

/** Both, in an order in which they can be applied. Pure. */
export const simulationDefinitions = (): readonly [simulation: Definition, simulationRoot: Definition] => [
  definition(simulationKind, ["sim", "sims"], SimulationBody, {
    subresources: { status: {} },
    additionalPrinterColumns: [...columns.map(column(0)), ...wideColumns.map(column(1))],
  }),
  definition(simulationRootKind, ["simroot", "simroots"], SimulationRootBody, {}),
]
