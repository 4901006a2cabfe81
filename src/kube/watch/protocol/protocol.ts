/**
 * The vocabulary of the list/watch state machine: its states, inputs and commands.
 *
 * ```
 *            ┌──────────── absent ◀── not installed ──┐
 *            ▼                                        │
 *  start ─▶ discovering ─▶ probing ─▶ watching ◀──────┤
 *                │            │ lower version,   ▲    │
 *                │ no version │ other cluster    │    │
 *                ▼            ▼                  │    │
 *              streaming-list ── refused ─▶ paging    │
 *                │    │      silent, stalled,  │      │
 *                │    │      out of order      │      │
 *                │    └─ initial-events-end ───┴──────┘
 *   any of them ── failed ─▶ backing-off ─▶ (where it was going)
 * ```
 */
import type { ResourceVersion } from "../../resource-version.ts"
import type { ApiStatus } from "../../status.ts"

/**
 * The state of a kind, for readiness, metrics and people (docs/reference/architecture.md#actors). `catching-up`: it is watched, and what happened before
 * the stream was resumed has not arrived completely.
 */
export type KindState = "listing" | "catching-up" | "watching" | "waiting" | "forbidden" | "failing" | "stopped"

/** Why a list is made. A `first` list leaves no gap; all others do, once the list is complete. */
export type ListReason = "first" | "expired" | "overload" | "cluster-restored"

/** Numbered by the machine; inputs of a stream it no longer knows are ignored. */
export type StreamId = number

/** What a phase will do after its wait. */
export type Intention = "discover" | "probe" | "list" | "watch"

export type Phase =
  | { readonly tag: "idle" }
  | { readonly tag: "discovering" }
  | { readonly tag: "absent" }
  | { readonly tag: "probing" }
  | {
      readonly tag: "streaming-list"
      readonly stream: StreamId
      /** `asked`: there is no response yet. `empty`: it has no byte yet. `changes`: the initial objects are over, and the end bookmark is due. */
      readonly part: "asked" | "empty" | "objects" | "changes"
    }
  | {
      readonly tag: "paging"
      readonly stream: StreamId
      /** The current page was requested with a continue token, which may have expired. */
      readonly continues: boolean
      /** Pages so far, and the continue token of an earlier one: tokens that repeat are noticed by it. */
      readonly pages: number
      readonly earlierToken: string | undefined
      /** One token has already expired, and everything was requested in one response; this is done once per list. */
      readonly whole: boolean
    }
  | {
      readonly tag: "watching"
      readonly stream: StreamId
      readonly openedAtMs: number
      /** The version last delivered when the stream became current, and whether a bookmark or event has arrived since. */
      readonly from: string | undefined
      readonly heard: boolean
      /** The server has returned 200, to this watch or its successor: only then is the kind reported as watched. */
      readonly answered: boolean
      /** Opened and waiting for its first bytes; the old stream is current until then. */
      readonly successor: StreamId | undefined
    }
  | { readonly tag: "backing-off"; readonly then: Intention }
  | { readonly tag: "stopped" }

/** How a stream ended, as the transport saw it. */
export interface StreamOutcome {
  readonly tag: "complete" | "truncated" | "aborted" | "connection" | "malformed" | "timeout"
  /** For people: code and message of the socket. */
  readonly description: string
}

