/** What a pane beside the time line is given. */
import type { HistorySource } from "../source/source.ts"
import type { PageState } from "../state/state.ts"
import type { Input } from "../state/updates.ts"
import type { Zone } from "../timeline/axis.ts"

export interface PaneProps {
  readonly source: HistorySource
  readonly state: PageState
  readonly send: (input: Input) => void
  readonly zone: Zone
}

/** By this name the page knows that a pane was refused for want of a token. */
export const paneQuestion = "pane"
