/**
 * The fence of a stream: who may add the next segment, as a state machine without input or output.
 *
 * Guarantee, whatever is lost, repeated, delayed or killed between any two steps, and however many recorders believe that the stream is theirs: each number has one
 * accepted segment, nothing is in two of them, and a recorder that is told `fenced` has lost nothing that it was told is shipped
 * (docs/decisions/0107-the-store-fences.md; test/fleet/fence/fence-model.test.ts). Clocks play no part.
 *
 * Creating number n + 1, if it is absent, is the only commit. Before that, the recording keeps what was built as an intent: so whatever is found under that
 * number later is either one of the intents, which is adopted with its positions, or another recorder's, which ends this one. A segment without an intent in
 * this recording is another's even with this owner: a copy of the directory writes it.
 *
 * The opening segment of an epoch is created before this begins, by whoever takes the stream over: it has no rows, so nothing need be known of it beforehand.
 */

import type { ChainLink, Shipment, Tenure } from "./tenure.ts"

/** Intents beyond this many are forgotten, the oldest first: one is added by each life that ends while the store does not answer. Forgetting can only fence. */
const MOST_INTENTS = 32

/** Who is in the place of this recorder. */
type Fenced =
  | { readonly by: "another"; readonly link: ChainLink }
  /** Another directory with the same owner: this one was copied, or is an older copy. */
  | { readonly by: "copy"; readonly link: ChainLink }
  /** The number had been used, and its segment was compacted away since. */
  | { readonly by: "compaction"; readonly number: number; readonly compactedThrough: number }

/** What is to be done next; each command is idempotent, and is repeated after a failure. */
export type FenceCommand =
  /** Read what is under the next number. */
  | { readonly tag: "look"; readonly number: number }
  /** Build the segment after the one that has been shipped. */
  | { readonly tag: "build"; readonly tenure: Tenure }
  /** Keep the tenure in the recording. `isShipped`: because its last segment has become certain. */
  | { readonly tag: "keep"; readonly tenure: Tenure; readonly isShipped: boolean }
  /** Create the segment that was built, if there is none of its number. */
  | { readonly tag: "create"; readonly intent: Shipment }
  /** Read up to which number segments have been compacted; 0: none. */
  | { readonly tag: "confirm" }
  /** Nothing until the next turn. */
  | { readonly tag: "rest" }
  | { readonly tag: "end"; readonly fenced: Fenced }

/** What became of a command. One that failed, or whose answer was lost, is given again: there is no event for it. */
export type FenceEvent =
  | { readonly tag: "found"; readonly link: ChainLink | undefined }
  /** `undefined`: there is nothing to ship. */
  | { readonly tag: "built"; readonly intent: Shipment | undefined }
  | { readonly tag: "kept" }
  | { readonly tag: "created" }
  | { readonly tag: "exists" }
  /** The bytes that were built are gone, with the thread that had them. */
  | { readonly tag: "lost" }
  | { readonly tag: "compacted"; readonly through: number }
  /** The next turn is due. */
  | { readonly tag: "due" }

type Step =
  | { readonly tag: "looking" | "building" | "resting" }
  | { readonly tag: "intending" | "creating" | "confirming" | "recording"; readonly intent: Shipment }
  | { readonly tag: "fenced"; readonly fenced: Fenced }

/** Where a recorder is within a turn, and what its recording has of the stream. */
export interface FenceState {
  readonly tenure: Tenure
  readonly step: Step
}

/** The state of a process that has just read this tenure. */
export const openFence = (tenure: Tenure): FenceState => ({
  tenure,
  step: { tag: tenure.intents.length > 0 ? "looking" : "resting" },
})

/** Number of the next segment. */
export const nextNumber = ({ shipped }: Tenure): number => (shipped?.number ?? 0) + 1

/** Whether the recorder continues what somebody restored without taking the stream over: no segment says so yet. */
export const isOpening = ({ shipped, epoch }: Tenure): boolean => shipped !== undefined && shipped.epoch < epoch

/** Pure. */
export const commandOf = ({ tenure, step }: FenceState): FenceCommand => {
  switch (step.tag) {
    case "looking":
      return { tag: "look", number: nextNumber(tenure) }
    case "building":
      return { tag: "build", tenure }
    case "intending": {
      const intents = [...tenure.intents, step.intent].slice(-MOST_INTENTS)
      return { tag: "keep", isShipped: false, tenure: { ...tenure, intents } }
    }
    case "creating":
      return { tag: "create", intent: step.intent }
    case "confirming":
      return { tag: "confirm" }
    case "recording":
      return { tag: "keep", isShipped: true, tenure: { ...tenure, shipped: step.intent, intents: [] } }
    case "resting":
      return { tag: "rest" }
    case "fenced":
      return { tag: "end", fenced: step.fenced }
  }
}

/** The state after an event. Pure; an event that does not belong to the step changes nothing: it answers a command given before. */
export const afterEvent = (state: FenceState, event: FenceEvent): FenceState => {
  const { tenure, step } = state
  switch (step.tag) {
    case "looking":
      return event.tag === "found" ? { tenure, step: judged(tenure, event.link) } : state
    case "building":
      if (event.tag !== "built") return state
      return {
        tenure,
        step: event.intent === undefined ? { tag: "resting" } : { tag: "intending", intent: event.intent },
      }
    case "intending":
      if (event.tag === "lost") return { tenure, step: { tag: "looking" } }
      return event.tag === "kept" ? { tenure: keptOf(state), step: { tag: "creating", intent: step.intent } } : state
    case "creating":
      if (event.tag === "created") return { tenure, step: { tag: "confirming", intent: step.intent } }
      // Only what is there says whether an earlier attempt, whose answer was lost, made it.
      return event.tag === "exists" || event.tag === "lost" ? { tenure, step: { tag: "looking" } } : state
    case "confirming": {
      if (event.tag !== "compacted") return state
      const { number } = step.intent
      if (event.through < number) return { tenure, step: { tag: "recording", intent: step.intent } }
      return { tenure, step: { tag: "fenced", fenced: { by: "compaction", number, compactedThrough: event.through } } }
    }
    case "recording":
      return event.tag === "kept" ? { tenure: keptOf(state), step: { tag: "resting" } } : state
    case "resting":
      return event.tag === "due" ? { tenure, step: { tag: "building" } } : state
    case "fenced":
      return state
  }
}

const keptOf = (state: FenceState): Tenure => {
  const command = commandOf(state)
  return command.tag === "keep" ? command.tenure : state.tenure
}

/** What is under the next number decides. Nothing: none of the intents was created yet, and one that still is under way is found when the next is created. */
const judged = ({ intents, owner }: Tenure, link: ChainLink | undefined): Step => {
  if (link === undefined) return { tag: "building" }
  const intent = intents.find(({ sha256 }) => sha256 === link.sha256)
  if (intent !== undefined) return { tag: "confirming", intent }
  return { tag: "fenced", fenced: { by: link.owner === owner ? "copy" : "another", link } }
}

/** One sentence for the log: who, epoch, number. */
export const describeFenced = (fenced: Fenced): string => {
  switch (fenced.by) {
    case "another":
      return `another recorder has taken the stream over: segment ${fenced.link.number} is of epoch ${fenced.link.epoch}, by ${fenced.link.owner}`
    case "copy":
      return `a recorder with a copy of this data directory writes the stream: segment ${fenced.link.number} of epoch ${fenced.link.epoch} is not this one's`
    case "compaction":
      return `another recorder has taken the stream over: its segments up to ${fenced.compactedThrough} are compacted, and this one was to write ${fenced.number}`
  }
}
