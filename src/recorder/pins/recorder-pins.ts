/** The pins of a running recorder: the store makes and removes them, the reader lists them. */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type Pin, PinRefused, type PinRequest } from "../../archive/index.ts"
import type { Clock } from "../../clock.ts"
import { formatInstant } from "../../local-time.ts"
import { messageOf } from "../../message-of.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { Metric } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import type { RecorderActors } from "../recording/recorder-actors.ts"
import { type AlertMargins, alertPin, alertSentence } from "./alert-pin.ts"
import type { AlertGroup } from "./pin-body.ts"

/** What makes, removes and lists pins. */
export interface PinActors {
  readonly list: () => Effect.Effect<ReadonlyArray<Pin>, ExportRefusal>
  readonly add: (request: PinRequest) => Effect.Effect<Pin, { readonly message: string }>
  readonly remove: (id: string) => Effect.Effect<boolean, { readonly message: string }>
  readonly noteExported: (id: string, atMicros: number) => Effect.Effect<boolean, { readonly message: string }>
}

/** The store makes and removes them, the reader lists them. */
export const pinActors = ({ store, reader }: Pick<RecorderActors, "store" | "reader">): PinActors => ({
  list: () => reader.ask("pins", undefined),
  add: (request) => store.call("pin", request),
  remove: (id) => store.call("unpin", id),
  noteExported: (id, atMicros) => store.call("pinExported", { id, atMicros }),
})

interface PinParts {
  readonly actors: PinActors
  readonly clock: Pick<Clock, "wallMicros">
  readonly margins: AlertMargins
  readonly log: Pick<RecorderLog, "info" | "warn">
}

/** Every method fails with the refusal for the client. */
export class RecorderPins {
  readonly #parts: PinParts
  /** Notifications about one group may come at once, from each Alertmanager of a cluster of them: the second has to find the pin of the first. */
  readonly #turn = Semaphore.makeUnsafe(1)

  #changes = 0
  /** As of the last list; `undefined`: there was none in this life. */
  #known: ReadonlyArray<Pin> | undefined
  /** By pin, what was said of it, or was so when pins were listed first; `undefined`: there was no list in this life. */
  #said: Set<string> | undefined
  /** Those of which a part was seen to be lost in this life. */
  #losses = 0

  constructor(parts: PinParts) {
    this.#parts = parts
  }

  /** How often a pin was made or extended. */
  get changes(): number {
    return this.#changes
  }

  /** The earliest window first. */
  list(): Effect.Effect<ReadonlyArray<Pin>, ExportRefusal> {
    return Effect.tap(this.#parts.actors.list(), (pins) => Effect.sync(() => this.#heard(pins)))
  }

  /**
   * How many there are, and what they take. The list is read anew for each scrape as long as there are any: a recorder without pins keeps no reader for that. What cannot be read
   * within a second is as it was.
   */
  metrics(): Effect.Effect<ReadonlyArray<Metric>> {
    const isEmpty = this.#known?.length === 0
    const fresh = Effect.timeoutOrElse(this.list(), { duration: metricsMs, orElse: () => Effect.void })
    return Effect.map(isEmpty ? Effect.void : Effect.ignore(fresh), () => {
      const pins = this.#known ?? []
      const bytes = pins.reduce((sum, pin) => sum + pin.bytes, 0)
      return [
        metric("pins", "gauge", "Windows that are kept although retention removes what is around them.", pins.length),
        metric("pins_bytes", "gauge", "Bytes of their copies.", bytes),
        metric("pins_lost_total", "counter", "Pins of which a part was removed before it was copied.", this.#losses),
      ]
    })
  }

  #heard(pins: ReadonlyArray<Pin>): void {
    const { log } = this.#parts
    this.#known = pins
    const said = this.#said ?? new Set()
    // What was so before, an earlier life has said and counted.
    const isNews = (id: string, what: string): boolean =>
      !said.has(`${id} ${what}`) && said.add(`${id} ${what}`).size > 0 && this.#said !== undefined
    for (const pin of pins) {
      const { id, lostThrough } = pin
      const ended = pin.place === "open" ? undefined : alertSentence(pin)
      if (ended !== undefined && isNews(id, "ended")) log.warn(`the pinned window ${id}: ${ended}`)
      if (lostThrough === undefined || !isNews(id, "lost")) continue
      this.#losses++
      log.warn(
        `the pinned window ${id} lacks what happened up to ${formatInstant(lostThrough)}: it was removed before it could be copied`,
      )
    }
    this.#said = said
  }

  find(id: string): Effect.Effect<Pin, ExportRefusal> {
    return Effect.flatMap(this.list(), (pins) => {
      const pin = pins.find((each) => each.id === id)
      return pin === undefined ? Effect.fail({ status: 404, message: `there is no pin ${id}` }) : Effect.succeed(pin)
    })
  }

  /** `who`: for the log. */
  add(request: PinRequest, who: string): Effect.Effect<Pin, ExportRefusal> {
    const { actors, log } = this.#parts
    return actors.add(request).pipe(
      Effect.mapError(refusalOf),
      Effect.tap(({ id, from, until }) =>
        Effect.sync(() => {
          this.#changes++
          this.#known = undefined
          log.info("pinned", { id, from: formatInstant(from), until: formatInstant(until), who })
        }),
      ),
    )
  }

  /** Makes or extends the pin of a group of alerts. */
  alert(group: AlertGroup, who: string): Effect.Effect<Pin, ExportRefusal> {
    const { clock, margins } = this.#parts
    const change = Effect.flatMap(this.list(), (pins) =>
      this.add(alertPin(group, pins, clock.wallMicros(), margins), who),
    )
    return this.#turn.withPermits(1)(change)
  }

  /**
   * The window of this pin was exported at that moment, µs since the Unix epoch. `false`: it is not noted, because the pin was extended or copied since it was listed, so that what was
   * exported may lack a part.
   */
  noteExported({ id, from, until, bytes }: Pin, atMicros: number): Effect.Effect<boolean, ExportRefusal> {
    const note = Effect.flatMap(this.list(), (pins) => {
      const pin = pins.find((each) => each.id === id)
      if (pin !== undefined && (pin.from !== from || pin.until !== until || pin.bytes !== bytes))
        return Effect.succeed(false)
      return Effect.as(Effect.mapError(this.#parts.actors.noteExported(id, atMicros), refusalOf), true)
    })
    // No alert extends it between the look and the note.
    return this.#turn.withPermits(1)(note)
  }

  /** Whether there was one. */
  remove(id: string, who: string): Effect.Effect<boolean, ExportRefusal> {
    const { actors, log } = this.#parts
    return actors.remove(id).pipe(
      Effect.mapError(refusalOf),
      Effect.tap((wasThere) => Effect.sync(() => wasThere && log.info("removed a pin", { id, who }))),
    )
  }
}

/** ms that a scrape waits for the list, as for what actors say. */
const metricsMs = 1000

const metric = (name: string, type: Metric["type"], help: string, value: number): Metric => ({
  ...{ name: `kubereel_${name}`, help, type, samples: [{ value }] },
})

const refusalOf = (error: { readonly message: string }): ExportRefusal =>
  error instanceof PinRefused
    ? { status: error.fault === "limit" ? 409 : 400, message: error.problem }
    : { status: 503, message: `pins cannot be changed now: ${messageOf(error)}`, retryAfterSeconds: 1 }
