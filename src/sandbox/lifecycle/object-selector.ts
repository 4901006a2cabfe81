/** `LabelSelector` objects, as `spec.selector` of controllers and budgets holds them. */

import { items, text, texts } from "../rules/fields.ts"
import type { Fields } from "../rules/kind-rules.ts"

/** An absent selector matches nothing, an empty one everything. */
export const matchesSelector = (selector: Fields | undefined, labels: Fields | undefined): boolean => {
  if (selector === undefined) return false
  const of = (key: string): unknown => (labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined)
  const wanted = selector.matchLabels
  const equal = typeof wanted === "object" && wanted !== null ? Object.entries(wanted) : []
  return (
    equal.every(([key, value]) => of(key) === value) &&
    items(selector, "matchExpressions").every((requirement) => {
      const value = of(text(requirement, "key"))
      const values = texts(requirement, "values")
      switch (text(requirement, "operator")) {
        case "In":
          return typeof value === "string" && values.includes(value)
        case "NotIn":
          return typeof value !== "string" || !values.includes(value)
        case "Exists":
          return value !== undefined
        default:
          return value === undefined
      }
    })
  )
}
