/**
 * The checks of one field. Those of one line are in types.json, by the type of the object and the name of the field: words that
 * name checks below, `=A|B` for a choice, or `!A|B` for one that may not be left out. Values of the wrong type count as absent.
 */

import { isIP } from "node:net"
import { canonicalQuantity, names, quantityOf } from "../../kube/offline.ts"
import { isEmptyMap, isFields, isZero, text } from "./fields.ts"
import type { Fields } from "./kind-rules.ts"
import type { Check } from "./type-rules.ts"

const notNegative = "must be greater than or equal to 0"
export const notAnAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

/** The field must not be empty. */
export const needed =
  (detail = ""): Check =>
  (value, at) => {
    if (isZero(value)) at.required(detail)
  }

/** A text that is not empty must have this format. */
export const format =
  (complaints: (value: string) => names.Complaints): Check =>
  (value, at) => {
    if (typeof value === "string" && value !== "") at.complain(value, complaints(value))
  }

/** One of these values, also where the field is absent or empty. */
const oneOf =
  (...values: ReadonlyArray<string>): Check =>
  (value, at) => {
    if (!values.some((one) => one === (value ?? ""))) at.notSupported(value ?? "", values)
  }

/** One of these values unless it is absent or empty. */
export const choice =
  (...values: ReadonlyArray<string>): Check =>
  (value, at) => {
    if (!isZero(value) && !values.some((one) => one === value)) at.notSupported(value, values)
  }

/** A number from one bound to the other; absent ones are valid. */
export const between =
  (least: number, most: number, detail: string): Check =>
  (value, at) => {
    if (typeof value === "number" && (value < least || value > most)) at.invalid(value, detail)
  }

export const natural = between(0, Number.POSITIVE_INFINITY, notNegative)

/** Checks every item of a list of scalars. */
export const each =
  (check: Check): Check =>
  (value, at, owner) => {
    if (Array.isArray(value)) for (const [index, item] of value.entries()) check(item, at.at(index), owner)
  }

/** Keys in alphabetical order, while the server uses Go's random one. */
export const sortedEntries = (map: unknown): ReadonlyArray<readonly [string, unknown]> =>
  isFields(map) ? Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1)) : []

export const labels: Check = (value, at) => {
  if (isEmptyMap(value)) return
  for (const [key, label] of sortedEntries(value)) {
    at.complain(key, names.qualifiedNameComplaints(key))
    if (typeof label === "string") at.complain(label, names.labelValueComplaints(label))
  }
}

/** Reports each object of a list whose `keyOf` occurred before; `undefined` never does. */
export const repeated = (
  objects: ReadonlyArray<Fields>,
  keyOf: (object: Fields) => string | undefined,
  report: (object: Fields, index: number) => void,
): void => {
  const seen = new Set<string>()
  for (const [index, object] of objects.entries()) {
    const key = keyOf(object)
    if (key === undefined) continue
    if (seen.has(key)) report(object, index)
    seen.add(key)
  }
}

/** No two objects of a list have the same text under this key; empty ones do not count. */
export const unique =
  (key: string): Check =>
  (value, at) => {
    const objects = Array.isArray(value) ? value.map((item) => (isFields(item) ? item : {})) : []
    repeated(
      objects,
      (object) => text(object, key) || undefined,
      (object, index) => at.at(index, key).duplicate(object[key]),
    )
  }

/** A port's number; absent counts as 0. */
const port: Check = (value, at) => {
  const number = typeof value === "number" ? value : 0
  at.complain(number, names.portComplaints(number))
}

const accessModes = choice("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")

/** The checks that types.json names. */
const named: Readonly<Record<string, Check>> = {
  required: needed(),
  /** A map must not be empty. */
  filled: (value, at) => (isEmptyMap(value) ? at.required() : undefined),
  natural,
  positive: between(1, Number.POSITIVE_INFINITY, "must be greater than 0"),
  aboveZero: between(1, Number.POSITIVE_INFINITY, "must be greater than zero"),
  mode: between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive"),
  label: format(names.labelComplaints),
  subdomain: format(names.subdomainComplaints),
  hostLabel: format(names.hostLabelComplaints),
  qualifiedName: format(names.qualifiedNameComplaints),
  pathSegment: format(names.pathSegmentComplaints),
  portName: format(names.portNameComplaints),
  environmentName: format(names.environmentNameComplaints),
  labels,
  uniqueNames: unique("name"),
  port,
  portIfSet: (value, at, owner) => (isZero(value) ? undefined : port(value, at, owner)),
  portOrName: (value, at, owner) =>
    typeof value === "string" ? at.complain(value, names.portNameComplaints(value)) : port(value, at, owner),
  address: (value, at) =>
    typeof value === "string" && isIP(value) === 0 ? at.invalid(value, notAnAddress) : undefined,
  host: (value, at) => {
    if (typeof value !== "string" || value === "") return
    if (isIP(value) !== 0) at.invalid(value, "must be a DNS name, not an IP address")
    at.complain(
      value,
      value.includes("*") ? names.wildcardSubdomainComplaints(value) : names.subdomainComplaints(value),
    )
  },
  /** `3` or `25%`. */
  amount: (value, at, owner) =>
    typeof value === "string" ? at.complain(value, names.percentComplaints(value)) : natural(value, at, owner),
  /** Quantities by name: none below zero. */
  amounts: (value, at) => {
    for (const [name, given] of sortedEntries(value))
      if ((quantityOf(given) ?? 0) < 0) at.at(`[${name}]`).invalid(canonicalQuantity(given), notNegative)
  },
  /** The server names the list, not the item. */
  accessModes: (value, at, owner) => {
    for (const mode of Array.isArray(value) ? value : []) accessModes(mode, at, owner)
  },
}

/** The checks of a field by its words in types.json. */
export const checksOf = (words: string): ReadonlyArray<Check> =>
  words.split(" ").map((word) => {
    const choices = /^[=!]/.test(word) ? word.slice(1).split("|") : undefined
    const check = choices === undefined ? named[word] : word.startsWith("!") ? oneOf(...choices) : choice(...choices)
    if (check === undefined) throw new Error(`types.json names no check: ${word}`)
    return check
  })
