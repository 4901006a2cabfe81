/**
 * Runs a program on many objects at once: what a thread is given, and what it returns. It keeps nothing, so that batches may be run in any order by any
 * thread.
 */
import { simkubeHash } from "../formats/simkube/hash/simkube-hash.ts"
import { differencesBetween, type FieldDifference } from "../json/difference.ts"
import { formatExactJson, isJsonObject, type JsonObject, MAX_DEPTH, parseExactJson } from "../json/exact-json.ts"
import { isDeeper } from "../json/members.ts"
import type { Program } from "./language/program.ts"
import { CommandFailed, type Effect, type RunProgram, runnerOf } from "./run-program.ts"

/** What happens to an object: a new state; a deletion with its last state; or one without, whose `object` has nothing but its identity. */
export const APPLIED = 0
export const DELETED = 1
export const VANISHED = 2

/** What the program makes of it; 0 if it stays. */
export const CHANGED = 1
export const DROPPED = 2

/** What all batches of a trace have in common. */
export interface BatchJob {
  readonly program: Program
  /** When the trace begins, µs since the Unix epoch. */
  readonly start: number
  /** Whether the hashes of changed specs are wanted, for SimKube's index. */
  readonly wantsHashes: boolean
  /** Examples of changes for each command. */
  readonly samples: number
}

/** Objects as JSON, one after the other. */
export interface ObjectBatch {
  readonly job: BatchJob
  readonly objects: Uint8Array
  /** By object, where it ends in `objects`. */
  readonly ends: Uint32Array
  /** By object, µs since the Unix epoch. */
  readonly times: Float64Array
  /** By object: {@link APPLIED}, {@link DELETED} or {@link VANISHED}. */
  readonly happenings: Uint8Array
  /** By object, the command to begin with. */
  readonly from: Uint32Array
}

/** How often a command did what. */
export type EffectCounts = Record<Exclude<Effect, "unmet">, number>

/** One example of what a command does. */
export interface TransformSample {
  readonly statement: number
  /** As in messages: `Deployment shop/web`. */
  readonly subject: string
  readonly time: number
  /** Empty: the object is deleted. */
  readonly differences: ReadonlyArray<FieldDifference>
}

