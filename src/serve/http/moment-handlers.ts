/**
 * One request handler for each moment that is asked for, the most recently used ones. A handler that is forgotten still serves its open watches; the next
 * request for its moment makes another one, with the same states and versions.
 */
import { badRequest, expiredList, type Failure } from "../../apiserver/answers/failure.ts"
import { ApiHandler } from "../../apiserver/api-handler.ts"
import type { OnTrouble } from "../../apiserver/http/trouble.ts"
import type { Clock } from "../../clock.ts"
import { formatLocalTime } from "../../local-time.ts"
import { HistoryBackend, type MomentKinds } from "../backend/history-backend.ts"
import { type FixedKinds, fixedMoment } from "../backend/moments.ts"
import type { Past } from "../past/past.ts"
import { StateCache } from "../state/state-cache.ts"
import { refuseWrites } from "./access-review.ts"

/** A moment that was asked for. */
export interface AskedMoment {
  /** µs since the Unix epoch. */
  readonly time: number
  /** What a reader must know of how it was taken, such as which of two. */
  readonly remark?: string | undefined
}

export interface HandlerSettings {
  readonly past: Past
  readonly clock: Clock
  /** Reads a moment as a person writes it; a text: what is wrong with it (continues "…: "). */
  readonly readMoment: (text: string) => AskedMoment | string
  /** Bytes of states of fixed moments that are kept. */
  readonly cacheBytes: number
  /** ms between the bookmarks of a watch. */
  readonly bookmarkInterval: number
  readonly onTrouble: OnTrouble
}

/** Each has a registry of kinds and little else: some 100 kB. */
const keptHandlers = 64

/** ms between two looks for how far a past reaches to which a recorder adds, or from which retention removes. */
const refreshMs = 1000

export class MomentHandlers {
  readonly #settings: HandlerSettings
  readonly #states: FixedKinds
  /** Least recently used first, as a Map iterates. */
  readonly #handlers = new Map<string, Promise<ApiHandler>>()
  #refreshedMs = Number.NEGATIVE_INFINITY

  constructor(settings: HandlerSettings) {
    this.#settings = settings
    this.#states = new StateCache(settings.cacheBytes)
  }

  /** The handler of a moment, or why it cannot be served. Rejects with what reading the past throws. */
  async at(moment: string): Promise<ApiHandler | Failure> {
    const asked = this.#settings.readMoment(moment)
    if (typeof asked === "string") return badRequest(`${JSON.stringify(moment)}: ${asked}`)
    return (await this.#refusal(asked.time)) ?? this.#handlerAt(asked)
  }

  /** A handler for the kinds of a moment; `now`: that moment, µs since the Unix epoch, by which ages are shown. */
  handlerOf(kinds: MomentKinds, now: () => number, remark?: string): ApiHandler {
    const { past, clock, bookmarkInterval, onTrouble } = this.#settings
    const backend = new HistoryBackend(kinds, { past, clock, bookmarkInterval, remark })
    const reason = `this is the recorded past in ${past.name}, which cannot be changed`
    const momentClock: Clock = {
      wallMicros: now,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, action) => clock.after(delayMs, action),
    }
    const options = { clock: momentClock, requestLogLimit: 0, onTrouble }
    return new ApiHandler(backend, options, { write: refuseWrites(reason), readOnlyReason: reason })
  }

  async #refusal(time: number): Promise<Failure | undefined> {
    const { past, clock } = this.#settings
    if (clock.monotonicMs() - this.#refreshedMs >= refreshMs) {
      this.#refreshedMs = clock.monotonicMs()
      await past.refresh()
    }
    if (time >= past.begin && time <= past.end) return undefined
    const said = (micros: number): string => formatLocalTime(micros / 1000, clock.wallMicros() / 1000)
    const reach = `${past.name} reaches from ${said(past.begin)} to ${said(past.end)}`
    return time < past.begin
      ? { ...expiredList, message: `${said(time)} is before the beginning: ${reach}` }
      : badRequest(`${said(time)} is after the end: ${reach}`)
  }

  #handlerAt({ time, remark }: AskedMoment): Promise<ApiHandler> {
    const { past, clock } = this.#settings
    const key = `${time} ${remark ?? ""}`
    const known = this.#handlers.get(key)
    this.#handlers.delete(key)
    const handler =
      known ?? fixedMoment(past, time, this.#states, clock).then((kinds) => this.handlerOf(kinds, () => time, remark))
    this.#handlers.set(key, handler)
    // The requests that wait for it are told; the next one tries again.
    handler.catch(() => this.#handlers.delete(key))
    for (const oldest of this.#handlers.keys()) {
      if (this.#handlers.size <= keptHandlers) break
      this.#handlers.delete(oldest)
    }
    return handler
  }
}
