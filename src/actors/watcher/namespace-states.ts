/**
 * Combines the states of a kind's namespaces into the state of the kind: the worst of them, with a detail that says which namespaces are
 * not watched and why.
 */
import type { KindState } from "../../kube/index.ts"

/** Worst first. `listing` precedes everything else: while one namespace is being listed, the recorder is not ready. */
const byBadness: ReadonlyArray<KindState> = [
  "listing",
  "stopped",
  "forbidden",
  "failing",
  "waiting",
  "catching-up",
  "watching",
]

/** Maximum number of namespaces named individually, because a message should not list hundreds. */
const mostNamed = 5

interface StateAndDetail {
  readonly state: KindState
  /** One sentence for people. */
  readonly detail: string
}

/** What the session of one namespace is doing. Plain data: it crosses a thread boundary as it is. */
export interface NamespaceState extends StateAndDetail {
  readonly namespace: string
}

export class NamespaceStates {
  readonly #states = new Map<string, NamespaceState>()

  /** Returns whether anything has changed. */
  set(namespace: string, state: KindState, detail: string): boolean {
    const before = this.#states.get(namespace)
    if (before?.state === state && before.detail === detail) return false
    this.#states.set(namespace, { namespace, state, detail })
    return true
  }

  /** In the order in which they were first set. */
  all(): ReadonlyArray<NamespaceState> {
    return [...this.#states.values()]
  }
}

/** The state of a kind, or of a part of it, from those of at least one namespace. */
export const combinedState = (all: ReadonlyArray<NamespaceState>): StateAndDetail => {
  const unwell = byBadness
    .slice(0, -1)
    .flatMap((state) => all.filter((each) => each.state === state))
    .map(({ namespace, state, detail }) => `namespace ${namespace} ${state}: ${detail}`)
  if (unwell.length === 0) return { state: "watching", detail: watched(all) }
  const more = unwell.length - mostNamed
  const parts = more > 0 ? [...unwell.slice(0, mostNamed), `and ${more} more`] : unwell
  const well = all.length - unwell.length
  if (well > 0) parts.push(`${well} of ${all.length} namespaces ${well === 1 ? "is" : "are"} watched`)
  const state = byBadness.find((each) => all.some((one) => one.state === each)) ?? "watching"
  return { state, detail: parts.join("; ") }
}

const watched = (all: ReadonlyArray<NamespaceState>): string =>
  all.length > mostNamed
    ? `${all.length} namespaces`
    : all.map(({ namespace, detail }) => `${namespace} ${detail}`).join(", ")
