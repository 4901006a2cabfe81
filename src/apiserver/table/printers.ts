/**
 * How objects become rows of tables. The columns of built-in kinds are in `columns.json`, recorded from a real API
 * server; kinds that are not in it have the two columns of the server's default, name and creation time.
 */

import { formatGvk } from "../../kube/offline.ts"
import { text } from "../kinds/json-member.ts"
import type { JsonObject, PrinterColumn, Resource } from "../kinds/resources.ts"
import * as builtinCells from "./builtin-cells.ts"
import recorded from "./columns.json" with { type: "json" }
import { age, type Cell, type Column, columnOf, deploymentSelector, name, podSelector, since } from "./columns.ts"
import { findFirst } from "./json-path.ts"
import { podCells, podConditions } from "./pod-cells.ts"
import * as policyCells from "./policy-cells.ts"
import * as workloadCells from "./workload-cells.ts"

/** `columnDefinitions` of meta.k8s.io, keys in the server's order. */
interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 is always shown; higher ones with `-o wide`. */
  readonly priority: number
}

/** `conditions` of a row, which mark Pods that have ended. */
export interface RowCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

interface Printer {
  readonly columns: ReadonlyArray<ColumnDefinition>
  /** As many cells as columns, the wide ones included. `now` in ms since the Unix epoch. */
  readonly cells: (object: JsonObject, now: number) => ReadonlyArray<Cell>
  readonly conditions?: (object: JsonObject) => ReadonlyArray<RowCondition>
  /** Whether the column at that index shows the object's status. */
  readonly showsStatus: (index: number) => boolean
}

/** The cells of an object whose status at the moment is not known. */
export const withoutStatusCells = ({ showsStatus }: Printer, cells: ReadonlyArray<Cell>): ReadonlyArray<Cell> =>
  cells.map((cell, index) => (showsStatus(index) ? "<unknown>" : cell))

const descriptions: Readonly<Record<string, string>> = recorded.descriptions

interface RecordedColumn extends ColumnDefinition {
  /** See {@link columnOf}; absent for Pods, whose cells are made together. */
  readonly cell?: string
  readonly isStatus?: boolean
}

const recordedColumns: Readonly<Record<string, ReadonlyArray<RecordedColumn>>> = recorded.kinds

const described = ({ name, type, format, description, priority }: ColumnDefinition): ColumnDefinition => ({
  name,
  type,
  format,
  description: descriptions[description] ?? description,
  priority,
})

/** `LimitRange`, `Role` and others: creation time as a timestamp; Go's zero time without one. */
const defaultPrinter: Printer = {
  columns: [
    { name: "Name", type: "string", format: "name", description: "$name", priority: 0 },
    { name: "Created At", type: "date", format: "", description: "$creationTimestamp", priority: 0 },
  ].map(described),
  cells: (object) => [
    text(object, "metadata", "name"),
    text(object, "metadata", "creationTimestamp") || "0001-01-01T00:00:00Z",
  ],
  showsStatus: () => false,
}

const namedCells: Readonly<Record<string, Column>> = {
  ...{ name, age, deploymentSelector, podSelector },
  ...builtinCells,
  ...policyCells,
  ...workloadCells,
}

const builtinPrinter = (kind: string, recorded: ReadonlyArray<RecordedColumn>): Printer => {
  const columns = recorded.flatMap(({ cell }) => (cell === undefined ? [] : [columnOf(cell, namedCells)]))
  // One cell more than there are columns, as the real server sends it.
  if (kind === "networking.k8s.io/v1.IPAddress") columns.push(age)
  return {
    columns: recorded.map(described),
    cells: (object, now) => columns.map((column) => column(object, now)),
    showsStatus: (index) => recorded[index]?.isStatus === true,
    ...(kind === "v1.Pod" && { cells: podCells, conditions: podConditions }),
  }
}

const builtin: ReadonlyMap<string, Printer> = new Map(
  Object.entries(recordedColumns).map(([kind, columns]) => [kind, builtinPrinter(kind, columns)]),
)

const custom = new WeakMap<Resource, Printer>()

/** The printer of a kind. It gets objects as they are stored, even if the kind is a view of another one. */
export const printerOf = (resource: Resource): Printer => {
  if (resource.custom !== true) return builtin.get(formatGvk(resource.storedAs?.gvk ?? resource.gvk)) ?? defaultPrinter
  const known = custom.get(resource) ?? customPrinter(resource.printerColumns ?? [])
  custom.set(resource, known)
  return known
}

// Custom kinds: the name and the `additionalPrinterColumns` of their CustomResourceDefinition.

/** A kind without columns of its own shows its age. */
const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: descriptions.$creationTimestamp ?? "",
}

const customPrinter = (given: ReadonlyArray<PrinterColumn>): Printer => {
  const columns = given.length === 0 ? [ageColumn] : given
  const name = { name: "Name", type: "string", format: "name", description: descriptions.$name ?? "", priority: 0 }
  return {
    columns: [name, ...columns.map(definitionOf)],
    showsStatus: (index) => /^\.?\.status\b|^\.?\[['"]status['"]\]/.test(columns[index - 1]?.jsonPath ?? ""),
    cells: (object, now) => [
      text(object, "metadata", "name"),
      ...columns.map(({ type, jsonPath }) => cellOf(type, findFirst(jsonPath, object), now)),
    ],
  }
}

const definitionOf = ({
  name,
  type,
  format = "",
  description = "",
  priority = 0,
  jsonPath,
}: PrinterColumn): ColumnDefinition => {
  const generic = `Custom resource definition column (in JSONPath format): ${jsonPath}`
  return {
    name,
    type,
    format,
    description: description === "" ? generic : description,
    priority,
  }
}

/**
 * `null` for a value that is absent or not of the column's type. String columns accept everything: objects and arrays
 * as JSON.
 */
const cellOf = (type: string, value: unknown, now: number): Cell => {
  if (value === undefined) return null
  switch (type) {
    case "string":
      return typeof value === "object" ? JSON.stringify(value) : String(value)
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null
    case "number":
      return typeof value === "number" ? value : null
    case "boolean":
      return typeof value === "boolean" ? value : null
    case "date":
      return typeof value === "string" ? dateCell(value, now) : null
    default:
      return null
  }
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/

const dateCell = (value: string, now: number): string => {
  if (value === "") return "<unknown>"
  return rfc3339.test(value) && !Number.isNaN(Date.parse(value)) ? since(value, now) : "<invalid>"
}
