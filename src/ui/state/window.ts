/** The window: which stretch of time may be shown, and how it moves. */

import type { Overview, Span } from "../source/source.ts"
import { firstWindow, liveWindow, type PageState, sameSpan, shortestWindow } from "./state.ts"

/** Within the recording, with a tenth of the window beyond its ends, and never shorter than can be drawn. */
const bounded = ({ overview }: PageState, { from, to }: Span): Span => {
  const length = Math.max(shortestWindow, Math.round(to - from))
  if (overview === undefined) return { from: Math.round(from), to: Math.round(from) + length }
  const { span } = overview
  const margin = length / 10
  const longest = Math.max(shortestWindow, (span.to - span.from) * 1.1)
  const kept = Math.min(length, longest)
  const begin = Math.max(span.from - margin, Math.min(from + (length - kept) / 2, span.to + margin - kept))
  return { from: Math.round(begin), to: Math.round(begin) + Math.round(kept) }
}

/** Shows that stretch, as far as it may be, and follows the present no longer. */
export const shown = (state: PageState, span: Span): PageState => {
  const window = bounded(state, span)
  return sameSpan(window, state.window) ? state : { ...state, window, isFollowing: false }
}

/** `by`: a part of its length. */
export const moved = ({ from, to }: Span, by: number): Span => ({
  from: from + (to - from) * by,
  to: to + (to - from) * by,
})

/** Its length by `factor`; the moment `at`, 0 to 1 of the window, stays where it is. */
export const zoomed = (state: PageState, factor: number, at: number): PageState => {
  const { from, to } = state.window
  const middle = from + (to - from) * at
  return shown(state, { from: middle - (middle - from) * factor, to: middle + (to - middle) * factor })
}

/** With `isFollowing`, the end of the recording is the end of the window. */
export const following = (state: PageState, isFollowing: boolean): PageState => {
  const { overview } = state
  if (!isFollowing || overview === undefined) return { ...state, isFollowing: false }
  const length = state.window.to - state.window.from
  const window = { from: overview.span.to - length, to: overview.span.to }
  return { ...state, isFollowing: overview.isLive, window, settled: window }
}

/** The first overview also says where the window is. */
export const withOverview = (state: PageState, overview: Overview): PageState => {
  const next = { ...state, overview }
  if (state.overview === undefined && state.window.to <= 1) {
    const { pin, span } = overview
    const recorded = Math.min(firstWindow, span.to - span.from)
    const length = Math.max(overview.isLive ? liveWindow : shortestWindow, recorded)
    const window = pin ? { from: pin.from, to: pin.until } : { from: span.to - length, to: span.to }
    return { ...next, window, settled: window, isFollowing: overview.isLive }
  }
  return state.isFollowing ? following({ ...next, window: outgrown(state.window, overview) }, true) : next
}

/** A window that shows everything from the beginning on becomes twice as long when that no longer fits. */
const outgrown = (window: Span, { span }: Overview): Span => {
  const length = window.to - window.from
  const isOutgrown = length < firstWindow && window.from <= span.from && span.to - length > span.from
  return isOutgrown ? { from: window.to - Math.min(firstWindow, 2 * length), to: window.to } : window
}
