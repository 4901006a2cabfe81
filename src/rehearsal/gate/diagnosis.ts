/** What a difference between states says about the controllers: which bug it is a sign of, in a sentence that names it. */
import { isRecord } from "../../is-record.ts"
import { isSame } from "../../sandbox/index.ts"
import type { Difference, JournalObject, JournalStep, WriteEntry } from "../journal/journal.ts"
import { type Members, nameIn, nameOf, type ObjectDifference, placeOfStep, type StepPlace } from "./state-comparison.ts"

/** What a failure is a sign of. `differs`: none of the others explains it. */
export type Bug =
  | "creates-again"
  | "does-not-own"
  | "loses-an-update"
  | "misses-a-deletion"
  | "does-not-create"
  | "leaves-behind"
  | "differs"
  | "expectation"
  | "run-fails"
  | "not-run"
  | "stalls"

export interface Failure {
  readonly bug: Bug
  readonly kind: string
  /** `shop/web`; empty if it is about no single object. */
  readonly object: string
  /** One sentence or more, for people. */
  readonly message: string
  /** The first step that differs. */
  readonly since: StepPlace
  /** From what is expected to what is reached. */
  readonly differences: ReadonlyArray<Difference>
}

/** A value that history has set, and what a controller has put in its place. */
interface Fed {
  readonly path: string
  readonly value: unknown
  readonly at: StepPlace
  readonly overwritten?: { readonly controller: string; readonly by: unknown }
}

/** What controllers and history did to the objects, as far as it explains differences. Memory: that of the objects that were changed. */
export class Story {
  /** By object: the controller that created it, or has written it first. */
  readonly #authors = new Map<string, string>()
  /** By object and path: the last value that history has set. */
  readonly #fed = new Map<string, Map<string, Fed>>()
  readonly #deletions = new Map<string, StepPlace>()
  /** Runs whose last one failed, each with when. */
  readonly failing = new Map<string, Pick<Failure, "message" | "since">>()

  add(step: JournalStep, change: number): void {
    const { cause, entries } = step
    const at = placeOfStep(step, change)
    if (cause.type === "change") {
      const key = keyOf(cause)
      if (cause.action === "deleted" && !cause.fedAs.startsWith("left-out")) this.#deletions.set(key, at)
      const fed = this.#fed.get(key) ?? new Map<string, Fed>()
      if (cause.differences.length > 0) this.#fed.set(key, fed)
      for (const { path, after } of cause.differences) fed.set(path, { path, value: after, at })
    }
    // The new process has no retries, and runs again what is still there.
    if (cause.type === "restart") this.failing.clear()
    for (const entry of entries) {
      if (entry.type === "reconcile") {
        const run = `${entry.controller} ${entry.key}`
        this.failing.delete(run)
        if (entry.outcome === "failed" || entry.outcome === "given-up")
          this.failing.set(run, { message: `the last run failed: ${run}: ${entry.error ?? entry.outcome}`, since: at })
      } else if (entry.type === "trouble" && entry.isEnd === true) {
        this.failing.set(entry.controller, { message: `${entry.controller} has ended: ${entry.detail}`, since: at })
      } else if (entry.type === "write" && entry.status < 400) this.#addWrite(entry)
    }
  }

  #addWrite(entry: WriteEntry): void {
    const key = keyOf(entry)
    const { controller, differences } = entry
    if (entry.verb === "create" || !this.#authors.has(key)) this.#authors.set(key, controller)
    const fed = this.#fed.get(key)
    for (const { path, before, after: by } of differences) {
      const value = fed?.get(path)
      if (value !== undefined && isSame(value.value, before))
        fed?.set(path, { ...value, overwritten: { controller, by } })
    }
  }

