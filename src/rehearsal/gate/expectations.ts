/**
 * What a rehearsal has to reach and to keep, as a file says it: objects and counts at the end, invariants after every step. Conditions are
 * those of the transform language.
 */
import * as Schema from "effect/Schema"
import { parseDocument } from "yaml"
import { messageOf } from "../../message-of.ts"
import { parseCondition, testOf } from "../../trace/transform/index.ts"
import { type Members, nameIn, type StateComparison } from "./state-comparison.ts"

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
  /** After every step, of each object of the kind that it has changed. */
  invariants: optional(Schema.Array(Schema.Struct({ kind, always: text, never: text }))),
  /** What is not compared with the recorded states: a kind, a JSON pointer with all below it, or one in a kind. */
  ignore: optional(Schema.Array(Schema.Struct({ kind: text, path: text }))),
  /** `ignore`: recorded states are not compared at all. Default `compare`. */
  recorded: optional(Schema.Literals(["compare", "ignore"])),
})

/** What is expected. `kind` is `apps/v1.Deployment`, of which the version does not matter; `where`, `always` and `never` are conditions. */
export type Expectations = typeof schema.Type

/** Expectations that cannot be read, or an option about something that the rehearsal does not have. */
export class BadExpectations extends Schema.TaggedError<BadExpectations>()("BadExpectations", {
  /** The file, or the option. */
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.file}: ${this.problem}`
  }
}

/** Of YAML or JSON. Throws {@link BadExpectations}. */
export const parseExpectations = (content: string, file: string): Expectations => {
  const document = parseDocument(content)
  try {
    for (const problem of document.errors) throw problem
    return Schema.decodeUnknownSync(schema)(document.toJS({ maxAliasCount: 0 }) ?? {}, { onExcessProperty: "error" })
  } catch (cause) {
    throw new BadExpectations({ file, problem: messageOf(cause) })
  }
}

/** An expectation that is not met: what was expected, and what there is, for people. */
export interface Unmet {
  readonly kind: string
  /** Empty: it is about several objects. */
  readonly object: string
  readonly text: string
}

/** Tells what is not met now, in rehearsals that begin at `start`: both in µs since the Unix epoch. */
export interface ExpectationCheck {
  readonly broken: (states: StateComparison, now: number, start: number) => ReadonlyArray<Unmet>
  readonly atEnd: (states: StateComparison, now: number, start: number) => ReadonlyArray<Unmet>
}

/** `file`: for errors. Throws {@link BadExpectations}. */
export const checkOf = (given: Expectations, file: string): ExpectationCheck => {
  const { objects = [], counts = [], invariants = [] } = given
  const ready = (condition: string | undefined) => {
    if (condition === undefined) return () => true
    try {
      const parsed = parseCondition(condition)
      let test: ReturnType<typeof testOf> | undefined
      return (object: Members, now: number, start: number): boolean => {
        test ??= testOf(parsed, start)
        return test(object as Parameters<typeof test>[0], now)
      }
    } catch (cause) {
      throw new BadExpectations({ file, problem: `${JSON.stringify(condition)} is no condition: ${messageOf(cause)}` })
    }
  }
  const kept = invariants.flatMap(({ kind, always, never }) => [
    ...(always === undefined ? [] : [{ kind, condition: always, isWanted: true, test: ready(always) }]),
    ...(never === undefined ? [] : [{ kind, condition: never, isWanted: false, test: ready(never) }]),
  ])
  const bounded = [
    ...objects.map(({ exists = true, ...one }) => ({ ...one, atLeast: exists ? 1 : 0, atMost: exists ? 1 : 0 })),
    ...counts.map(({ exactly, atLeast = exactly ?? 0, atMost = exactly, ...rest }) => ({
      ...rest,
      name: "",
      atLeast,
      atMost,
    })),
  ].map((one) => ({ ...one, test: ready(one.where) }))
  return {
    broken: (states, now, start) =>
      kept.flatMap(({ kind, condition, isWanted, test }) =>
        [...states.objects(kind, true)].flatMap((object) => {
          if (test(object, now, start) === isWanted) return []
          const name = nameIn(object)
          const words = isWanted
            ? `does not meet ${condition}, which it always should`
            : `meets ${condition}, which it never should`
          return [{ kind, object: name, text: `${kind} ${name} ${words}` }]
        }),
      ),
    atEnd: (states, now, start) =>
      bounded.flatMap(({ kind, name, where, atLeast, atMost = Number.POSITIVE_INFINITY, test }) => {
        const met = [...states.objects(kind)].filter(
          (object) => (name === "" || nameIn(object) === name) && test(object, now, start),
        )
        if (met.length >= atLeast && met.length <= atMost) return []
        const bounds =
          atLeast === atMost
            ? atLeast
            : [atLeast > 0 && `at least ${atLeast}`, Number.isFinite(atMost) && `at most ${atMost}`]
                .filter(Boolean)
                .join(" and ")
        const of = `${kind}${name && ` ${name}`}${where === undefined ? "" : ` with ${where}`}`
        const names = met.slice(0, 5).map(nameIn).join(", ")
        return [
          { kind, object: name, text: `expected ${bounds} of ${of}: there are ${met.length}${names && ` (${names})`}` },
        ]
      }),
  }
}
