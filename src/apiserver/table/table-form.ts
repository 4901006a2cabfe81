/**
 * Objects as a table of meta.k8s.io: one row each, made by the printer of the kind. In a watch every event is a table of
 * one row, and only the first one names the columns.
 */

import { type Form, listMetadata } from "../forms/form.ts"
import { bookmarkMetadata, type MetaVersion, partialMetadata } from "../forms/metadata-form.ts"
import { bookmarkObject } from "../forms/object-form.ts"
import type { JsonObject, Resource } from "../kinds/resources.ts"
import { type Change, parseObject } from "../watch/change.ts"
import { withoutStatusCells } from "./printer.ts"
import { printerOf } from "./printers.ts"

/** The part of its object that a row carries besides the cells. */
export type IncludeObject = "None" | "Metadata" | "Object"

interface TableOptions {
  readonly version: MetaVersion
  readonly include: IncludeObject
  /** ms since the Unix epoch, read for each row: ages in a watch keep growing. */
  readonly now: () => number
}

export const tableForm = (resource: Resource, { version, include, now }: TableOptions): Form => {
  const printer = printerOf(resource)
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":`
  let columns = JSON.stringify(printer.columns)
  const takeColumns = (): string => {
    const taken = columns
    columns = "null"
    return taken
  }
  const row = (object: JsonObject, shown: string, isStatusUnknown = false): string => {
    const conditions = isStatusUnknown ? [] : (printer.conditions?.(object) ?? [])
    const known = printer.cells(object, now())
    const members = [`"cells":${JSON.stringify(isStatusUnknown ? withoutStatusCells(printer, known) : known)}`]
    if (conditions.length > 0) members.push(`"conditions":${JSON.stringify(conditions)}`)
    return `{${members.join(",")},"object":${shown}}`
  }
  const rowOf = (change: Change): string => {
    const object = parseObject(change)
    const { isStatusUnknown } = change
    if (include === "None") return row(object, "null", isStatusUnknown)
    if (include === "Metadata") return row(object, partialMetadata(object.metadata, version), isStatusUnknown)
    return row(object, JSON.stringify(resource.storedAs?.fromStored(object) ?? object), isStatusUnknown)
  }
  const table = (revision: bigint, rows: string): string =>
    `${head}{"resourceVersion":"${revision}"},"columnDefinitions":${takeColumns()},"rows":[${rows}]}`
  return {
    frame: (metadata) => ({
      before: `${head}{${listMetadata(metadata)}},"columnDefinitions":${takeColumns()},"rows":[`,
      after: "]}",
    }),
    item: rowOf,
    object: (change) => table(change.revision, rowOf(change)),
    bookmark: (revision, initialEventsEnd) => {
      const metadata = bookmarkMetadata(revision, initialEventsEnd)
      if (include === "Object")
        return table(revision, row({ metadata }, bookmarkObject(resource, revision, initialEventsEnd)))
      // Clients that want no objects still need the marker that ends the initial events.
      const isShown = include === "Metadata" || initialEventsEnd
      return table(revision, row({ metadata }, isShown ? partialMetadata(metadata, version) : "null"))
    },
  }
}
