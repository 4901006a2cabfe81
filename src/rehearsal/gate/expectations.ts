/**
 * What a rehearsal has to reach and to keep, as a file says it: objects at the end, counts at the end, invariants after every step. Conditions are
 * those of the transform language.
 */
import * as Schema from "effect/Schema"
import { parseDocument } from "yaml"
import { isRecord } from "../../is-record.ts"
import { messageOf } from "../../message-of.ts"
import { type Condition, parseCondition, testOf } from "../../trace/transform/index.ts"
import { type Members, nameOf, type StateComparison } from "./state-comparison.ts"

const optional = Schema.optionalKey
const kind = Schema.String
const text = optional(Schema.String)
const count = optional(Schema.Int)

const schema = Schema.Struct({
  /** At the end. `name` is `shop/web`, or that of a cluster-scoped object. `exists: false`: there is none, or none that meets `where`. */
  objects: optional(
    Schema.Array(Schema.Struct({ kind, name: Schema.String, where: text, exists: optional(Schema.Boolean) })),
  ),
  /** At the end: how many objects of the kind meet `where`; by default all do. */
  counts: optional(Schema.Array(Schema.Struct({ kind, where: text, exactly: count, atLeast: count, atMost: count }))),
  /** After every step, of each object of the kind. */
  invariants: optional(Schema.Array(Schema.Struct({ kind, always: text, never: text }))),
  /** What is not compared with the recorded states: a kind, a JSON pointer with all below it, or one in a kind. */
  ignore: optional(Schema.Array(Schema.Struct({ kind: text, path: text }))),
  /** `ignore`: recorded states are not compared at all. Default `compare`. */
  recorded: optional(Schema.Literals(["compare", "ignore"])),
})

/** What is expected. `kind` is `apps/v1.Deployment`, of which the version does not matter; `where`, `always` and `never` are conditions. */
export type Expectations = typeof schema.Type

/** Expectations that cannot be read. */
export class BadExpectations extends Schema.TaggedError<BadExpectations>()("BadExpectations", {
  /** The file, if there is one. */
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.file}: ${this.problem}`
  }
}

/** Of YAML or JSON. Throws {@link BadExpectations}; conditions are read by {@link ExpectationCheck}. */
export const parseExpectations = (content: string, file: string): Expectations => {
  const document = parseDocument(content, { prettyErrors: true })
  const [problem] = document.errors
  if (problem !== undefined) throw new BadExpectations({ file, problem: problem.message })
  try {
    return Schema.decodeUnknownSync(schema)(document.toJS({ maxAliasCount: 0 }) ?? {}, { onExcessProperty: "error" })
  } catch (cause) {
    throw new BadExpectations({ file, problem: messageOf(cause) })
  }
}

/** An expectation that is not met. */
export interface Unmet {
  readonly kind: string
  /** Empty: it is about several objects. */
  readonly object: string
  /** For people: what was expected, and what there is. */
  readonly text: string
  readonly isInvariant: boolean
}

/** Expectations, ready to be compared with the states of rehearsals. */
export class ExpectationCheck {
  readonly #expectations: Expectations
  readonly #conditions: ReadonlyMap<string, Condition>
  readonly #tests = new Map<string, ReturnType<typeof testOf>>()
  #start: number | undefined
  #now = 0

  /** `file`: for errors. Throws {@link BadExpectations}. */
  constructor(expectations: Expectations, file: string) {
    this.#expectations = expectations
    const { objects = [], counts = [], invariants = [] } = expectations
    const texts = [
      ...[...objects, ...counts].map(({ where }) => where),
      ...invariants.flatMap(({ always, never }) => [always, never]),
    ]
    const conditions = texts.flatMap((condition) => (condition === undefined ? [] : [condition]))
    this.#conditions = new Map(
      conditions.map((condition) => {
        try {
          return [condition, parseCondition(condition)]
        } catch (cause) {
          throw new BadExpectations({
            file,
            problem: `${JSON.stringify(condition)} is no condition: ${messageOf(cause)}`,
          })
        }
      }),
    )
  }

  /** For one rehearsal, whose moments follow. */
  begun(): ExpectationCheck {
    return new ExpectationCheck(this.#expectations, "")
  }

  /** The moment of what is asked next, µs since the Unix epoch. `@t` counts from the first. */
  reach(moment: number): void {
    this.#start ??= moment
    this.#now = moment
  }

  /** Invariants that do not hold now. */
  broken(states: StateComparison): ReadonlyArray<Unmet> {
    return (this.#expectations.invariants ?? []).flatMap(({ kind, always, never }) =>
      [...states.objects(kind)].flatMap((object): ReadonlyArray<Unmet> => {
        const name = nameIn(object)
        const unmet = { kind, object: name, isInvariant: true }
        if (always !== undefined && !this.#meets(object, always))
          return [{ ...unmet, text: `${kind} ${name} does not meet ${always}, which it always should` }]
        if (never !== undefined && this.#meets(object, never))
          return [{ ...unmet, text: `${kind} ${name} meets ${never}, which it never should` }]
        return []
      }),
    )
  }

  /** What is not met at the end. */
  unmet(states: StateComparison): ReadonlyArray<Unmet> {
    const { objects = [], counts = [] } = this.#expectations
    return [
      ...objects.flatMap(({ kind, name, where, exists = true }): ReadonlyArray<Unmet> => {
        const found = [...states.objects(kind)].filter((object) => nameIn(object) === name)
        const isMet = found.some((object) => this.#meets(object, where))
        if (isMet === exists) return []
        const wanted = `${exists ? "there to be" : "no"} ${kind} ${name}${where === undefined ? "" : ` with ${where}`}`
        const actual = found.length === 0 ? "there is none" : isMet ? "there is one" : "it does not meet that"
        return [{ kind, object: name, text: `expected ${wanted}: ${actual}`, isInvariant: false }]
      }),
      ...counts.flatMap(({ kind, where, exactly, atLeast = exactly ?? 0, atMost = exactly }): ReadonlyArray<Unmet> => {
        const met = [...states.objects(kind)].filter((object) => this.#meets(object, where))
        if (met.length >= atLeast && met.length <= (atMost ?? met.length)) return []
        const bounds =
          exactly ??
          [atLeast > 0 && `at least ${atLeast}`, atMost !== undefined && `at most ${atMost}`]
            .filter(Boolean)
            .join(" and ")
        const of = `${kind}${where === undefined ? "" : ` with ${where}`}`
        const names = met.slice(0, 5).map(nameIn).join(", ")
        const text = `expected ${bounds} of ${of}: there are ${met.length}${names === "" ? "" : ` (${names})`}`
        return [{ kind, object: "", text, isInvariant: false }]
      }),
    ]
  }

  #meets(object: Members, text: string | undefined): boolean {
    const condition = text === undefined ? undefined : this.#conditions.get(text)
    if (text === undefined || condition === undefined) return true
    const test = this.#tests.get(text) ?? testOf(condition, this.#start ?? 0)
    this.#tests.set(text, test)
    return test(object as Parameters<typeof test>[0], this.#now)
  }
}

const nameIn = ({ metadata }: Members): string => {
  const { namespace = "", name = "" } = isRecord(metadata) ? metadata : {}
  return nameOf({ namespace: String(namespace), name: String(name) })
}
