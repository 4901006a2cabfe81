/**
 * Makes transcripts comparable: values that a server or the clock chooses become placeholders.
 *
 * UIDs, versions and the ends of generated names are only marked (`<uid …>`, `<version …>`, `<end …>`): the comparison demands that
 * equal ones are equal on both sides. The wording of refusals is left out. Times near now, addresses, node ports, ages, continue
 * tokens, hashes of documents and the cluster's certificate become words. So do versions of lists and bookmarks, which count all
 * clients' writes. Owners of fields are sorted by name. Discovery's lists become maps, because their order has no meaning.
 */

import { withoutWording } from "../../sandbox/without-wording.ts"
import { isObject, type Json, type JsonObject, textAt } from "../exact-json.ts"
import type { Record as Entry, Transcript } from "./run-script.ts"
import type { Script } from "./script.ts"

/** The response to one step in comparable form. */
export interface ComparableStep {
  readonly step: string
  readonly value: Json
}

export const comparable = ({ records, host, namespace, script }: Transcript): readonly ComparableStep[] => {
  const words = new Words(host, namespace, script)
  return records.map((entry) => ({ step: entry.step, value: words.entry(entry) }))
}

const dayMs = 24 * 60 * 60 * 1000
const uid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g
const time = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g
const generatedEnd = "[bcdfghjklmnpqrstvwxz2456789]{5}\\b"

/** The prefixes of generated names in a script. */
const prefixesOf = ({ steps }: Script): readonly string[] => {
  const bodies = steps.map((step) => (step.type === "request" ? (JSON.stringify(step.body) ?? "") : ""))
  const found = bodies.flatMap((body) =>
    [...body.matchAll(/"generateName":"([^"]+)"/g)].map(([, prefix = ""]) => prefix),
  )
  return [...new Set(found)]
}

class Words {
  readonly #host: string
  readonly #namespace: string
  readonly #controlled: boolean
  readonly #prefixes: readonly string[]

  constructor(host: string, namespace: string, script: Script) {
    this.#host = host
    this.#namespace = namespace
    this.#controlled = script.controlled === true
    this.#prefixes = prefixesOf(script)
  }

