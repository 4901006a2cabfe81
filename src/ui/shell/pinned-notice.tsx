/** Says that the page shows a window that is kept, of a recording of which the rest may be gone. */

import type { Pin } from "../source/source.ts"
import type { Input } from "../state/updates.ts"
import { visible } from "../text/shown-text.ts"
import { momentText, type Zone } from "../timeline/axis.ts"

interface PinnedNoticeProps {
  readonly pin: Pin
  readonly send: (input: Input) => void
  readonly zone: Zone
}

export const PinnedNotice = ({ pin: { from, until, note, isLost }, send, zone }: PinnedNoticeProps) => (
  <p class="pinned-notice">
    <b>Pinned window</b> {momentText(zone, from).slice(0, 19)} to {momentText(zone, until).slice(0, 19)}
    {note !== "" && <q>{visible(note, 1024)}</q>}
    {isLost && <span class="warn">a part of it had been removed before it was kept</span>}
    <button type="button" onClick={() => send({ type: "window", span: { from, to: until } })}>
      Show all of it
    </button>
  </p>
)
