/** What a difference between states says about the controllers: which bug it is a sign of, in a sentence that names it. */
import { isRecord } from "../../is-record.ts"
import { isSame } from "../../sandbox/index.ts"
import { type Difference, isRefused, type JournalObject, type JournalStep } from "../journal/journal.ts"
import { type Members, nameOf, type ObjectDifference, placeOfStep, type StepPlace } from "./state-comparison.ts"

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

interface Fed {
  readonly value: unknown
  readonly at: StepPlace
}

interface Overwritten extends Fed {
  readonly controller: string
  readonly by: unknown
}

/** What controllers and history did to the objects, as far as it explains differences. Memory: that of the objects that were changed. */
export class Story {
  readonly #creators = new Map<string, string>()
  readonly #written = new Set<string>()
  /** By object and path: the last value that history has set. */
  readonly #fed = new Map<string, Map<string, Fed>>()
  readonly #overwritten = new Map<string, Map<string, Overwritten>>()
  readonly #deletions = new Map<string, StepPlace>()
  readonly #failing = new Map<string, { readonly text: string; readonly at: StepPlace }>()

  add(step: JournalStep, change: number): void {
    const { cause, entries } = step
    const at = placeOfStep(step, change)
    if (cause.type === "change") {
      const key = keyOf(cause)
      if (cause.action === "deleted" && !cause.fedAs.startsWith("left-out")) this.#deletions.set(key, at)
      const fed = this.#fed.get(key) ?? new Map<string, Fed>()
      if (cause.differences.length > 0) this.#fed.set(key, fed)
      for (const { path, after } of cause.differences) fed.set(path, { value: after, at })
    }
    for (const entry of entries) {
      if (entry.type === "reconcile") {
        const run = `${entry.controller} ${entry.key}`
        if (entry.outcome === "failed" || entry.outcome === "given-up")
          this.#failing.set(run, { text: `${run}: ${entry.error ?? entry.outcome}`, at })
        else this.#failing.delete(run)
      }
      if (entry.type !== "write" || isRefused(entry)) continue
      const key = keyOf(entry)
      this.#written.add(key)
      if (entry.verb === "create" || !this.#creators.has(key)) this.#creators.set(key, entry.controller)
      for (const { path, before, after } of entry.differences) {
        const fed = this.#fed.get(key)?.get(path)
        if (fed === undefined || !isSame(fed.value, before)) continue
        const overwritten = this.#overwritten.get(key) ?? new Map<string, Overwritten>()
        this.#overwritten.set(key, overwritten.set(path, { ...fed, controller: entry.controller, by: after }))
      }
    }
  }

  /** Runs whose last one failed, each with when. */
  get failing(): ReadonlyMap<string, { readonly text: string; readonly at: StepPlace }> {
    return this.#failing
  }

  /** Whether a controller has written one of these objects. */
  hasWritten({ kind, namespace, reached, expected }: ObjectDifference): boolean {
    const names = [...reached.keys(), ...expected.keys()]
    return names.some((name) => this.#written.has(keyOf({ kind, namespace, name })))
  }

  /** `reference`: what it differs from, for people. `others`: the objects of the kind that are there. */
  failureOf(found: ObjectDifference, reference: string, others: Iterable<Members>): Failure | undefined {
    const { kind, namespace, name, expected, reached, differences, since } = found
    const object = nameOf({ namespace, name })
    const what = `${kind} ${object}`
    const facts = { kind, object, since, differences }
    const creatorOf = (one: string): string | undefined => this.#creators.get(keyOf({ kind, namespace, name: one }))
    if (reached.size > expected.size) {
      const extra = [...reached.keys()].findLast((one) => !expected.has(one) && creatorOf(one) !== undefined)
      // The sandbox or the seed has made it.
      if (extra === undefined) return undefined
      return { ...facts, ...this.#surplus(found, extra, { what, reference, creator: creatorOf(extra) ?? "", others }) }
    }
    if (reached.size < expected.size) {
      const gone = [...expected.keys()].find((one) => !reached.has(one)) ?? name
      const deleted = this.#deletions.get(keyOf({ kind, namespace, name: gone }))
      return deleted === undefined
        ? { ...facts, bug: "does-not-create", message: `${what} is missing: ${reference} has it` }
        : {
            ...facts,
            bug: "misses-a-deletion",
            message: `misses a deletion: ${what} was deleted at ${deleted.text}, and no controller has created it again as in ${reference}`,
          }
    }
    const lost = [...reached.keys()].flatMap((one) => {
      const overwritten = this.#overwritten.get(keyOf({ kind, namespace, name: one }))
      return differences.flatMap(({ path, before }) => {
        const entry = overwritten?.get(path)
        return entry !== undefined && isSame(entry.value, before) ? [{ path, ...entry }] : []
      })
    })[0]
    if (lost !== undefined) {
      const { path, controller, value, by, at } = lost
      const message = `${controller} loses an update of ${what}: ${at.text} had set ${path} to ${shown(value)}, and a write that knew only the state before has made it ${shown(by)}. Write only the fields that the controller decides, or send the resourceVersion that was read`
      return { ...facts, bug: "loses-an-update", message }
    }
    const [first] = differences
    if (first?.path === "/metadata/ownerReferences" && first.after === undefined)
      return {
        ...facts,
        bug: "does-not-own",
        message: notOwned(creatorOf([...reached.keys()][0] ?? ""), what, reference),
      }
    const values = differences
      .slice(0, 3)
      .map(({ path, before, after }) => `${path} is ${shown(after)} in place of ${shown(before)}`)
    return { ...facts, bug: "differs", message: `${what} differs from ${reference}: ${values.join("; ")}` }
  }

  #surplus(
    { kind, namespace, expected, reached, formerly }: ObjectDifference,
    extra: string,
    about: { what: string; reference: string; creator: string; others: Iterable<Members> },
  ): Pick<Failure, "bug" | "message"> {
    const { what, reference, creator, others } = about
    const object = reached.get(extra) ?? {}
    const owner = ownerOf(object)
    const twins = [...others].filter((other) => other !== object && owner !== undefined && ownerOf(other) === owner)
    const first = [...reached.keys()].find((one) => one !== extra) ?? nameIn(twins[0])
    if (expected.size > 0 || (formerly === undefined && first !== undefined)) {
      const there =
        first === undefined
          ? ""
          : `: ${nameOf({ namespace, name: extra })} besides ${nameOf({ namespace, name: first })}`
      return {
        bug: "creates-again",
        message: `${creator} creates ${kind} again${there}; ${reference} has ${Math.max(expected.size, twins.length)}. It does not find what it has made before: look that up in the cluster, by owner or by a fixed name, and not in memory`,
      }
    }
    if (owner === undefined && formerly !== undefined && ownerOf(formerly) !== undefined)
      return { bug: "does-not-own", message: `${notOwned(creator, what, reference)}: so it is left behind` }
    if (owner === undefined && formerly !== undefined)
      return {
        bug: "misses-a-deletion",
        message: `${creator} misses a deletion: ${what}, which it made, is still there, and ${reference} has it no more. A deletion that nothing was there to see wakes nobody later: use a finalizer, a checkpoint or an owner reference`,
      }
    if (formerly !== undefined)
      return { bug: "leaves-behind", message: `${what} is still there, and ${reference} has it no more` }
    return { bug: "leaves-behind", message: `${creator} has created ${what}, which ${reference} does not have` }
  }
}

const notOwned = (creator: string | undefined, what: string, reference: string): string =>
  `${creator ?? "the controller"} does not own its child ${what}: it has no controlling owner, which it has in ${reference}. Use setControllerReference, or nothing deletes it with its owner`

const keyOf = ({ kind, namespace, name }: JournalObject): string => `${kind} ${namespace}/${name}`

/** The controlling owner. */
const ownerOf = ({ metadata }: Members): string | undefined => {
  const references = isRecord(metadata) && Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences : []
  const owner = references.filter(isRecord).find(({ controller }) => controller === true)
  return owner === undefined ? undefined : `${String(owner.kind)} ${String(owner.name)}`
}

const nameIn = (object: Members | undefined): string | undefined =>
  isRecord(object?.metadata) ? String(object.metadata.name) : undefined

/** A value, shortened for a line. */
const shown = (value: unknown): string => {
  const text = value === undefined ? "absent" : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}
