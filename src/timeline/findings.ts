/**
 * Finds what went wrong with objects, from their states in order.
 *
 * What comes again within ten minutes is one finding: a container that crashes runs for a while between two crashes, and the kubelet forgets its restarts
 * after ten minutes too. Memory: what is known of objects with which something is wrong or that have restarted, at most {@link mostFollowed} of them; beyond
 * that the one that was seen first is given up, and its finding ends with what is known.
 */

import type { Wrong } from "./containers.ts"
import type { Finding } from "./finding.ts"
import type { Health } from "./health.ts"
import type { LaneObject } from "./lane.ts"
import { tones } from "./tile.ts"

/** µs without trouble after which it would be another finding. */
const rejoinMicros = 600_000_000
/** µs for which something must be wrong that is part of every roll-out. */
const lastingMicros = 60_000_000
const mostFollowed = 50_000

interface Episode {
  readonly object: LaneObject
  readonly wrong: Wrong
  readonly from: number
  readonly isLasting: boolean
  readonly times: number
  readonly restarts: number
  /** Since when it is so without a break; `undefined`: it is over, since `end`. */
  readonly since: number | undefined
  readonly end: number
  /** µs of the longest stretch before `since`. */
  readonly longest: number
}

interface Followed {
  /** Of all containers when it was last seen. */
  readonly restarts: number
  readonly episode: Episode | undefined
}

/** One state of one object. */
interface ObservedHealth {
  /** Its lane. */
  readonly lane: string
  /** Looked at only when something is found to be wrong: it may be a getter. */
  readonly object: LaneObject
  /** µs since the Unix epoch; of what is there when the window begins, its beginning. */
  readonly time: number
  /** `undefined`: it was deleted. */
  readonly health: Health | undefined
  /** It is there when the window begins, or when it is first seen: its restarts were before. */
  readonly isFirst?: boolean
}

/** Follows objects; the states of each are to be given in order. */
export class FindingTracker {
  readonly #emit: (finding: Finding) => void
  readonly #most: number
  /** By lane, in the order of first sight, as a Map iterates. */
  readonly #followed = new Map<string, Followed>()

  /** `emit` gets each finding once, when it is over or {@link finish} is called. */
  constructor(emit: (finding: Finding) => void, most = mostFollowed) {
    this.#emit = emit
    this.#most = most
  }

  observe(observed: ObservedHealth): void {
    const { lane, time, health, isFirst = false } = observed
    const known = this.#followed.get(lane)
    const restarts = health?.restarts ?? 0
    const more = isFirst ? 0 : Math.max(0, restarts - (known?.restarts ?? 0))
    if (health === undefined) {
      if (known?.episode !== undefined) this.#end(lane, ended(known.episode, time), time)
      this.#followed.delete(lane)
      return
    }
    const wrong = health.wrong
    // Between two states that were seen, a container may have failed and been started again.
    let episode = known?.episode
    const again = episode !== undefined && recurring.has(episode.wrong.code) ? episode.wrong : undefined
    const missed = wrong === undefined && more > 0 ? (health.failedBefore ?? again) : undefined
    const now = wrong ?? missed
    if (episode !== undefined && now !== undefined && !continues(episode, now, time)) {
      this.#end(lane, ended(episode, time), time)
      episode = undefined
    }
    if (now !== undefined) {
      const isLasting = health.tone !== tones.bad && missed === undefined
      const object = episode?.object ?? observed.object
      episode = continued(episode, { object, wrong: now, time, restarts: more, isLasting })
    }
    if (wrong === undefined && episode !== undefined) episode = ended(episode, time)
    if (episode === undefined && restarts === 0) this.#followed.delete(lane)
    else this.#followed.set(lane, { restarts, episode })
    if (this.#followed.size > this.#most) this.#giveUpFirst(time)
  }

  /** What is not over yet: `until` is the end of the window, µs since the Unix epoch. */
  finish(until: number): void {
    for (const [lane, { episode }] of this.#followed) if (episode !== undefined) this.#end(lane, episode, until)
    this.#followed.clear()
  }

  #giveUpFirst(time: number): void {
    for (const [lane, { episode }] of this.#followed) {
      this.#followed.delete(lane)
      if (episode !== undefined) this.#end(lane, ended(episode, time), time)
      return
    }
  }

  #end(lane: string, episode: Episode, until: number): void {
    const { wrong, object, from, since, end, times, restarts, longest, isLasting } = episode
    if (isLasting && Math.max(longest, since === undefined ? 0 : until - since) < lastingMicros) return
    const count = recurring.has(wrong.code) ? Math.max(restarts, 1) : times
    this.#emit({
      ...{ code: wrong.code, lane, object, from, message: wrong.message, count },
      ...(since === undefined && { to: end }),
    })
  }
}

/** Counted by restarts. */
const recurring: ReadonlySet<Finding["code"]> = new Set(["crash-loop", "out-of-memory"])

const continues = ({ wrong, since, end }: Episode, now: Wrong, time: number): boolean =>
  wrong.code === now.code && (since !== undefined || time - end <= rejoinMicros)

interface Trouble extends Pick<Episode, "object" | "wrong" | "restarts" | "isLasting"> {
  readonly time: number
}

const continued = (episode: Episode | undefined, { time, ...now }: Trouble): Episode =>
  episode === undefined
    ? { ...now, from: time, times: 1, since: time, end: time, longest: 0 }
    : {
        ...episode,
        // Its last words.
        wrong: now.wrong,
        isLasting: episode.isLasting && now.isLasting,
        restarts: episode.restarts + now.restarts,
        times: episode.times + (episode.since === undefined ? 1 : 0),
        since: episode.since ?? time,
      }

const ended = (episode: Episode, time: number): Episode =>
  episode.since === undefined
    ? episode
    : { ...episode, since: undefined, end: time, longest: Math.max(episode.longest, time - episode.since) }
