/**
 * What a rehearsal has to reach and to keep, as a file says it: objects and counts at the end, invariants after every step. Conditions are
 * those of the transform language.
 */
import * as Schema from "effect/Schema"
import { parseDocument } from "yaml"
import { isRecord } from "../../is-record.ts"
import { builtInResources, familiarKind, parseGvk } from "../../kube/offline.ts"
import { messageOf } from "../../message-of.ts"
import type { KindedObject } from "../../sandbox/index.ts"
import { nearest } from "../../text/index.ts"
import { parseCondition, testOf } from "../../trace/transform/index.ts"
import { kindName } from "../feed/kind-names.ts"
import type { Rehearsed } from "../rehearsal.ts"
import { isKind, isNeverCompared, type Members, nameIn, type StateComparison } from "./state-comparison.ts"

const optional = Schema.optionalKey
const kind = Schema.String
const text = optional(Schema.String)
const count = optional(Schema.Int)

/** What a rule of each list has. */
const rules = {
  /** At the end. `name` is `shop/web`, or that of a cluster-scoped object. `exists: false`: there is none, or none that meets `where`. */
  objects: Schema.Struct({ kind, name: Schema.String, where: text, exists: optional(Schema.Boolean) }),
  /** At the end: how many objects of the kind meet `where`; by default all do. */
  counts: Schema.Struct({ kind, where: text, exactly: count, atLeast: count, atMost: count }),
  /** After every step, of each object of the kind that it has changed. */
  invariants: Schema.Struct({ kind, always: text, never: text }),
  /** What is not compared with the recorded states: a kind, a JSON pointer with all below it, or one in a kind. */
  ignore: Schema.Struct({ kind: text, path: text }),
}

const schema = Schema.Struct({
  objects: optional(Schema.Array(rules.objects)),
  counts: optional(Schema.Array(rules.counts)),
  invariants: optional(Schema.Array(rules.invariants)),
  ignore: optional(Schema.Array(rules.ignore)),
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
    const given: unknown = document.toJS({ maxAliasCount: 0 }) ?? {}
    for (const problem of mistypedKeys(given)) throw new Error(problem)
    return Schema.decodeUnknownSync(schema)(given)
  } catch (cause) {
    throw new BadExpectations({ file, problem: messageOf(cause) })
  }
}

const mistypedKeys = (given: unknown): ReadonlyArray<string> => {
  const mistyped = (members: unknown, allowed: ReadonlyArray<string>, place: string): ReadonlyArray<string> =>
    Object.keys(isRecord(members) ? members : {})
      .filter((key) => !allowed.includes(key))
      .map((key) => `${place}${key} is no key here${meant(nearest(key, allowed))} Allowed are ${allowed.join(", ")}`)
  return [
    ...mistyped(given, Object.keys(schema.fields), ""),
    ...Object.entries(rules).flatMap(([list, { fields }]) => {
      const items = isRecord(given) ? given[list] : undefined
      const allowed = Object.keys(fields)
      return Array.isArray(items) ? items.flatMap((item, at) => mistyped(item, allowed, `${list}[${at}].`)) : []
    }),
  ]
}

const meant = (suggestion: string | undefined): string =>
  suggestion === undefined ? "." : `; did you mean ${suggestion}?`

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
  /** Throws {@link BadExpectations} for a kind that is not built in, of which the whole rehearsal has nothing, and that it does not define. */
  readonly checkKinds: (rehearsed: Pick<Rehearsed, "kinds" | "objects">) => void
}

/** `file`: for errors. Throws {@link BadExpectations}, also for a rule that holds whatever happens. */
export const checkOf = (given: Expectations, file: string): ExpectationCheck => {
  const { objects = [], counts = [], invariants = [] } = given
  for (const problem of idleRules(given)) throw new BadExpectations({ file, problem })
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
    checkKinds: ({ kinds, objects }) => {
      const known = [...builtInResources.keys(), ...kinds, ...objects.flatMap(definedKinds)]
      for (const { place, kind } of kindsIn(given)) {
        if (known.some((one) => isKind(one, kind))) continue
        const gvk = parseGvk(kind) ?? noKind
        const similar =
          familiarKind(gvk) ?? nearest(kind, known) ?? known.find((one) => parseGvk(one)?.kind === gvk.kind)
        const problem = `${place} is ${kind}, of which the trace has neither objects nor a CustomResourceDefinition`
        throw new BadExpectations({ file, problem: `${problem}${meant(similar)}` })
      }
    },
  }
}

const noKind = { group: "", version: "", kind: "" }

/** Those of which something is expected. */
const kindsIn = ({ objects = [], counts = [], invariants = [] }: Expectations) =>
  Object.entries({ objects, counts, invariants }).flatMap(([list, items]) =>
    items.map(({ kind }, at) => ({ place: `${list}[${at}].kind`, kind })),
  )

/** What is wrong with rules that hold whatever happens. */
const idleRules = (given: Expectations): ReadonlyArray<string> => {
  const { counts = [], invariants = [], ignore = [] } = given
  const ignored = ignore.flatMap(({ kind }, at) => (kind === undefined ? [] : { place: `ignore[${at}].kind`, kind }))
  const found = [...kindsIn(given), ...ignored].flatMap(({ place, kind }) => {
    if (parseGvk(kind) !== undefined) return []
    const similar = familiarKind({ ...noKind, kind }) ?? "apps/v1.Deployment"
    return `${place} is ${JSON.stringify(kind)}. Write the group and the version too, such as ${similar}`
  })
  const unkept = kindsIn(given)
    .filter(({ kind }) => isNeverCompared(kind))
    .map(({ place, kind }) => `${place} is ${kind}. Of Events and Leases nothing can be expected: remove the rule`)
  const unbounded = counts.flatMap(({ exactly, atLeast = 0, atMost }, at) =>
    exactly === undefined && atMost === undefined && atLeast <= 0
      ? `counts[${at}] holds for any number. Write exactly, atMost, or an atLeast over 0`
      : [],
  )
  const empty = invariants.flatMap(({ always, never }, at) =>
    always === undefined && never === undefined ? `invariants[${at}] has no condition. Write always or never` : [],
  )
  const all = ignore.flatMap(({ kind, path }, at) =>
    kind === undefined && path === undefined
      ? `ignore[${at}] is empty. Write kind or path; to compare nothing with the recording, write recorded: ignore`
      : [],
  )
  return [...found, ...unkept, ...unbounded, ...empty, ...all]
}

/** Those that an object defines, if it is a CustomResourceDefinition. */
const definedKinds = ({ gvk, object }: KindedObject): ReadonlyArray<string> => {
  if (!isKind(kindName(gvk), "apiextensions.k8s.io/v1.CustomResourceDefinition")) return []
  const { spec } = object as Members
  const { group, names } = isRecord(spec) ? spec : {}
  return isRecord(names) ? [`${String(group)}/v1.${String(names.kind)}`] : []
}