export type Input =
  | {
      readonly type: "start"
      readonly resumeVersion: string | undefined
      readonly clusterUid: string | undefined
      /** Never ask for a streaming list. Default false. */
      readonly listsInPages?: boolean
      /** Whether it matters that a resumed stream has to catch up. Default false. */
      readonly tellsCatchUp?: boolean
      /** The kind may be installed in a moment. Default false. */
      readonly isExpected?: boolean
    }
  | { readonly type: "stop" }
  /** The kind is installed; the UID of kube-system if it may be read. */
  | { readonly type: "discovered"; readonly clusterUid?: string | undefined }
  | { readonly type: "not-installed" }
  | { readonly type: "discovery-failed"; readonly status: ApiStatus }
  /** Result of a probe: the server's current version, and the UID of kube-system if it may be read. */
  | { readonly type: "probed"; readonly version: string; readonly clusterUid: string | undefined }
  | { readonly type: "probe-failed"; readonly status: ApiStatus }
  | { readonly type: "opened"; readonly stream: StreamId }
  | { readonly type: "refused"; readonly stream: StreamId; readonly status: ApiStatus }
  /** The first body bytes of a stream have arrived. */
  | { readonly type: "first-bytes"; readonly stream: StreamId }
  | {
      readonly type: "page-complete"
      readonly stream: StreamId
      readonly version: string
      readonly continueToken: string | undefined
    }
  | { readonly type: "initial-events-end"; readonly stream: StreamId; readonly version: string }
  | { readonly type: "bookmark"; readonly stream: StreamId }
  /** An ERROR line inside a 200 response. */
  | { readonly type: "error-event"; readonly stream: StreamId; readonly status: ApiStatus }
  /** A line that is not JSON, or not an object of this API. */
  | { readonly type: "malformed-line"; readonly stream: StreamId; readonly description: string }
  | {
      readonly type: "ended"
      readonly stream: StreamId
      readonly outcome: StreamOutcome
      readonly whileBlocked: boolean
    }
  | { readonly type: "silent"; readonly stream: StreamId }
  /** A streaming list has brought something that is no initial object. */
  | { readonly type: "changes-begin"; readonly stream: StreamId }
  /** A streaming list has brought an object that is neither the next one nor a change. */
  | { readonly type: "out-of-order"; readonly stream: StreamId }
  /** The end of a streaming list is overdue. */
  | { readonly type: "stalled"; readonly stream: StreamId }
  /** Another session of the same kind has found that the server has a different history; `detail` and `clusterUid` are what it saw. */
  | { readonly type: "restored-elsewhere"; readonly detail: string; readonly clusterUid: string | undefined }
  | { readonly type: "retry" }
  | { readonly type: "successor-due" }
  /** The time of `look-after` is over. `hasMoved`: a change has arrived since the last one, or the reader is blocked. */
  | { readonly type: "look"; readonly hasMoved: boolean }
  /** The version that is to be caught up with is delivered. */
  | { readonly type: "caught-up" }

/** Facts outside the machine when an input arrives. */
export interface Moment {
  /** Monotonic ms. */
  readonly nowMs: number
  /** Returns a number in [0, 1). */
  readonly random: () => number
  /** Highest version delivered in this epoch, as the server wrote it; `undefined` before the first complete list. */
  readonly delivered: string | undefined
  /** Whether an event was delivered since the present stream was opened. */
  readonly progressed: boolean
  /** Whether the last proof that the stream was live is older than a second. */
  readonly isStale: boolean
}

export type Command =
  | { readonly type: "discover" }
  | { readonly type: "probe" }
  | {
      readonly type: "open-streaming-list"
      readonly stream: StreamId
      readonly version: string | undefined
      readonly timeoutSeconds: number
    }
  | {
      readonly type: "open-page"
      readonly stream: StreamId
      readonly version: string | undefined
      readonly continueToken: string | undefined
    }
  /** The list in one response, without limit. */
  | { readonly type: "open-whole-list"; readonly stream: StreamId; readonly version: string | undefined }
  | {
      readonly type: "open-watch"
      readonly stream: StreamId
      readonly version: string
      readonly timeoutSeconds: number
    }
  | { readonly type: "close"; readonly stream: StreamId }
  /** End the stream and report `silent` if no byte arrives for that long. Replaces an earlier limit. */
  | { readonly type: "limit-silence"; readonly stream: StreamId; readonly ms: number }
  /** Report `stalled` if the streaming list has not ended after `ms`, whatever it brings meanwhile. */
  | { readonly type: "limit-stall"; readonly stream: StreamId; readonly ms: number }
  | { readonly type: "retry-after"; readonly ms: number }
  | { readonly type: "successor-after"; readonly ms: number }
  | { readonly type: "look-after"; readonly ms: number }
  /** Whether the kind is behind: what is delivered is not the state of now. */
  | { readonly type: "behind"; readonly isBehind: boolean }
  /** `detail`: the cause, if the reason alone would mislead. */
  | { readonly type: "list-started"; readonly reason: ListReason; readonly detail: string | undefined }
  | { readonly type: "list-completed"; readonly version: string }
  | { readonly type: "epoch-started"; readonly detail: string }
  /** What was delivered belongs to a history that is over; the sink has learnt that elsewhere. */
  | { readonly type: "history-forgotten" }
  | { readonly type: "cluster-identified"; readonly uid: string }
  | { readonly type: "unauthorized" }
  /** A streaming list is given up, because the server does not end it. */
  | { readonly type: "unended-list" }
  | { readonly type: "alarm"; readonly detail: string }
  /** The current watch ended other than the server ends it, and is resumed without a wait. */
  | { readonly type: "cut"; readonly detail: string }
  /** `nextAttemptMs`: in how many ms the server is asked again, if the detail is to say so. */
  | { readonly type: "state"; readonly state: KindState; readonly detail: string; readonly nextAttemptMs?: number }

