/** The two kinds of moments that can be served: one that stands still, and one that runs. */
import type { Clock } from "../../clock.ts"
import { formatLocalTime } from "../../local-time.ts"
import type { GapEvent, LateChanges } from "../../trace/index.ts"
import { type ServedKinds, servedKindsAt } from "../kinds/served-kinds.ts"
import type { Past, PastKind, Shortcomings } from "../past/past.ts"
import { PlayClock } from "../play/play-clock.ts"
import { PlayedKind } from "../play/played-kind.ts"
import { KindState } from "../state/kind-state.ts"
import type { RecordedResource } from "../state/recorded-resource.ts"
import type { RecordedState } from "../state/recorded-state.ts"
import type { StateCache } from "../state/state-cache.ts"
import type { LoadedKind, MomentKinds } from "./history-backend.ts"

// What a state of the past may lack, as texts for `Warning` headers: one line each, with times of this machine's time zone.

/** Gaps of one kind named one by one; a recorder that was stopped each night leaves more than a header has room for. */
const shown = 3

/** `state`: what is to be said of the objects of that moment. `moment`: µs since the Unix epoch, of the state. `now`: µs since the Unix epoch by this machine's clock; dates that are today's are left out. */
const shortcomingTexts = (
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

/** A kind at a moment that stands still. */
interface FixedKind extends LoadedKind {
  readonly bytes: number
}

/** States of fixed moments, which all of them share. */
export type FixedKinds = StateCache<FixedKind>

/** The moment `time`, µs since the Unix epoch. Rejects with what reading the past throws. */
export const fixedMoment = async (past: Past, time: number, cache: FixedKinds, clock: Clock): Promise<MomentKinds> => ({
  served: await servedKindsAt(past, time, [time]),
  load: (source) =>
    cache.get(`${source.kind.gvk}@${time}`, async () => {
      const state = await KindState.load(past, source, time)
      const warnings = await warningsAt(past, state, time, clock)
      return { source, time, state, warnings, bytes: state.bytes }
    }),
})

/** ms for which the shortcomings of a moment count as those of the moments after it. */
const warningsMs = 1000

interface RunningSettings {
  /** µs since the Unix epoch at which time begins to run, now. */
  readonly from: number
  readonly speed: number
  /** A kind cannot be read any more and stands still. */
  readonly onTrouble: (error: unknown) => void
}

/** A moment that runs to the end of the past. Every kind that was asked for stays in memory and is kept up to date. */
export class RunningMoment implements MomentKinds {
  readonly served: ServedKinds
  readonly play: PlayClock
  readonly #past: Past
  readonly #clock: Clock
  readonly #settings: RunningSettings
  readonly #kinds = new Map<string, Promise<PlayedKind>>()
  readonly #warnings = new Map<string, { readonly atMs: number; readonly texts: ReadonlyArray<string> }>()

  /** Has all kinds that are recorded by its end. Rejects with what reading the past throws. */
  static async start(past: Past, clock: Clock, settings: RunningSettings): Promise<RunningMoment> {
    const served = await servedKindsAt(past, past.end, [settings.from, past.end])
    return new RunningMoment(past, clock, settings, served)
  }

  private constructor(past: Past, clock: Clock, settings: RunningSettings, served: ServedKinds) {
    this.served = served
    this.play = new PlayClock(clock, { ...settings, to: past.end })
    this.#past = past
    this.#clock = clock
    this.#settings = settings
  }

  readonly load = async (source: RecordedResource): Promise<LoadedKind> => {
    const { gvk } = source.kind
    let starting = this.#kinds.get(gvk)
    if (starting === undefined) {
      starting = PlayedKind.start(this.#past, source, this.play, this.#settings)
      this.#kinds.set(gvk, starting)
      // The next request tries again.
      starting.catch(() => this.#kinds.delete(gvk))
    }
    const played = await starting
    await played.catchUp()
    const warnings = await this.#warningsNow(played.state)
    return { source, time: played.entered, state: played.state, played, warnings }
  }

  /** Ends all timers. */
  close(): void {
    for (const starting of this.#kinds.values())
      starting.then(
        (played) => played.close(),
        () => undefined,
      )
  }

  async #warningsNow(state: KindState): Promise<ReadonlyArray<string>> {
    const { gvk } = state.recorded.kind
    const known = this.#warnings.get(gvk)
    const nowMs = this.#clock.monotonicMs()
    if (known !== undefined && nowMs - known.atMs < warningsMs) return known.texts
    const texts = await warningsAt(this.#past, state, this.play.now(), this.#clock)
    this.#warnings.set(gvk, { atMs: nowMs, texts })
    return texts
  }
}

const warningsAt = async (past: Past, state: KindState, time: number, clock: Clock): Promise<ReadonlyArray<string>> => {
  const { kind } = state.recorded
  const lacks = await past.shortcomings(kind.gvk, time)
  return shortcomingTexts(kind, time, { ...lacks, state: remarksOnState(state) }, clock.wallMicros())
}

const remarksOnState = (state: KindState): ReadonlyArray<string> => {
  const { gvk, statusRemark } = state.recorded.kind
  return [
    ...(state.hasUnknownStatus && statusRemark !== undefined ? [statusRemark] : []),
    ...(gvk === "v1.Secret" && state.some(isRedactedRelease) ? [releasesRemark] : []),
  ]
}

/**
 * Helm reads its releases from the values of Secrets, passes over those that it cannot decode, and lists nothing. Their names, revisions and statuses are
 * in the Secrets' names and labels, which are recorded as they are.
 */
const isRedactedRelease = ({ name, object }: RecordedState): boolean =>
  name.startsWith("sh.helm.release.v1.") && object.includes(encodedMark)

/** How every hash in the data of a Secret begins. */
const encodedMark = Buffer.from("redacted:").toString("base64")

const releasesRemark =
  "values were replaced by hashes, so helm list is empty; names, revisions and statuses of releases: kubectl get secrets -l owner=helm --show-labels"
