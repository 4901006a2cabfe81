/** The pins of a running recorder: the store makes and removes them, the reader lists them. */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type Pin, PinRefused, type PinRequest } from "../../archive/index.ts"
import type { Clock } from "../../clock.ts"
import { formatInstant } from "../../local-time.ts"
import { messageOf } from "../../message-of.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import type { RecorderActors } from "../recording/recorder-actors.ts"
import { type AlertMargins, alertPin } from "./alert-pin.ts"
import type { AlertGroup } from "./pin-body.ts"

interface PinParts {
  readonly actors: Pick<RecorderActors, "store" | "reader">
  readonly clock: Pick<Clock, "wallMicros">
  readonly margins: AlertMargins
  readonly log: Pick<RecorderLog, "info">
}

/** Every method fails with the refusal for the client. */
export class RecorderPins {
  readonly #parts: PinParts
  /** Notifications about one group may come at once, from each Alertmanager of a cluster of them: the second has to find the pin of the first. */
  readonly #turn = Semaphore.makeUnsafe(1)

  #changes = 0

  constructor(parts: PinParts) {
    this.#parts = parts
  }

  /** How often a pin was made or extended. */
  get changes(): number {
    return this.#changes
  }

  /** The earliest window first. */
  list(): Effect.Effect<ReadonlyArray<Pin>, ExportRefusal> {
    return this.#parts.actors.reader.ask("pins", undefined)
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
    return actors.store.call("pin", request).pipe(
      Effect.mapError(refusalOf),
      Effect.tap(({ id, from, until }) =>
        Effect.sync(() => {
          this.#changes++
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

  /** The window of a pin was exported at that moment, µs since the Unix epoch. */
  noteExported(id: string, atMicros: number): Effect.Effect<void, ExportRefusal> {
    const note = this.#parts.actors.store.call("pinExported", { id, atMicros })
    return Effect.asVoid(Effect.mapError(note, refusalOf))
  }

  /** Whether there was one. */
  remove(id: string, who: string): Effect.Effect<boolean, ExportRefusal> {
    const { actors, log } = this.#parts
    return actors.store.call("unpin", id).pipe(
      Effect.mapError(refusalOf),
      Effect.tap((wasThere) => Effect.sync(() => wasThere && log.info("removed a pin", { id, who }))),
    )
  }
}

const refusalOf = (error: { readonly message: string }): ExportRefusal =>
  error instanceof PinRefused
    ? { status: error.fault === "limit" ? 409 : 400, message: error.problem }
    : { status: 503, message: `pins cannot be changed now: ${messageOf(error)}`, retryAfterSeconds: 1 }