/** What a resumed stream has to bring (watching.ts). */
interface CatchUp {
  /** Versions: delivered before the interruption, and current before the stream was resumed. */
  readonly from: string
  readonly through: string
  /** The latter as a number; `undefined`: its server's versions cannot be compared. */
  readonly numeric: ResourceVersion | undefined
  /** Looks one after another without a change. */
  readonly quietLooks: number
  /** The progress last reported. */
  readonly said: string
}

/** The machine's memory across phases. */
export interface Memory {
  readonly nextStream: StreamId
  /** Monotonic ms until which the kind is listed in pages (rule 2). */
  readonly pagesUntilMs: number
  /** The reason of the current or the next list. */
  readonly listReason: ListReason
  readonly listDetail: string | undefined
  /** Whether the next list may name the version last delivered (rule 2: not after 410 or "too large"). */
  readonly listFromDelivered: boolean
  /** A list is due or under way: no watch starts before it is complete. */
  readonly listPending: boolean
  readonly clusterUid: string | undefined
  /** The last bookmark, in monotonic ms, and the longest interval seen between two of one stream. */
  readonly lastBookmark: { readonly stream: StreamId; readonly atMs: number } | undefined
  readonly bookmarkIntervalMs: number | undefined
  /** Monotonic ms of the relists within the window. */
  readonly relists: ReadonlyArray<number>
  readonly backOffBaseMs: number
  readonly lastFailureMs: number
  /** The version after which a line was malformed: a second time there, the kind is listed again. */
  readonly malformedAt: string | undefined
  /** The last stream ended while the reader was blocked: if the version then expires, we caused it. */
  readonly overloaded: boolean
  /** Whether the last streams failed: an unclean end is worth a probe before resuming. */
  readonly suspicious: boolean
  /** The state last reported. */
  readonly reported: KindState
  readonly tellsCatchUp: boolean
  /** How often the kind is still to be looked for in a hurry. */
  readonly hurriedLooks: number
  /** `undefined`: everything has arrived that was current when the stream was resumed. */
  readonly catchUp: CatchUp | undefined
  /** The last stream that was opened for some seconds only. */
  readonly brief: StreamId | undefined
  /** It was said that the server does not end streaming lists. */
  readonly saidUnended: boolean
}

export interface WatchState {
  readonly phase: Phase
  readonly memory: Memory
}

/** Nothing is known and nothing is running. */
export const initialState: WatchState = {
  phase: { tag: "idle" },
  memory: {
    nextStream: 1,
    pagesUntilMs: Number.NEGATIVE_INFINITY,
    listReason: "first",
    listDetail: undefined,
    listFromDelivered: false,
    listPending: false,
    clusterUid: undefined,
    lastBookmark: undefined,
    bookmarkIntervalMs: undefined,
    relists: [],
    backOffBaseMs: 0,
    lastFailureMs: Number.NEGATIVE_INFINITY,
    malformedAt: undefined,
    overloaded: false,
    suspicious: false,
    reported: "listing",
    tellsCatchUp: false,
    hurriedLooks: 0,
    catchUp: undefined,
    brief: undefined,
    saidUnended: false,
  },
}