  /** Whether a controller has written one of these objects. */
  hasWritten({ kind, namespace, reached, expected }: ObjectDifference): boolean {
    return [...reached.keys(), ...expected.keys()].some((name) => this.#authors.has(keyOf({ kind, namespace, name })))
  }

  /** `reference`: what it differs from, for people. `others`: the objects of the kind that are there. */
  failureOf(found: ObjectDifference, reference: string, others: Iterable<Members>): Failure | undefined {
    const { kind, namespace, name, expected, reached, differences, since } = found
    const place = (one: string) => keyOf({ kind, namespace, name: one })
    const object = nameOf({ namespace, name })
    const what = `${kind} ${object}`
    const failure = (bug: Bug, message: string): Failure => ({ bug, kind, object, message, since, differences })
    if (reached.size > expected.size) {
      const extra = [...reached.keys()].findLast((one) => !expected.has(one) && this.#authors.has(place(one)))
      // The sandbox or the seed has made it.
      if (extra === undefined) return undefined
      return failure(
        ...surplus(found, extra, { what, reference, author: this.#authors.get(place(extra)) ?? "", others }),
      )
    }
    if (reached.size < expected.size) {
      const deleted = [...expected.keys()].map((one) => this.#deletions.get(place(one))).find((at) => at !== undefined)
      return deleted === undefined
        ? failure("does-not-create", `${what} is missing: ${reference} has it`)
        : failure(
            "misses-a-deletion",
            `misses a deletion: ${what} was deleted at ${deleted.text}, and no controller has created it again as in ${reference}`,
          )
    }
    const fed = [...reached.keys()].flatMap((one) => [...(this.#fed.get(place(one))?.values() ?? [])])
    const lost = fed.find(
      ({ path, value, overwritten }) =>
        overwritten !== undefined && differences.some((one) => one.path === path && isSame(one.before, value)),
    )
    if (lost?.overwritten !== undefined) {
      const { path, value, at, overwritten } = lost
      return failure(
        "loses-an-update",
        `${overwritten.controller} loses an update of ${what}: ${at.text} had set ${path} to ${shown(value)}, and a write that knew only the state before has made it ${shown(overwritten.by)}. Write only the fields that the controller decides, or send the resourceVersion that was read`,
      )
    }
    const [first] = differences
    if (first?.path === "/metadata/ownerReferences" && first.after === undefined)
      return failure("does-not-own", notOwned(this.#authors.get(place([...reached.keys()][0] ?? "")), what, reference))
    const values = differences
      .slice(0, 3)
      .map(({ path, before, after }) => `${path} is ${shown(after)} in place of ${shown(before)}`)
    return failure("differs", `${what} differs from ${reference}: ${values.join("; ")}`)
  }
}

/** Why there is an object more than should be. */
const surplus = (
  { kind, namespace, expected, reached, formerly }: ObjectDifference,
  extra: string,
  about: { what: string; reference: string; author: string; others: Iterable<Members> },
): [Bug, message: string] => {
  const { what, reference, author, others } = about
  const object = reached.get(extra) ?? {}
  const owner = ownerOf(object)
  const twins = [...others].filter(
    (other) => nameIn(other) !== nameIn(object) && owner !== undefined && ownerOf(other) === owner,
  )
  const [first = twins[0]] = [...reached].flatMap(([name, other]) => (name === extra ? [] : [other]))
  if (expected.size > 0 || (formerly === undefined && first !== undefined)) {
    const there = first === undefined ? "" : `: ${nameOf({ namespace, name: extra })} besides ${nameIn(first)}`
    return [
      "creates-again",
      `${author} creates ${kind} again${there}; ${reference} has ${Math.max(expected.size, twins.length)}. It does not find what it has made before: look that up in the cluster, by owner or by a fixed name, and not in memory`,
    ]
  }
  if (formerly === undefined)
    return ["leaves-behind", `${author} has created ${what}, which ${reference} does not have`]
  if (owner !== undefined) return ["leaves-behind", `${what} is still there, and ${reference} has it no more`]
  if (ownerOf(formerly) !== undefined)
    return ["does-not-own", `${notOwned(author, what, reference)}: so it is left behind`]
  return [
    "misses-a-deletion",
    `${author} misses a deletion: ${what}, which it made, is still there, and ${reference} has it no more. A deletion that nothing was there to see wakes nobody later: use a finalizer, a checkpoint or an owner reference`,
  ]
}

const notOwned = (author: string | undefined, what: string, reference: string): string =>
  `${author ?? "the controller"} does not own its child ${what}: it has no controlling owner, which it has in ${reference}. Use setControllerReference, or nothing deletes it with its owner`

const keyOf = ({ kind, namespace, name }: JournalObject): string => `${kind} ${namespace}/${name}`

/** The controlling owner. */
const ownerOf = ({ metadata }: Members): string | undefined => {
  const references = isRecord(metadata) && Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences : []
  const owner = references.filter(isRecord).find(({ controller }) => controller === true)
  return owner === undefined ? undefined : `${String(owner.kind)} ${String(owner.name)}`
}

/** A value, shortened for a line. */
const shown = (value: unknown): string => {
  const text = value === undefined ? "absent" : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
