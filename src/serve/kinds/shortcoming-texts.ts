/** What a state of the past may lack, as texts for `Warning` headers: one line each, with times of this machine's time zone. */
import { formatLocalTime } from "../../local-time.ts"
import type { GapEvent, LateChanges } from "../../trace/event.ts"
import type { PastKind, Shortcomings } from "../past/past.ts"

/** Gaps of one kind named one by one; a recorder that was stopped each night leaves more than a header has room for. */
const shown = 3

/** `state`: what is to be said of the objects of that moment. `moment`: µs since the Unix epoch, of the state. `now`: µs since the Unix epoch by this machine's clock; dates that are today's are left out. */
export const shortcomingTexts = (
  { gvk, since, remarks }: PastKind,
  moment: number,
  { gaps, late, state }: Shortcomings & { readonly state: ReadonlyArray<string> },
  now: number,
): ReadonlyArray<string> => {
  const time = (micros: number): string => formatLocalTime(micros / 1000, now / 1000)
  const all = [
    ...(moment < since
      ? [`not all of it is known at ${time(moment)}: its first list was complete at ${time(since)}`]
      : []),
    ...state,
    ...remarks,
    ...gaps.map((gap) => gapText(gap, time)),
    ...late.map((changes) => lateText(changes, time)),
  ]
  const rest = all.length - shown
  const texts = rest > 1 ? [...all.slice(0, shown), `and ${rest} more; see reel coverage`] : all
  return texts.map((text) => `${gvk}: ${text}`)
}

const gapText = ({ namespace, fromTime, toTime, reason }: GapEvent, time: (micros: number) => string): string => {
  const place = namespace === "" ? "" : ` in ${namespace}`
  return reason === "damaged"
    ? `what was recorded${place} from ${time(fromTime)} to ${time(toTime)} is damaged: objects may be missing or outdated`
    : `changes${place} from ${time(fromTime)} to ${time(toTime)} are missing (${reason}): what is shown may be outdated`
}

const lateText = (
  { namespace, notBefore, notAfter, events, cause }: LateChanges,
  time: (micros: number) => string,
): string => {
  const place = namespace === "" ? "" : ` in ${namespace}`
  const what = events === 1 ? "1 change was" : `${events} changes were`
  return `${what}${place} received late (${cause}): when they happened from ${time(notBefore)} to ${time(notAfter)} is estimated`
}
