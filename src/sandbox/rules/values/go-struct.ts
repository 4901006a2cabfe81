/**
 * Objects as the server's internal Go structs, which some messages print: no JSON tags, so fields carry their Go names,
 * stand in the order of their declaration, and are all there, zero or not. A shape describes one struct in a line.
 */

import { fieldsOf, items } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"
import { GoStruct } from "./go-value.ts"
import { canonicalQuantity } from "./quantity.ts"

interface Field {
  /** In Go. */
  readonly name: string
  /** In JSON. */
  readonly key: string
  readonly print: (value: unknown) => unknown
}

/** A Go struct's fields; made by {@link shapeOf}. */
export interface Shape {
  readonly fields: ReadonlyArray<Field>
}

/** JSON names that do not follow from the Go names. */
const irregular: ReadonlyMap<string, string> = new Map([
  ["CephFS", "cephfs"],
  ["StorageOS", "storageos"],
])

/** `HTTPGet` is `httpGet`, `TTY` is `tty`, `HostPID` is `hostPID`. */
const keyOf = (name: string): string =>
  irregular.get(name) ??
  name.replace(/^[A-Z]+/, (capitals) => {
    const whole = capitals.length === 1 || capitals.length === name.length
    return whole ? capitals.toLowerCase() : capitals.slice(0, -1).toLowerCase() + capitals.slice(-1)
  })

const zeros: Readonly<Record<string, unknown>> = { '""': "", "0": 0, false: false, null: null }

/**
 * Reads a description: names divided by blanks. `Name=""` is a field with that zero, `Name` one that is null when absent;
 * `Name:Other` a pointer to a struct of `others`, `Name::Other` the struct itself, `Name[]Other` a list of them,
 * `Name%` a map of quantities, `Name~` one quantity.
 */
export const shapeOf = (description: string, others: Readonly<Record<string, Shape>> = {}): Shape => ({
  fields: description
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [, name = "", kind = "", rest = ""] = /^(\w+)(=|::|:|\[\]|%|~|)(.*)$/.exec(entry) ?? []
      return { name, key: keyOf(name), print: printer(kind, rest, others) }
    }),
})

const printer = (kind: string, rest: string, others: Readonly<Record<string, Shape>>): Field["print"] => {
  const shape = others[rest]
  switch (kind) {
    case "=":
      return (value) => value ?? zeros[rest]
    case ":":
      return (value) => (fieldsOf(value) === undefined ? null : structOf(value, shape))
    case "::":
      return (value) => structOf(value, shape)
    case "[]":
      return (value) => (Array.isArray(value) ? items({ value }, "value").map((item) => structOf(item, shape)) : null)
    case "%":
      return (value) => amounts(fieldsOf(value))
    case "~":
      return (value) => canonicalQuantity(value ?? null)
    default:
      return (value) => value ?? null
  }
}

const amounts = (given: Fields | undefined): unknown =>
  given === undefined
    ? null
    : Object.fromEntries(Object.entries(given).map(([name, amount]) => [name, canonicalQuantity(amount)]))

/** The object as a struct of this shape; what the shape does not name is left away. */
export const structOf = (value: unknown, shape: Shape | undefined): GoStruct => {
  const object = fieldsOf(value)
  const fields = shape?.fields ?? []
  return new GoStruct(fields.map(({ name, key, print }) => [name, print(object?.[key])]))
}
