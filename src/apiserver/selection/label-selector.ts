/**
 * Label selectors: equality (`app=web`, `!=`), set (`in`, `notin`), existence (`app`, `!app`) and order (`>`, `<`), read
 * with the grammar and the error messages of apimachinery's parser.
 */

import * as Schema from "effect/Schema"
import { labelValueComplaints, qualifiedNameComplaints } from "../../kube/names.ts"

/** A selector that cannot be read; `problem` is what the server puts into its 400. */
export class SelectorError extends Schema.TaggedError<SelectorError>()("SelectorError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}

export type LabelOperator = "in" | "notin" | "exists" | "absent" | "above" | "below"

/** One comma-separated term. `values` is empty for `exists` and `absent`, one integer for `above` and `below`. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  readonly values: ReadonlySet<string>
}

/** All of them must hold; no requirement matches everything. */
export type LabelSelector = ReadonlyArray<LabelRequirement>

const integer = /^[+-]?\d+$/

const meets = (labels: Readonly<Record<string, string>>, requirement: LabelRequirement): boolean => {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined
  switch (requirement.operator) {
    case "in":
      return value !== undefined && requirement.values.has(value)
    case "notin":
      // A missing label is not in the set: the server's rule, and the one that surprises people.
      return value === undefined || !requirement.values.has(value)
    case "exists":
      return value !== undefined
    case "absent":
      return value === undefined
    default: {
      const [limit = ""] = requirement.values
      if (value === undefined || !integer.test(value)) return false
      return requirement.operator === "above" ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit)
    }
  }
}

export const matchesLabels = (selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean =>
  selector.every((requirement) => meets(labels ?? {}, requirement))

/** Throws {@link SelectorError}. */
export const parseLabelSelector = (text: string): LabelSelector => new Parser(tokensOf(text)).selector()

const operators = new Set(["=", "==", "!=", ">", "<"])
const punctuation = new Set([...operators, "!", "(", ")", ","])

/** Greedy: `===` is `==` and `=`, as in the server's lexer. White space only separates. */
const tokensOf = (text: string): ReadonlyArray<string> => text.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? []

/** The empty string stands for the end of the text: no token is empty. */
class Parser {
  readonly #tokens: ReadonlyArray<string>
  #position = 0

  constructor(tokens: ReadonlyArray<string>) {
    this.#tokens = tokens
  }

  selector(): LabelSelector {
    const requirements: LabelRequirement[] = []
    if (this.#peek() === "") return requirements
    for (;;) {
      if (!this.#startsRequirement()) {
        throw problem(
          requirements.length === 0
            ? `found '${this.#peek()}', expected: !, identifier, or 'end of string'`
            : `found '${this.#peek()}', expected: identifier after ','`,
        )
      }
      requirements.push(this.#requirement())
      const next = this.#take()
      if (next === "") return requirements
      if (next !== ",") throw problem(`found '${next}', expected: ',' or 'end of string'`)
    }
  }

  #requirement(): LabelRequirement {
    const absent = this.#peek() === "!"
    if (absent) this.#position++
    const key = this.#identifier()
    if (absent) return valid({ key, operator: "absent", values: new Set() })
    if (this.#peek() === "" || this.#peek() === ",") {
      return valid({ key, operator: "exists", values: new Set() })
    }
    const operator = this.#take()
    if (operator === "in" || operator === "notin") return valid({ key, operator, values: new Set(this.#set()) })
    if (!operators.has(operator)) throw wrong(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`)
    const value = this.#peek() === "" || this.#peek() === "," ? "" : this.#identifier()
    if (operator === ">" || operator === "<") {
      return valid({ key, operator: operator === ">" ? "above" : "below", values: new Set([value]) })
    }
    return valid({ key, operator: operator === "!=" ? "notin" : "in", values: new Set([value]) })
  }

  /** `(a,b)`. The server reads `()` and `(a,)` as containing the empty value. */
  #set(): ReadonlyArray<string> {
    const open = this.#take()
    if (open !== "(") throw wrong(`found '${open}' expected: '('`)
    const values: string[] = []
    for (;;) {
      values.push(this.#peek() === "," || this.#peek() === ")" ? "" : this.#identifier())
      const next = this.#take()
      if (next === ")") return values
      if (next !== ",") throw wrong(`found '${next}', expected: ',' or ')'`)
    }
  }

  #startsRequirement(): boolean {
    return this.#peek() === "!" || (this.#peek() !== "" && !punctuation.has(this.#peek()))
  }

  #identifier(): string {
    const token = this.#take()
    if (token === "" || punctuation.has(token)) throw wrong(`found '${token}', expected: identifier`)
    return token
  }

  #peek(): string {
    return this.#tokens[this.#position] ?? ""
  }

  #take(): string {
    return this.#tokens[this.#position++] ?? ""
  }
}

/** The requirement as it is, unless its key or its values break the formats of labels. */
const valid = (requirement: LabelRequirement): LabelRequirement => {
  const { key, operator, values } = requirement
  const wrongKey = qualifiedNameComplaints(key)
  if (wrongKey.length > 0) throw wrong(`<nil>: Invalid value: ${quote(key)}: ${wrongKey.join("; ")}`)
  const complaints: string[] = []
  const isOrder = operator === "above" || operator === "below"
  for (const [index, value] of [...values].sort().entries()) {
    if (isOrder && !integer.test(value)) {
      const problem = "for 'Gt', 'Lt' operators, the value must be an integer"
      complaints.push(`values[${index}]: Invalid value: ${quote(value)}: ${problem}`)
    }
    const wrongValue = labelValueComplaints(value)
    if (wrongValue.length === 0) continue
    complaints.push(`values[${index}][${key}]: Invalid value: ${quote(value)}: ${wrongValue.join("; ")}`)
  }
  if (complaints.length === 0) return requirement
  throw wrong(complaints.length === 1 ? (complaints[0] ?? "") : `[${complaints.join(", ")}]`)
}

const quote = (text: string): string => JSON.stringify(text)
const problem = (text: string): SelectorError => new SelectorError({ problem: text })
const wrong = (text: string): SelectorError => problem(`unable to parse requirement: ${text}`)
