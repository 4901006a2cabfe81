/** Rows of custom kinds: the name and the `additionalPrinterColumns` of their CustomResourceDefinition. */

import { text } from "../kinds/json-member.ts"
import type { PrinterColumn } from "../kinds/resources.ts"
import { since } from "./cells/age.ts"
import type { Cell, ColumnDefinition, Printer } from "./cells/printer.ts"
import { findFirst } from "./json-path.ts"

/** A kind without columns of its own shows its age. */
const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "$creationTimestamp",
}

/** `descriptions` holds the text of columns whose description is one of its keys. */
export const customPrinter = (
  given: ReadonlyArray<PrinterColumn>,
  descriptions: Readonly<Record<string, string>>,
): Printer => {
  const columns = given.length === 0 ? [ageColumn] : given
  const name = { name: "Name", type: "string", format: "name", description: descriptions.$name ?? "", priority: 0 }
  return {
    columns: [name, ...columns.map((column) => definitionOf(column, descriptions))],
    showsStatus: (index) => /^\.?\.status\b|^\.?\[['"]status['"]\]/.test(columns[index - 1]?.jsonPath ?? ""),
    cells: (object, now) => [
      text(object, "metadata", "name"),
      ...columns.map(({ type, jsonPath }) => cellOf(type, findFirst(jsonPath, object), now)),
    ],
  }
}

const definitionOf = (column: PrinterColumn, descriptions: Readonly<Record<string, string>>): ColumnDefinition => {
  const { name, type, format = "", description = "", priority = 0, jsonPath } = column
  const generic = `Custom resource definition column (in JSONPath format): ${jsonPath}`
  return {
    name,
    type,
    format,
    description: descriptions[description] ?? (description === "" ? generic : description),
    priority,
  }
}

/** `null` for a value that is absent or not of the column's type. String columns accept everything: objects and arrays as JSON. */
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
