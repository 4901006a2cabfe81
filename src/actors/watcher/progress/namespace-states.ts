/**
 * The states of a kind's namespaces as the state of the kind: it is as bad as its worst namespace, and its detail says which namespaces
 * are not watched and why.
 */
import type { KindState } from "../../../kube/watch/protocol/protocol.ts"

/** Worst first. Being listed comes before everything else: while it is true of one namespace, the recorder is not ready. */
const byBadness: ReadonlyArray<KindState> = ["listing", "stopped", "forbidden", "failing", "waiting", "watching"]

/** Namespaces that are told of by themselves; a message is no list of hundreds. */
const toldOf = 5

interface StateAndDetail {
  readonly state: KindState
  readonly detail: string
}

export class NamespaceStates {
  readonly #states = new Map<string, StateAndDetail>()

  set(namespace: string, state: KindState, detail: string): void {
    // Each try begins as if it succeeded. The others are well meanwhile, and the recorder must not seem to start again every half minute.
    if (state === "listing" && this.#states.get(namespace)?.state === "forbidden") return
    this.#states.set(namespace, { state, detail })
  }

  /** Of at least one namespace. */
  combined(): StateAndDetail {
    const all = [...this.#states].map(([namespace, state]) => ({ namespace, ...state }))
    const unwell = byBadness
      .slice(0, -1)
      .flatMap((state) => all.filter((each) => each.state === state))
      .map(({ namespace, state, detail }) => `namespace ${namespace} ${state}: ${detail}`)
    if (unwell.length === 0) return { state: "watching", detail: watched(all) }
    const more = unwell.length - toldOf
    const parts = more > 0 ? [...unwell.slice(0, toldOf), `and ${more} more`] : unwell
    const well = all.length - unwell.length
    if (well > 0) parts.push(`${well} of ${all.length} namespaces ${well === 1 ? "is" : "are"} watched`)
    const state = byBadness.find((each) => all.some((one) => one.state === each)) ?? "watching"
    return { state, detail: parts.join("; ") }
  }
}

const watched = (all: ReadonlyArray<{ readonly namespace: string; readonly detail: string }>): string =>
  all.length > toldOf
    ? `${all.length} namespaces`
    : all.map(({ namespace, detail }) => `${namespace} ${detail}`).join(", ")
