/** The CustomResourceDefinitions of `simkube.io/v1`: what `reel crd` prints, and what k8s/crds has. */
import * as Schema from "effect/Schema"
import type { Kind } from "../../kube/kind.ts"
import { simulationKind, simulationRootKind } from "./derived-names.ts"
import { SimulationBody } from "./simulation.ts"
import { structuralSchema } from "./structural-schema.ts"

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
