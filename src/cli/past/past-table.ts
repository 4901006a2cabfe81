/** Objects of one kind as kubectl's table: the columns that an API server of that moment would have sent. */
import {
  builtinResources,
  type PrinterColumn,
  printerOf,
  type Resource,
  withoutStatusCells,
} from "../../apiserver/index.ts"
import { formatGvk, parseGvk } from "../../kube/offline.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/index.ts"
import { alignedRows } from "../terminal/display-width.ts"
import { objectsIn } from "./describe-change.ts"

const builtin = new Map(builtinResources.map((resource) => [formatGvk(resource.gvk), resource]))

/** `undefined`: the kind is not built in. */
export const builtinResource = (gvk: string): Resource | undefined => builtin.get(gvk)

/** The kind that a recorded CustomResourceDefinition defines; `undefined` if it is another one. */
export const customResource = (definition: JsonObject, gvk: string): Resource | undefined => {
  const parsed = parseGvk(gvk)
  const spec = definition.spec
  if (parsed === undefined || !isJsonObject(spec) || spec.group !== parsed.group || !isJsonObject(spec.names))
    return undefined
  const version = objectsIn(spec.versions).find(({ name }) => name === parsed.version)
  if (spec.names.kind !== parsed.kind || version === undefined) return undefined
  return {
    gvk: parsed,
    plural: String(spec.names.plural),
    namespaced: spec.scope === "Namespaced",
    custom: true,
    printerColumns: objectsIn(version.additionalPrinterColumns) as unknown as ReadonlyArray<PrinterColumn>,
  }
}

/** A kind of which nothing but its name is known: name and age. */
export const unknownResource = (gvk: string): Resource => ({
  gvk: parseGvk(gvk) ?? { group: "", version: "", kind: gvk },
  plural: gvk,
  namespaced: true,
  custom: true,
})

interface TableOptions {
  readonly isWide: boolean
  /** Whether there is a column for namespaces. */
  readonly hasNamespaces: boolean
  /** `deployment.apps/`, before each name, when several kinds are shown. */
  readonly prefix: string
  /** ms since the Unix epoch: ages are those of the moment that was asked about. */
  readonly atMs: number
}

/** An object's cells by the names of their columns, in lower case with underscores: `{name: "web", ready: "1/1", up_to_date: "1", age: "5m"}`. */
export const namedCells = (
  resource: Resource,
  object: JsonObject,
  { isWide, atMs, isStatusUnknown }: Pick<TableOptions, "isWide" | "atMs"> & { readonly isStatusUnknown: boolean },
): JsonObject => {
  const cells = cellsOf(resource, object, atMs, isStatusUnknown)
  const named = printerOf(resource).columns.flatMap(({ name, priority }, index) =>
    isWide || priority === 0 ? [[name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_"), cellText(cells[index])]] : [],
  )
  return Object.fromEntries(named)
}

/** Rows as they come; the lines of the table at the end, because widths depend on all of them. Memory: the cells. */
export class PastTable {
  readonly #resource: Resource
  readonly #options: TableOptions
  readonly #columns: ReadonlyArray<number>
  readonly #rows: ReadonlyArray<string>[]

  constructor(resource: Resource, options: TableOptions) {
    this.#resource = resource
    this.#options = options
    const { columns } = printerOf(resource)
    this.#columns = columns.flatMap(({ priority }, index) => (options.isWide || priority === 0 ? [index] : []))
    const names = this.#columns.map((index) => (columns[index]?.name ?? "").toUpperCase())
    this.#rows = [options.hasNamespaces ? ["NAMESPACE", ...names] : names]
  }

  /** `isStatusUnknown`: its status is older than the moment, and columns that show it say so. */
  add(object: JsonObject, isStatusUnknown: boolean): void {
    const { hasNamespaces, prefix, atMs } = this.#options
    const cells = cellsOf(this.#resource, object, atMs, isStatusUnknown)
    const shown = this.#columns.map((index) => cellText(cells[index]))
    const row = [`${prefix}${shown[0]}`, ...shown.slice(1)]
    this.#rows.push(hasNamespaces ? [namespaceOf(object), ...row] : row)
  }

  /** Whether no object was added. */
  get isEmpty(): boolean {
    return this.#rows.length === 1
  }

  lines(): ReadonlyArray<string> {
    return alignedRows(this.#rows)
  }
}

const cellsOf = (resource: Resource, object: JsonObject, atMs: number, isStatusUnknown: boolean) => {
  const printer = printerOf(resource)
  const cells = printer.cells(object as Parameters<typeof printer.cells>[0], atMs)
  return isStatusUnknown ? withoutStatusCells(printer, cells) : cells
}

const cellText = (cell: unknown): string =>
  cell === null || cell === undefined ? "<none>" : String(cell).replaceAll(/[\r\n]+/g, " ")

const namespaceOf = ({ metadata }: JsonObject): string => {
  const namespace: JsonValue | undefined = isJsonObject(metadata) ? metadata.namespace : undefined
  return typeof namespace === "string" ? namespace : ""
}
