/**
 * Parses and matches label selectors, one line of text or a LabelSelector object. Accepts exactly what the API server
 * accepts (k8s.io/apimachinery, package labels).
 */

import { quoted } from "../../text/index.ts"

/** How a requirement compares a label's value. `Gt` and `Lt` compare integers and have no form in an object. */
type LabelOperator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt"

export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Empty for `Exists` and `DoesNotExist`, one integer for `Gt` and `Lt`, else at least one value. */
  readonly values: readonly string[]
}

/** All requirements must hold; without any it matches everything. */
export type LabelSelector = readonly LabelRequirement[]

/** Why a text is no selector, on one line. */
interface LabelSelectorProblem {
  readonly problem: string
}

/** A Kubernetes LabelSelector that the server has validated. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>> | null | undefined
  readonly matchExpressions?:
    | ReadonlyArray<{
        readonly key: string
        readonly operator: string
        readonly values?: ReadonlyArray<string> | null | undefined
      }>
    | null
    | undefined
}

/** Labels as they come in JSON; absent means none. */
type Labels = Readonly<Record<string, unknown>> | undefined

export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean => {
  for (const requirement of selector) if (!meets(labels, requirement)) return false
  return true
}

const meets = (labels: Labels, { key, operator, values }: LabelRequirement): boolean => {
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case "In":
      return typeof value === "string" && values.includes(value)
    case "NotIn":
      // A missing label is not in the set: the server's rule, although it surprises people.
      return typeof value !== "string" || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    default: {
      if (typeof value !== "string" || !isInteger(value)) return false
      const difference = BigInt(value) - BigInt(values[0] ?? 0)
      return operator === "Gt" ? difference > 0n : difference < 0n
    }
  }
}

/** An operator of a later version matches nothing rather than everything. */
const unknownOperator = { operator: "In", values: [] } as const

/** The requirements of an object. */
export const requirementsOf = ({ matchLabels, matchExpressions }: LabelSelectorObject): LabelSelector => [
  ...Object.entries(matchLabels ?? {}).map(([key, value]) => ({ key, operator: "In" as const, values: [value] })),
  ...(matchExpressions ?? []).map(({ key, operator, values }) => ({
    key,
    ...(isSetOperator(operator) ? { operator, values: values ?? [] } : unknownOperator),
  })),
]

/** Operators of the object form. */
export const setOperators = ["In", "NotIn", "Exists", "DoesNotExist"] as const

const isSetOperator = (operator: string): operator is (typeof setOperators)[number] =>
  setOperators.some((known) => known === operator)

/** An absent selector matches nothing, an empty one everything (metav1.LabelSelectorAsSelector). */
export const selectorMatches = (selector: LabelSelectorObject | undefined, labels: Labels): boolean =>
  selector !== undefined && matchesLabels(requirementsOf(selector), labels)

/** The selector as one line, in the order of the keys; `undefined` if an operator is unknown. No selector is the empty string. */
export const selectorText = (selector: LabelSelectorObject | undefined): string | undefined => {
  const terms = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, term: `${key}=${value}` })),
    ...(selector?.matchExpressions ?? []).map(({ key, operator, values }) => ({
      key,
      term: expressionText(key, operator, [...(values ?? [])].sort().join(",")),
    })),
  ]
  terms.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0))
  return terms.some(({ term }) => term === undefined) ? undefined : terms.map(({ term }) => term).join(",")
}

const expressionText = (key: string, operator: string, values: string): string | undefined => {
  if (operator === "In") return `${key} in (${values})`
  if (operator === "NotIn") return `${key} notin (${values})`
  return operator === "Exists" ? key : operator === "DoesNotExist" ? `!${key}` : undefined
}

type Read = { readonly requirement: LabelRequirement; readonly rest: string } | LabelSelectorProblem

/** Parses a selector; the empty string has no requirements. */
export const parseLabelSelector = (text: string): LabelSelector | LabelSelectorProblem => {
  const requirements: LabelRequirement[] = []
  let rest = text.trim()
  if (rest === "") return requirements
  for (;;) {
    const read = readRequirement(rest)
    if ("problem" in read) return read
    requirements.push(read.requirement)
    rest = read.rest.trimStart()
    if (rest === "") return requirements
    if (!rest.startsWith(",")) return { problem: `a comma is missing before ${quoted(rest)}` }
    rest = rest.slice(1).trimStart()
    if (rest === "") return { problem: "nothing follows the last comma" }
  }
}

const readRequirement = (text: string): Read => {
  const negated = text.startsWith("!")
  const body = negated ? text.slice(1).trimStart() : text
  const key = /^[^\s=!<>,()]*/.exec(body)?.[0] ?? ""
  const rest = body.slice(key.length).trimStart()
  if (negated || rest === "" || rest.startsWith(","))
    return checked({ key, operator: negated ? "DoesNotExist" : "Exists", values: [] }, rest)
  const set = /^(in|notin)\s*\(([^()]*)\)/.exec(rest)
  if (set !== null) {
    const values = (set[2] ?? "").split(",").map((value) => value.trim())
    return checked({ key, operator: set[1] === "in" ? "In" : "NotIn", values }, rest.slice(set[0].length))
  }
  const comparison = /^(==|=|!=|>|<)\s*([^\s=!<>,()]*)/.exec(rest)
  if (comparison === null)
    return {
      problem:
        labelKeyFault(key) ?? `after the label ${key}, expected one of = == != in notin > <, not ${quoted(rest)}`,
    }
  const [whole, sign = "", value = ""] = comparison
  return checked({ key, operator: operatorOf(sign), values: [value] }, rest.slice(whole.length))
}

const operatorOf = (sign: string): LabelOperator =>
  sign === "!=" ? "NotIn" : sign === ">" ? "Gt" : sign === "<" ? "Lt" : "In"

const checked = (requirement: LabelRequirement, rest: string): Read => {
  const problem = requirementFault(requirement)
  return problem === undefined ? { requirement, rest } : { problem }
}

/** What is wrong with the key or the values of a requirement; `undefined` if it is valid. */
export const requirementFault = ({ key, operator, values }: LabelRequirement): string | undefined => {
  const keyFault = labelKeyFault(key)
  if (keyFault !== undefined) return keyFault
  for (const value of values) {
    if ((operator === "Gt" || operator === "Lt") && !isInteger(value))
      return `the label ${key} is compared with ${quoted(value)}, which is not an integer`
    if (!isLabelValue(value)) return `${quoted(value)} is not a label value`
  }
  return undefined
}

/** At most 18 digits, because the server uses 64 bits. */
const isInteger = (text: string): boolean => /^[+-]?\d{1,18}$/.test(text)

/** Label names and values: 1–63 letters, digits, `-`, `_`, `.`, starting and ending with a letter or digit. */
const qualifiedName = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const dnsLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/

const isLabelValue = (text: string): boolean => text === "" || qualifiedName.test(text)

const labelKeyFault = (key: string): string | undefined => {
  if (key === "") return "a label name is missing"
  const slash = key.indexOf("/")
  const prefix = slash < 0 ? undefined : key.slice(0, slash)
  if (prefix !== undefined && (prefix.length > 253 || !prefix.split(".").every((label) => dnsLabel.test(label))))
    return `the prefix of ${quoted(key)} is not a DNS name`
  return qualifiedName.test(key.slice(slash + 1)) ? undefined : `${quoted(key)} is not a label name`
}
