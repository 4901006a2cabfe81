/** Tables compared with those of a real API server (Kubernetes 1.34.4) for the same objects. */

import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { tableForm } from "../../../src/apiserver/forms/negotiate.ts"
import type { KubernetesObject } from "../../../src/apiserver/index.ts"
import { builtinResources } from "../../../src/apiserver/kinds/builtin/builtin-resources.ts"
import { type PrinterColumn, type Resource, verbsOf } from "../../../src/apiserver/kinds/resources.ts"
import { printerOf } from "../../../src/apiserver/table/printers.ts"
import { apiVersionOf } from "../../../src/kube/offline.ts"

interface RecordedTable {
  readonly takenAt: string
  readonly groupVersion: string
  readonly kind: string
  readonly columnDefinitions: ReadonlyArray<object>
  readonly rows: ReadonlyArray<{
    readonly cells: ReadonlyArray<unknown>
    readonly conditions?: unknown
    readonly object: KubernetesObject
  }>
  readonly bookmarkCells: ReadonlyArray<unknown>
}

const folder = new URL("../../data/apiserver/tables/", import.meta.url)

/** The columns of the custom kind in the recording. */
const widgetColumns: ReadonlyArray<PrinterColumn> = [
  { name: "Color", type: "string", jsonPath: ".spec.color" },
  { name: "Size", type: "integer", jsonPath: ".spec.size", description: "How large it is", format: "int32" },
  { name: "Weight", type: "number", jsonPath: ".spec.weight" },
  { name: "Shiny", type: "boolean", jsonPath: ".spec.shiny", priority: 1 },
  { name: "Made", type: "date", jsonPath: ".spec.made" },
  { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: "First", type: "string", jsonPath: ".spec.parts[0].name" },
  { name: "Last", type: "string", jsonPath: ".spec.parts[-1].name" },
  { name: "Parts", type: "string", jsonPath: ".spec.parts" },
  { name: "All", type: "string", jsonPath: ".spec.parts[*].name" },
  { name: "Dotted", type: "string", jsonPath: ".metadata.annotations.example\\.com/note" },
  { name: "SizeText", type: "string", jsonPath: ".spec.size" },
  { name: "WeightInt", type: "integer", jsonPath: ".spec.weight" },
  { name: "ShinyText", type: "string", jsonPath: ".spec.shiny" },
]
const custom = { group: "read-side.example.com", version: "v1" }
const resources: ReadonlyArray<Resource> = [
  ...builtinResources,
  {
    gvk: { ...custom, kind: "Widget" },
    plural: "widgets",
    namespaced: true,
    custom: true,
    printerColumns: widgetColumns,
    selectableFields: ["spec.color", "spec.size"],
  },
  { gvk: { ...custom, kind: "Gadget" }, plural: "gadgets", namespaced: false, custom: true },
]

const resourceOf = ({ groupVersion, kind }: RecordedTable): Resource => {
  const found = resources.find(({ gvk }) => apiVersionOf(gvk) === groupVersion && gvk.kind === kind)
  if (found === undefined) throw new Error(`no resource for ${groupVersion} ${kind}`)
  return found
}

const tables = readdirSync(folder).map((name) => ({
  name,
  table: JSON.parse(readFileSync(new URL(name, folder), "utf8")) as RecordedTable,
}))

test("every built-in kind has its recording", () => {
  const recorded = tables.map(({ table }) => resourceOf(table))
  const shown = builtinResources.filter((resource) => verbsOf(resource).includes("list"))
  const missing = shown.filter((resource) => !recorded.includes(resource))
  expect(missing.map(({ plural }) => plural)).toEqual([])
})

describe.each(tables)("$name", ({ table }) => {
  const resource = resourceOf(table)
  const printer = printerOf(resource)
  const now = Date.parse(table.takenAt)

  test("has the real columns", () => {
    expect(printer.columns).toEqual(table.columnDefinitions)
  })

  test("has the real cells and row conditions", () => {
    for (const { cells, conditions, object } of table.rows) {
      const { storedAs } = resource
      // Autoscalers of v1 are recorded with their stored objects: v1 does not show the order of their metrics.
      const isStored = storedAs === undefined || object.apiVersion === apiVersionOf(storedAs.gvk)
      const stored = isStored ? object : storedAs.toStored(object)
      expect({ cells: printer.cells(stored, now), conditions: printer.conditions?.(stored) ?? [] }).toEqual({
        cells,
        conditions: conditions ?? [],
      })
    }
    expect(table.rows.length).toBeGreaterThan(0)
  })

  test("knows which of its columns show the status", () => {
    for (const { object } of table.rows) {
      const { status: _, ...without } = object as KubernetesObject & { readonly status?: unknown }
      const [one, other] = [object, without].map((each) => printer.cells(each, now))
      const differing = printer.columns.flatMap(({ name }, index) => (one?.[index] === other?.[index] ? [] : [name]))
      const shown = printer.columns.flatMap(({ name }, index) => (printer.showsStatus(index) ? [name] : []))
      expect(shown).toEqual(expect.arrayContaining(differing))
    }
  })

  test("has the real cells for the empty object of a bookmark", () => {
    const form = tableForm(resource, { version: "v1", include: "Metadata", now: () => now })
    const bookmark = JSON.parse(form.bookmark(1n, true)) as { rows: ReadonlyArray<{ cells: unknown }> }
    expect(bookmark.rows[0]?.cells).toEqual(table.bookmarkCells)
  })
})

test("the description of a custom column is the definition's own, whatever word it is", () => {
  const column = { name: "Size", type: "string", jsonPath: ".spec.size" }
  const printerColumns = ["constructor", "$name"].map((description) => ({ ...column, description }))
  const { columns } = printerOf({
    ...{ gvk: { ...custom, kind: "Described" }, plural: "described", namespaced: true, custom: true },
    printerColumns,
  })
  expect(columns.slice(1).map(({ description }) => description)).toEqual(["constructor", "$name"])
})
