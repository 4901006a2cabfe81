/**
 * `--pin-export-to`: each pinned window is written to an object store as NDJSON, once it is over and committed.
 *
 * A window that could not be written is tried again with back-off, for ever: it stays pinned meanwhile. One at a time; an object is complete or absent.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Pin } from "../../archive/index.ts"
import { addressUrl, type ExportTarget, type StoreAddress, type TargetError } from "../../blob/index.ts"
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { BackOff, type BackOffPolicy } from "../../runtime/index.ts"
import type { ExportLimits } from "../export/limits.ts"
import { type ExportRequest, readExportRequest } from "../export/request.ts"
import type { ExportReader } from "../export/service.ts"
import type { StartedExport } from "../export/start.ts"
import { transferExport } from "../export/transfer.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { Metric } from "../metrics/metrics-text.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import type { RecorderPins } from "./recorder-pins.ts"

/** ms between two looks for windows that are over. */
const lookMs = 15_000

/** A store that is away is back within minutes mostly; a bucket that is missing needs a person. */
const policy: BackOffPolicy = {
  ...{ initialMs: 30_000, maximumMs: 1_800_000, factor: 2, jitter: 0.2 },
  resetAfterMs: Number.POSITIVE_INFINITY,
}

type StartExport = (request: ExportRequest, reader: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>

export interface PinExportParts {
  readonly pins: Pick<RecorderPins, "list" | "find" | "noteExported" | "changes">
  /** The objects are below its key. */
  readonly to: StoreAddress
  /** Of a window in the recording. */
  readonly start: StartExport
  /** The copy of a pin. */
  readonly openCopy: (id: string) => Promise<{ readonly startExport: StartExport; readonly close: () => Promise<void> }>
  readonly openTarget: (address: StoreAddress, contentType: string) => Effect.Effect<ExportTarget, TargetError>
  readonly limits: ExportLimits
  readonly clock: Clock
  readonly random: () => number
  readonly log: Pick<RecorderLog, "info" | "warn">
}

interface Waiting {
  readonly backOff: BackOff
  dueMs: number
  reason: string
}

export class PinExports {
  readonly #parts: PinExportParts
  readonly #waiting = new Map<string, Waiting>()
  /** As of when nothing was left to be exported: the list is not asked for again until there are more pins, so that its reader can end. */
  #settled: number | undefined
  #exported = 0
  #failures = 0

  constructor(parts: PinExportParts) {
    this.#parts = parts
  }

  /** Runs until it is interrupted. */
  run(): Effect.Effect<void> {
    return Effect.asVoid(Effect.repeat(this.look(), Schedule.spaced(lookMs)))
  }

  /** Exports what is due. */
  look(): Effect.Effect<void> {
    const { pins, clock } = this.#parts
    return Effect.gen({ self: this }, function* () {
      const { changes } = pins
      if (changes === this.#settled) return
      const all = yield* Effect.orElseSucceed(pins.list(), () => undefined)
      // What cannot be read now is read with the next look.
      if (all === undefined) return
      const left = all.filter(({ exported }) => exported === undefined)
      if (left.length === 0) this.#settled = changes
      const due = left.filter(isOver)
      for (const id of this.#waiting.keys()) if (!due.some((pin) => pin.id === id)) this.#waiting.delete(id)
      for (const pin of due)
        if ((this.#waiting.get(pin.id)?.dueMs ?? 0) <= clock.monotonicMs()) {
          // The exports before may have taken long enough for it to be extended, copied or removed.
          const now = yield* Effect.orElseSucceed(pins.find(pin.id), () => undefined)
          if (now !== undefined && isOver(now)) yield* this.#export(now)
        }
    })
  }

  metrics(): ReadonlyArray<Metric> {
    const counter = (name: string, help: string, value: number): Metric => ({
      ...{ name: `kubereel_pin_${name}`, help, type: "counter", samples: [{ value }] },
    })
    return [
      counter("exports_total", "Pinned windows written to --pin-export-to.", this.#exported),
      counter("export_failures_total", "Attempts to do so that failed and are repeated.", this.#failures),
    ]
  }

  #export(pin: Pin): Effect.Effect<void> {
    const { to, pins, clock, log } = this.#parts
    const address = { ...to, key: `${to.key.replace(/\/?$/, to.key === "" ? "" : "/")}${pin.id}.ndjson.zst` }
    const written = Effect.flatMap(this.#written(pin, address), (bytes) =>
      Effect.mapBoth(pins.noteExported(pin, clock.wallMicros()), {
        onSuccess: (isNoted) => ({ bytes, isNoted }),
        onFailure: ({ message }) => message,
      }),
    )
    return Effect.match(written, {
      onSuccess: ({ bytes, isNoted }) => {
        this.#waiting.delete(pin.id)
        // It is written again with the next look, over this object.
        if (!isNoted) return
        this.#exported++
        log.info("exported a pinned window", { id: pin.id, to: addressUrl(address), bytes })
      },
      onFailure: (reason) => this.#failed(pin.id, address, reason),
    })
  }

  /** The bytes of the object; fails with the reason. */
  #written(pin: Pin, address: StoreAddress): Effect.Effect<number, string> {
    const { start, openCopy } = this.#parts
    if (pin.bytes === 0) return this.#writtenBy(start, pin, address)
    return Effect.acquireUseRelease(
      Effect.tryPromise({ try: () => openCopy(pin.id), catch: messageOf }),
      ({ startExport }) => this.#writtenBy(startExport, pin, address),
      (copy) => Effect.promise(() => copy.close()),
    )
  }

  #writtenBy(start: StartExport, pin: Pin, address: StoreAddress): Effect.Effect<number, string> {
    const { openTarget, limits, clock } = this.#parts
    return Effect.gen(function* () {
      const reading = readExportRequest(JSON.stringify(requestOf(pin, address)))
      if (reading.tag === "refused") return yield* Effect.fail(reading.message)
      const opening = openTarget(address, "application/zstd")
      const target = yield* Effect.mapError(opening, ({ message }) => message)
      const outcome = yield* transferExport({
        start: (reader) => start(reading.request, reader),
        sink: { begin: () => undefined, take: (piece) => target.write(piece) },
        ...{ limits, gone: Effect.never, clock },
      }).pipe(Effect.onInterrupt(() => abandoned(target, "the recorder is stopping")))
      if (outcome.tag === "whole") {
        const finishing = Effect.tryPromise({ try: () => target.finish(), catch: messageOf })
        const { bytes } = yield* Effect.tapError(finishing, (reason) => abandoned(target, reason))
        return bytes
      }
      const reason =
        outcome.tag === "refused"
          ? outcome.refusal.message
          : outcome.tag === "gone"
            ? "it was given up"
            : outcome.message
      yield* abandoned(target, reason)
      return yield* Effect.fail(reason)
    })
  }

  #failed(id: string, address: StoreAddress, reason: string): void {
    const { clock, random, log } = this.#parts
    this.#failures++
    const waiting = this.#waiting.get(id) ?? { backOff: new BackOff(policy, random), dueMs: 0, reason: "" }
    if (waiting.reason !== reason)
      log.warn(
        `the pinned window ${id} cannot be written to ${addressUrl(address)}: ${reason}; the recorder keeps retrying`,
      )
    const now = clock.monotonicMs()
    this.#waiting.set(id, { ...waiting, reason, dueMs: now + waiting.backOff.next(now) })
  }
}

const isOver = ({ place }: Pin): boolean => place !== "open"

const everything = { excluded_namespaces: [], excluded_labels: [] }

const requestOf = ({ from, until }: Pin, address: StoreAddress) => ({
  ...{ start_ts: Math.floor(from / 1e6), end_ts: Math.ceil(until / 1e6), start_time: from, end_time: until },
  ...{ export_path: addressUrl(address), filters: everything, format: "ndjson", compression: "zstd" },
})

/** Parts that cannot be removed are the store's to remove: its message has been logged with the reason of the failure. */
const abandoned = (target: ExportTarget, reason: string): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => target.abort(reason)))
