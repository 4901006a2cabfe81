/**
 * Parses label selectors in Kubernetes' text form (`app=web,tier in (a,b),!canary`) into requirements.
 *
 * Guarantee: the API server accepts every selector that is accepted here (k8s.io/apimachinery, package labels), so that a typo is
 * found when the configuration is read and not as a 400 hours later. Each rejection has a reason.
 */
import { quoted } from "./quoted.ts"

/** How a requirement compares a label's value. `GreaterThan` and `LessThan` compare integers. */
export type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "GreaterThan" | "LessThan"

/** One condition; a selector holds when all of its conditions hold. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Empty for `Exists` and `DoesNotExist`, one integer for the comparisons, else one value or more. */
  readonly values: readonly string[]
}

/** Either the requirements, or the reason why there are none. */
export type LabelSelectorReading =
  | { readonly _tag: "Selector"; readonly requirements: readonly LabelRequirement[] }
  | { readonly _tag: "Refused"; readonly reason: string }

type Reading<T> = { readonly value: T } | { readonly reason: string }

/** Parses a selector. An empty text is rejected: it would select everything, which is what omitting the selector means. */
export const parseLabelSelector = (text: string): LabelSelectorReading => {
  const requirements: LabelRequirement[] = []
  let rest = text.trim()
  if (rest === "") return { _tag: "Refused", reason: "it is empty" }
  for (;;) {
    const term = readRequirement(rest)
    if ("reason" in term) return { _tag: "Refused", reason: term.reason }
    requirements.push(term.value.requirement)
    rest = term.value.rest.trimStart()
    if (rest === "") return { _tag: "Selector", requirements }
    if (!rest.startsWith(",")) return { _tag: "Refused", reason: `a comma is missing before ${quoted(rest)}` }
    rest = rest.slice(1).trimStart()
    if (rest === "") return { _tag: "Refused", reason: "nothing follows the last comma" }
  }
}

const readRequirement = (text: string): Reading<{ requirement: LabelRequirement; rest: string }> => {
  const negated = text.startsWith("!")
  const body = negated ? text.slice(1).trimStart() : text
  const key = /^[^\s=!<>,()]*/.exec(body)?.[0] ?? ""
  const keyFault = labelKeyFault(key)
  if (keyFault !== undefined) return { reason: keyFault }
  const rest = body.slice(key.length).trimStart()
  if (negated || rest === "" || rest.startsWith(","))
    return { value: { requirement: { key, operator: negated ? "DoesNotExist" : "Exists", values: [] }, rest } }
  const set = /^(in|notin)\s*\(([^()]*)\)/.exec(rest)
  if (set !== null) {
    const values = (set[2] ?? "").split(",").map((value) => value.trim())
    const operator = set[1] === "in" ? "In" : "NotIn"
    return checked({ key, operator, values }, rest.slice(set[0].length))
  }
  const comparison = /^(==|=|!=|>|<)\s*([^\s=!<>,()]*)/.exec(rest)
  if (comparison === null)
    return { reason: `after the label ${key}, expected one of = == != in notin > <, not ${quoted(rest)}` }
  const [whole, sign = "", value = ""] = comparison
  return checked({ key, operator: operatorOf(sign), values: [value] }, rest.slice(whole.length))
}

const operatorOf = (sign: string): LabelOperator =>
  sign === "!=" ? "NotIn" : sign === ">" ? "GreaterThan" : sign === "<" ? "LessThan" : "In"

const checked = (
  requirement: LabelRequirement,
  rest: string,
): Reading<{ requirement: LabelRequirement; rest: string }> => {
  for (const value of requirement.values) {
    const isComparison = requirement.operator === "GreaterThan" || requirement.operator === "LessThan"
    if (isComparison && !/^-?\d+$/.test(value))
      return {
        reason: `the label ${requirement.key} is compared with ${quoted(value)}, which is not an integer`,
      }
    if (!isLabelValue(value)) return { reason: `${quoted(value)} is not a label value` }
  }
  return { value: { requirement, rest } }
}

/** Label names and values: 1–63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit. */
const qualifiedName = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const subdomain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

const isLabelValue = (text: string): boolean => text === "" || qualifiedName.test(text)

const labelKeyFault = (key: string): string | undefined => {
  if (key === "") return "a label name is missing"
  const slash = key.indexOf("/")
  const prefix = slash < 0 ? undefined : key.slice(0, slash)
  if (prefix !== undefined && (prefix.length > 253 || !subdomain.test(prefix)))
    return `the prefix of ${quoted(key)} is not a DNS name`
  if (!qualifiedName.test(key.slice(slash + 1))) return `${quoted(key)} is not a label name`
  return undefined
}
