/** What the page shows: no DOM, no requests and no time. Changed only by `updated` (updates.ts). Times are µs since the Unix epoch. */

import type { Finding, Lack, Lane, LaneObject, Part } from "../../timeline/index.ts"
import type { LaneFilter, LeftOut, ObjectChange, Overview, Pin, SourceError, Span } from "../source/source.ts"

/** Lanes of one answer. */
export const lanesOfPage = 200

/** Lanes below one parent, as far as they were asked for. */
export interface LaneList {
  /** Of which window the newest page is. */
  readonly span: Span
  /** By the number of the page: of which window it is. Pages of another window are shown until they are read again. */
  readonly spans: ReadonlyMap<number, Span>
  readonly total: number
  /** By their place below the parent. */
  readonly lanes: ReadonlyMap<number, Lane>
  /** By id, their place. */
  readonly places: ReadonlyMap<string, number>
}

/** A drawn row with what it is of. */
export interface DrawnTile {
  /** The first moment of the first column. */
  readonly from: number
  /** µs in a column. */
  readonly micros: number
  readonly columns: Uint8Array
  /** Changes in each column, as well as it is known: `tileOf` in tile-strip.ts. */
  readonly counts: Uint32Array
  /** In all columns. */
  readonly changes: number
}

/** What is beside the time line. */
export type Pane = "none" | "object" | "findings" | "differences" | "pins"

/** What can be selected: an object of the recording, with the moment at which it is looked at. */
interface Selection {
  readonly object: LaneObject
  /** Its lane; absent: it is not known yet, or the object did not exist in the window. */
  readonly lane?: string
}

interface Histogram {
  readonly span: Span
  readonly counts: Float64Array
}

interface FoundList {
  readonly span: Span
  readonly findings: ReadonlyArray<Finding>
  /** 0 to 1. */
  readonly progress: number
  /** What is found meanwhile of the window as it moved on with the present; it takes the list's place when it is complete. */
  readonly next?: Omit<FoundList, "next">
}

/** A failure that is shown until the next answer of its kind. */
export interface Failure {
  readonly code: SourceError["code"]
  readonly message: string
}

export type Revealed = Pick<LaneObject, "gvk" | "namespace" | "name"> & {
  readonly uid?: string
  readonly above?: ReadonlyArray<string>
}

/** Everything that the page shows. */
export interface PageState {
  /** Which of several is looked at; absent: there is one only, or none is chosen yet. */
  readonly cluster?: string
  readonly overview?: Overview
  /** What is visible. */
  readonly window: Span
  /** The window for which answers are asked; it follows {@link window} when that has come to rest. */
  readonly settled: Span
  /** Whether the window ends now, and moves on. */
  readonly isFollowing: boolean
  readonly filter: LaneFilter
  readonly open: ReadonlySet<string>
  /** By the id of the parent; the empty string: namespaces. */
  readonly lists: ReadonlyMap<string, LaneList>
  /** By lane, the rows for its conditions and containers. */
  readonly parts: ReadonlyMap<string, ReadonlyArray<Part>>
  /** By the key of a row. */
  readonly tiles: ReadonlyMap<string, DrawnTile>
  readonly histogram?: Histogram
  readonly found: FoundList
  /** The first visible row, and how many fit; columns of pixels of a tile. */
  readonly top: number
  readonly rows: number
  readonly width: number
  /** Whether they are those of the screen. What is drawn is not asked for before. */
  readonly isMeasured: boolean
  /** The key of the row that has the focus. */
  readonly row: string
  readonly selection?: Selection
  /** The moment that is looked at, and the one it is compared with. */
  readonly cursor?: number
  readonly other?: number
  readonly pane: Pane
  /** Of the object that is selected, as the object pane has read them: the keys for the next change go through them. */
  readonly changes: ReadonlyArray<Pick<ObjectChange, "time">>
  readonly isHelpShown: boolean
  /** Whether the input for a filter has the focus. */
  readonly isTyping: boolean
  readonly failures: ReadonlyMap<string, Failure>
  /** An object that is to be brought into sight. `above`: the lanes above it, outermost first, once they are known. */
  readonly reveals?: Revealed
  /** What the recording lacks in the window. */
  readonly lacks: ReadonlyArray<Lack>
  /** What the reader may not read; absent: nothing. */
  readonly leftOut?: LeftOut
  /** The windows that are kept; absent: the source keeps none, or they are not known yet. */
  readonly pins?: ReadonlyArray<Pin>
}

/** µs: what is shown of a recording at first, unless a link says something else. */
export const firstWindow = 15 * 60 * 1_000_000

/** µs: the same of a recording that has just begun. Followed, it grows with what is recorded, up to {@link firstWindow}. */
export const liveWindow = 60 * 1_000_000

/** µs: the shortest window. Below it a column is less than a µs. */
export const shortestWindow = 2_000

/** The page before anything is known. */
export const firstState: PageState = {
  window: { from: 0, to: 1 },
  settled: { from: 0, to: 1 },
  isFollowing: false,
  filter: {},
  open: new Set(),
  lists: new Map(),
  parts: new Map(),
  tiles: new Map(),
  found: { span: { from: 0, to: 0 }, findings: [], progress: 0 },
  top: 0,
  rows: 20,
  width: 800,
  isMeasured: false,
  row: "",
  pane: "none",
  changes: [],
  isHelpShown: false,
  isTyping: false,
  failures: new Map(),
  lacks: [],
}

/** The filter for objects of one namespace; the empty text: of all. */
export const inNamespace = ({ namespace: _, ...others }: LaneFilter, name: string): LaneFilter => ({
  ...others,
  ...(name.trim() !== "" && { namespace: name.trim() }),
})

export const sameSpan = (one: Span, other: Span): boolean => one.from === other.from && one.to === other.to
