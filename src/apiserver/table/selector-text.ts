/** Label sets and label selectors as one line of text, in the order and the spelling of apimachinery. */

import { entries, list, member, text } from "../json-member.ts"

/** `app=web,tier=front`, or `<none>`. */
export const formatLabels = (labels: unknown): string => {
  const pairs = entries(labels).map(([key, value]) => `${key}=${String(value)}`)
  return pairs.length === 0 ? "<none>" : pairs.sort().join(",")
}

/** A LabelSelector; the empty string for none or an empty one, `undefined` for one that is not valid. */
export const selectorText = (selector: unknown): string | undefined => {
  const terms: Array<{ readonly key: string; readonly term: string | undefined }> = entries(
    selector,
    "matchLabels",
  ).map(([key, value]) => ({ key, term: `${key}=${String(value)}` }))
  for (const expression of list(selector, "matchExpressions")) {
    const key = text(expression, "key")
    terms.push({ key, term: expressionText(key, text(expression, "operator"), list(expression, "values")) })
  }
  terms.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
  return terms.some(({ term }) => term === undefined) ? undefined : terms.map(({ term }) => term).join(",")
}

/** As most columns show it: `<none>` when it selects by nothing, `<error>` when it cannot be read. */
export const formatSelector = (selector: unknown): string => {
  const found = selectorText(selector)
  return found === undefined ? "<error>" : found === "" ? "<none>" : found
}

const expressionText = (key: string, operator: string, values: ReadonlyArray<unknown>): string | undefined => {
  const inParentheses = `(${[...values].map(String).sort().join(",")})`
  switch (operator) {
    case "In":
      return `${key} in ${inParentheses}`
    case "NotIn":
      return `${key} notin ${inParentheses}`
    case "Exists":
      return key
    case "DoesNotExist":
      return `!${key}`
    default:
      return undefined
  }
}

/** Names and images of the containers of a pod template or a Pod's spec. */
export const containerCells = (spec: unknown): readonly [names: string, images: string] => {
  const containers = list(spec, "containers")
  return [
    containers.map((container) => text(container, "name")).join(","),
    containers.map((container) => text(container, "image")).join(","),
  ]
}

/** `<none>` and its like for a string that is empty. */
export const orElse = (value: string, otherwise: string): string => (value === "" ? otherwise : value)

/** Whether a condition of this type is there and `True`. */
export const hasCondition = (object: unknown, type: string): boolean => {
  const condition = list(object, "status", "conditions").find((candidate) => text(candidate, "type") === type)
  return member(condition, "status") === "True"
}