  entry(entry: Entry): Json {
    const { status, contentType, warnings, retryAfter } = entry.answer
    const head = { status, contentType, warnings: warnings.map((text) => this.#text(text)).sort(), retryAfter }
    return entry.type === "answer"
      ? { ...head, body: this.#value(withoutWording(entry.body) as Json, "") ?? null }
      : { ...head, events: entry.events.map((event) => this.#event(withoutWording(event) as Json) ?? null) }
  }

  #event(event: Json): Json | undefined {
    if (textAt(event, "type") !== "BOOKMARK" || !isObject(event)) return this.#value(event, "")
    // A bookmark's version counts all clients' writes.
    return { type: "BOOKMARK", object: this.#value(withoutVersions(event.object), "") ?? null }
  }

  #value(value: Json | undefined, key: string): Json | undefined {
    if (Array.isArray(value) && key === "managedFields") return this.#managedFields(value)
    if (Array.isArray(value)) return value.map((item: Json) => this.#value(item, key) ?? null)
    if (isObject(value)) return this.#object(value)
    if (typeof value === "number") return key === "nodePort" ? "<node port>" : value
    if (typeof value !== "string") return value
    if (key === "resourceVersion") return this.#version(value)
    if (key === "continue") return value === "" ? value : "<continue>"
    if (key === "ca.crt") return "<certificate>"
    return this.#text(value)
  }

  #object(given: JsonObject): Json {
    const kind = textAt(given, "kind")
    if (kind === "Table") return this.#table(given)
    if (kind === "APIGroupList") return this.#members({ ...given, groups: byName(given.groups, "name") })
    if (kind === "APIResourceList") return this.#members({ ...given, resources: byName(given.resources, "name") })
    if (kind.endsWith("List") && isObject(given.metadata))
      return this.#members({ ...discovered(kind, given), metadata: withoutVersion(given.metadata) })
    if (typeof given.serverRelativeURL === "string")
      return { serverRelativeURL: given.serverRelativeURL.replace(/hash=[0-9A-F]+/, "hash=<hash>") }
    return this.#members(this.#controlled ? withoutControllers(given) : given)
  }

  /** Servers order them by time in whole seconds, so the order depends on when a second ended. */
  #managedFields(entries: readonly Json[]): Json {
    const made = entries.map((entry) => this.#value(entry, "") ?? null)
    const rank = (entry: Json): string =>
      ["manager", "operation", "subresource"].map((key) => textAt(entry, key)).join(" ")
    return made.sort((left, right) => (rank(left) < rank(right) ? -1 : 1))
  }

  #members(given: Json | undefined): Json {
    if (!isObject(given)) return given ?? null
    return Object.fromEntries(Object.entries(given).map(([key, value]) => [this.#text(key), this.#value(value, key)]))
  }

  /** Ages depend on when a request was made. */
  #table(table: JsonObject): Json {
    const columns = Array.isArray(table.columnDefinitions) ? (table.columnDefinitions as readonly Json[]) : []
    const names = columns.map((column) => textAt(column, "name"))
    const rows = Array.isArray(table.rows) ? (table.rows as readonly JsonObject[]) : []
    const withoutAges = rows.map((row) => ({
      ...row,
      cells: ((row.cells ?? []) as readonly Json[]).map((cell, index) => (isAge(names[index], cell) ? "<age>" : cell)),
    }))
    return this.#members({ ...table, metadata: withoutVersion(table.metadata), rows: withoutAges })
  }

  #version(version: string): string {
    if (this.#controlled) return "<version>"
    return /^[1-9]\d*$/.test(version) ? `<version ${version}>` : version
  }

  #text(text: string): string {
    let made = text
      .replace(uid, "<uid $&>")
      .replace(time, (found, fraction: string | undefined) => timeWord(found, fraction))
      .replaceAll(this.#host, "<host>")
      .replace(/^(kube-)?controller-manager$/, "<controller manager>")
      .replaceAll(this.#namespace, "<ns>")
      .replace(/\b10(\.\d{1,3}){3}\b/g, "<address>")
      .replace(/:3[0-2]\d{3}\//g, ":<node port>/")
      .replace(/\bkube-api-access-[a-z0-9]{5}\b/g, "kube-api-access-<suffix>")
      .replace(/(resource version: )\d+ \(\d+\)/g, "$1<version> (<version>)")
      .replace(/(resourceVersion\\?"?: ?\\?")\d+/g, "$1<version>")
      .replace(/(in record \()\d+/g, "$1<version>")
      .replace(/(current: )\d+/g, "$1<version>")
    for (const prefix of this.#prefixes)
      made = made.replaceAll(new RegExp(`${prefix.replaceAll(".", "\\.")}(${generatedEnd})`, "g"), `${prefix}<end $1>`)
    return made
  }
}

/** A time that a script wrote itself is years away and stays. */
const timeWord = (text: string, fraction: string | undefined): string => {
  if (Math.abs(Date.parse(text) - Date.now()) > dayMs) return text
  return fraction === undefined ? "<time>" : `<time with ${fraction.length - 1} digits>`
}

const withoutVersion = (metadata: Json | undefined): Json => {
  if (!isObject(metadata)) return metadata ?? null
  return typeof metadata.resourceVersion === "string" && metadata.resourceVersion !== ""
    ? { ...metadata, resourceVersion: "<version of a list>" }
    : metadata
}

/** If a bookmark is a table, its version is in the rows as well. */
const withoutVersions = (value: Json | undefined): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map(withoutVersions)
  if (!isObject(value)) return value ?? null
  const members = Object.entries(value).map(([key, member]) => [key, withoutVersions(member)] as const)
  return withoutVersion(Object.fromEntries(members))
}

/** In a watch only the first table names its columns; in others an age is recognized by its format. */
const isAge = (column: string | undefined, cell: Json): boolean =>
  column === undefined
    ? typeof cell === "string" && /^\d+[smhd]$/.test(cell)
    : column === "Age" || column === "Last Seen" || column === "First Seen"

/** The controller manager's name depends on how it was built. */
const controllers: ReadonlySet<string> = new Set(["controller-manager", "kube-controller-manager"])

const withoutControllers = (given: JsonObject): JsonObject => {
  const { status: _status, ...rest } = given
  const isObjectOfApi = isObject(given.metadata) && typeof given.kind === "string" && given.kind !== "Status"
  const kept = isObjectOfApi ? rest : given
  if (!Array.isArray(kept.managedFields)) return kept
  const entries = kept.managedFields as readonly Json[]
  return { ...kept, managedFields: entries.filter((entry) => !controllers.has(textAt(entry, "manager"))) }
}

const discovered = (kind: string, list: JsonObject): JsonObject =>
  kind === "APIGroupDiscoveryList" && Array.isArray(list.items)
    ? { ...list, items: byName(list.items.map(discoveredGroup), "name") }
    : list

const discoveredGroup = (group: Json): Json => {
  if (!isObject(group) || !Array.isArray(group.versions)) return group
  const versions = (group.versions as readonly JsonObject[]).map((version) => ({
    ...version,
    resources: byName(
      (Array.isArray(version.resources) ? (version.resources as readonly JsonObject[]) : []).map((resource) => ({
        ...resource,
        ...(resource.subresources === undefined ? {} : { subresources: byName(resource.subresources, "subresource") }),
      })),
      "resource",
    ),
  }))
  return { ...group, name: textAt(group, "metadata", "name") || "core", versions }
}

const byName = (items: Json | undefined, key: string): Json =>
  Array.isArray(items) ? Object.fromEntries((items as readonly Json[]).map((item) => [textAt(item, key), item])) : {}
