/** What answers of the source do to what is shown: tiles, findings, and failures. Total, as all updates are. */

import type { Finding } from "../../timeline/index.ts"
import type { LaneTile, Span } from "../source/source.ts"
import { partKey } from "./rows.ts"
import { type Failure, type PageState, sameSpan } from "./state.ts"
import { appended, tileOf } from "./tile-strip.ts"

/** Rows that are kept beside those in sight, so that scrolling back shows them at once. */
const mostTiles = 600

export const withTile = (
  state: PageState,
  { span, tile, isMore }: { readonly span: Span; readonly tile: LaneTile; readonly isMore: boolean },
): PageState => {
  const { lane, part } = tile
  const key = part === undefined ? lane : partKey(lane, part.id)
  const drawn = tileOf(span, tile)
  const tiles = new Map(state.tiles)
  const known = tiles.get(key)
  tiles.delete(key)
  tiles.set(key, isMore && known !== undefined ? appended(known, drawn, state.width) : drawn)
  for (const oldest of tiles.keys()) {
    if (tiles.size <= mostTiles) break
    tiles.delete(oldest)
  }
  if (part === undefined) return { ...state, tiles }
  const parts = state.parts.get(lane) ?? []
  if (parts.some(({ id }) => id === part.id)) return { ...state, tiles }
  return { ...state, tiles, parts: new Map(state.parts).set(lane, [...parts, part]) }
}

/** Findings that are listed: more are not read. */
const mostFindings = 2000

/** While the window moves with the present, what was found before stays until all of the window is examined again. */
export const examined = ({ found, ...state }: PageState, span: Span): PageState => {
  const begun = { span, findings: [], progress: 0 }
  const isSameLength = found.span.to - found.span.from === span.to - span.from
  const isNext = state.isFollowing && found.progress >= 1 && isSameLength
  return { ...state, found: isNext ? { ...found, next: begun } : begun }
}

export const withFinding = (
  state: PageState,
  span: Span,
  found: Finding | { readonly progress: number },
): PageState => {
  const { next, ...shown } = state.found
  const isNext = next !== undefined && sameSpan(next.span, span)
  const list = isNext ? next : sameSpan(shown.span, span) ? shown : { span, findings: [], progress: 0 }
  const grown =
    "progress" in found
      ? { ...list, progress: found.progress }
      : { ...list, findings: [...list.findings, found].slice(0, mostFindings) }
  return { ...state, found: isNext && grown.progress < 1 ? { ...shown, next: grown } : grown }
}

export const withFailure = (state: PageState, about: string, failure: Failure | undefined): PageState => {
  if (failure === undefined && !state.failures.has(about)) return state
  const failures = new Map(state.failures)
  if (failure === undefined) failures.delete(about)
  else failures.set(about, failure)
  return { ...state, failures }
}