/** What an object is afterwards; `undefined` where the object itself does not say it. */
interface Identity {
  readonly gvk: string | undefined
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface TransformedBatch {
  /** By object: 0, {@link CHANGED} or {@link DROPPED}. */
  readonly outcomes: Uint8Array
  /** Objects that changed, one after the other, as JSON. */
  readonly objects: Uint8Array
  /** By object, where it ends in `objects`; only those that changed take room. */
  readonly ends: Uint32Array
  /** Of objects that changed. */
  readonly identities: ReadonlyMap<number, Identity>
  /** Hashes of their specs, if wanted. */
  readonly hashes: ReadonlyMap<number, bigint>
  /** By command. */
  readonly counts: ReadonlyArray<EffectCounts>
  readonly samples: ReadonlyArray<TransformSample>
  /** Why the batch ended at an object, by its index. */
  readonly failure: BatchFailure | undefined
}

export interface BatchFailure {
  readonly object: number
  /** In the program's text; absent: it is the object's own fault. */
  readonly at: number | undefined
  readonly detail: string
}

/** Runners by their job: compiling a program's patterns for each batch would cost more than running it. */
let latest: { readonly key: string; readonly run: RunProgram } | undefined

const runnerFor = ({ program, start }: BatchJob): RunProgram => {
  const key = JSON.stringify([start, program])
  if (latest?.key !== key) latest = { key, run: runnerOf(program, start) }
  return latest.run
}

/** One after the other, in memory of their own: small Buffers share a pool, which cannot be transferred to another thread. */
export const joined = (pieces: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const whole = new Uint8Array(length)
  let used = 0
  for (const piece of pieces) {
    whole.set(piece, used)
    used += piece.length
  }
  return whole
}

/** No commands' effects yet. */
export const noCounts = (program: Program): Array<EffectCounts> =>
  program.map(() => ({ kept: 0, changed: 0, deleted: 0, lacking: 0, placeless: 0 }))

/** The batch after the program. Never throws for what a program or an object is. */
export const runBatch = (batch: ObjectBatch): TransformedBatch => {
  const { job, ends, times, happenings } = batch
  const run = runnerFor(job)
  const length = ends.length
  const outcomes = new Uint8Array(length)
  const outEnds = new Uint32Array(length)
  const pieces: Array<Buffer> = []
  const identities = new Map<number, Identity>()
  const hashes = new Map<number, bigint>()
  const counts = noCounts(job.program)
  const samples: TransformSample[] = []
  let failure: BatchFailure | undefined
  let used = 0
  for (let index = 0; index < length; index++) {
    const bytes = batch.objects.subarray(ends[index - 1] ?? 0, ends[index])
    const time = times[index] as number
    try {
      const object = parsed(bytes)
      const onEffect = (statement: number, effect: Effect, before: JsonObject, after: JsonObject | undefined): void => {
        const count = counts[statement] as EffectCounts
        if (effect === "unmet") return
        count[effect]++
        if (effect !== "changed" && effect !== "deleted") return
        if (samples.filter((sample) => sample.statement === statement).length >= job.samples) return
        // An object that is nested this deeply can be neither read by people nor written.
        if (isDeeper(before, MAX_DEPTH)) return
        const differences = after === undefined ? [] : differencesBetween(before, after)
        samples.push({ statement, subject: subjectOf(before), time, differences })
      }
      const from = batch.from[index] as number
      const after =
        happenings[index] === APPLIED
          ? run(object, time, onEffect, from)
          : afterDeletion(run, object, happenings[index] === DELETED, { time, onEffect, from })
      if (after === undefined) outcomes[index] = DROPPED
      else if (after !== object) {
        outcomes[index] = CHANGED
        const text = Buffer.from(formatExactJson(after))
        pieces.push(text)
        used += text.length
        identities.set(index, identityOf(after))
        if (job.wantsHashes && happenings[index] === APPLIED) hashes.set(index, simkubeHash(after.spec))
      }
      outEnds[index] = used
    } catch (error) {
      failure = failureOf(error, index)
      break
    }
  }
  const objects = joined(pieces, used)
  return { outcomes, objects, ends: outEnds, identities, hashes, counts, samples, failure }
}

const parsed = (bytes: Uint8Array): JsonObject => {
  const object = parseExactJson(bytes)
  if (!isJsonObject(object)) throw new NotAnObject()
  return object
}

class NotAnObject extends Error {
  override readonly message = "it is not a JSON object"
}

const failureOf = (error: unknown, object: number): BatchFailure => {
  if (error instanceof CommandFailed) return { object, at: error.at, detail: error.message }
  return { object, at: undefined, detail: error instanceof Error ? error.message : String(error) }
}

/**
 * Whether a deletion stays is decided by what it is the deletion of, and by its time: SimKube's traces have no more of it, and conditions on the last state
 * would leave objects alive that the program keeps. Its last state becomes what a state would become, but for `delete`.
 */
const afterDeletion = (
  run: RunProgram,
  object: JsonObject,
  hasState: boolean,
  {
    time,
    onEffect,
    from,
  }: { readonly time: number; readonly onEffect: Parameters<RunProgram>[2]; readonly from: number },
): JsonObject | undefined => {
  const stub = hasState ? stubOf(object) : object
  let isDropped = false
  const after = run(
    stub,
    time,
    (...effect) => {
      if (effect[1] === "deleted") {
        isDropped = true
        onEffect(...effect)
      } else if (!hasState) onEffect(...effect)
    },
    from,
    "identity",
  )
  if (isDropped || after === undefined) return undefined
  if (!hasState) return after === stub ? object : after
  return run(object, time, onEffect, from, "last state")
}

const stubOf = ({ apiVersion, kind, metadata }: JsonObject): JsonObject => {
  const { namespace, name, uid } = isJsonObject(metadata) ? metadata : {}
  const known = {
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(uid !== undefined && { uid }),
  }
  return { ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }), metadata: known }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const identityOf = ({ apiVersion, kind, metadata }: JsonObject): Identity => {
  const { namespace, name, uid } = isJsonObject(metadata) ? metadata : {}
  const isKnown = typeof apiVersion === "string" && typeof kind === "string"
  return {
    gvk: isKnown ? `${apiVersion}.${kind}` : undefined,
    ...{ namespace: textOf(namespace), name: textOf(name), uid: textOf(uid) },
  }
}

const subjectOf = ({ kind, metadata }: JsonObject): string => {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {}
  const place = [textOf(namespace), textOf(name)].filter((part) => part !== "").join("/")
  return `${textOf(kind) || "object"} ${place}`
}
