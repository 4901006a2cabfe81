/**
 * Runs a program on many objects at once: what a thread is given, and what it returns. It keeps nothing, so that batches may be run in any order by any
 * thread.
 */
import type { Action } from "../event.ts"
import { simkubeHash } from "../formats/simkube/hash/simkube-hash.ts"
import { differencesBetween, type FieldDifference } from "../json/difference.ts"
import { formatExactJson, isJsonObject, type JsonObject, MAX_DEPTH, parseExactJson } from "../json/exact-json.ts"
import { isDeeper, memberIn, textIn } from "../json/members.ts"
import type { Program } from "./language/program.ts"
import { CommandFailed, type Effect, type Given, type OnEffect, type RunProgram, runnerOf } from "./run-program.ts"

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

export interface BatchedObject {
  /** With memory of its own. Of a deletion without a last state (`vanished`) it has nothing but the object's identity. */
  readonly json: Uint8Array
  /** µs since the Unix epoch. */
  readonly time: number
  readonly action: Action
  /** The command to begin with. */
  readonly from: number
}

export interface ObjectBatch {
  readonly job: BatchJob
  readonly objects: ReadonlyArray<BatchedObject>
}

/** How often a command did what. */
export type EffectCounts = Record<Effect, number>

/** One example of what a command does. */
export interface TransformSample {
  readonly statement: number
  /** As in messages: `Deployment shop/web`. */
  readonly subject: string
  readonly time: number
  /** Empty: the object is deleted. */
  readonly differences: ReadonlyArray<FieldDifference>
}

/** What the program makes of an object. */
export type Outcome =
  | { readonly tag: "same" | "dropped" }
  | {
      readonly tag: "changed"
      readonly json: Uint8Array
      /** What it is afterwards; `undefined` where the object itself does not say it. */
      readonly gvk: string | undefined
      readonly namespace: string
      readonly name: string
      readonly uid: string
      /** Of its spec; absent if it is not wanted. */
      readonly hash: bigint | undefined
    }
  /** The last one of its batch. `at`: in the program's text; absent: it is the object's own fault. */
  | { readonly tag: "failed"; readonly at: number | undefined; readonly detail: string }

export interface TransformedBatch {
  /** By object. */
  readonly outcomes: ReadonlyArray<Outcome>
  /** By command. */
  readonly counts: ReadonlyArray<EffectCounts>
  readonly samples: ReadonlyArray<TransformSample>
}

/** Runners by their job: compiling a program's patterns for each batch would cost more than running it. */
let latest: { readonly key: string; readonly run: RunProgram } | undefined

const runnerFor = ({ program, start }: BatchJob): RunProgram => {
  const key = JSON.stringify([start, program])
  if (latest?.key !== key) latest = { key, run: runnerOf(program, start) }
  return latest.run
}

/** No commands' effects yet. */
export const noCounts = (program: Program): Array<EffectCounts> =>
  program.map(() => ({ kept: 0, changed: 0, deleted: 0, lacking: 0, placeless: 0 }))

/** The batch after the program. Never throws for what a program or an object is. */
export const runBatch = ({ job, objects }: ObjectBatch): TransformedBatch => {
  const run = runnerFor(job)
  const outcomes: Outcome[] = []
  const counts = noCounts(job.program)
  const samples: TransformSample[] = []
  for (const { json, time, action, from } of objects) {
    const onEffect: OnEffect = (statement, effect, before, after) => {
      const count = counts[statement]
      if (count !== undefined) count[effect]++
      if (effect !== "changed" && effect !== "deleted") return
      if (samples.filter((sample) => sample.statement === statement).length >= job.samples) return
      // An object that is nested this deeply can be neither read by people nor written.
      if (isDeeper(before, MAX_DEPTH)) return
      const differences = after === undefined ? [] : differencesBetween(before, after)
      samples.push({ statement, subject: subjectOf(before), time, differences })
    }
    const runOn: RunOn = (object, given, on = onEffect) => run(object, time, on, from, given)
    try {
      const object = parseExactJson(json)
      if (!isJsonObject(object)) throw new Error("it is not a JSON object")
      const after = action === "applied" ? runOn(object, "state") : afterDeletion(object, action, { runOn, onEffect })
      if (after === object) outcomes.push({ tag: "same" })
      else if (after === undefined) outcomes.push({ tag: "dropped" })
      else outcomes.push(changed(after, job.wantsHashes && action === "applied"))
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      outcomes.push({ tag: "failed", at: error instanceof CommandFailed ? error.at : undefined, detail })
      break
    }
  }
  return { outcomes, counts, samples }
}

type RunOn = (object: JsonObject, given: Given, onEffect?: OnEffect) => JsonObject | undefined

/**
 * Whether a deletion stays is decided by what it is the deletion of, and by its time: SimKube's traces have no more of it, and conditions on the last state
 * would leave objects alive that the program keeps. Its last state becomes what a state would become, but for `delete`.
 */
const afterDeletion = (
  object: JsonObject,
  action: "deleted" | "vanished",
  { runOn, onEffect }: { readonly runOn: RunOn; readonly onEffect: OnEffect },
): JsonObject | undefined => {
  if (action === "vanished") return runOn(object, "identity")
  const after = runOn(stubOf(object), "identity", (...effect) => {
    if (effect[1] === "deleted") onEffect(...effect)
  })
  return after && runOn(object, "last state")
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

const encoder = new TextEncoder()

const changed = (object: JsonObject, wantsHash: boolean): Outcome => {
  const { apiVersion, kind, metadata, spec } = object
  const isKnown = typeof apiVersion === "string" && typeof kind === "string"
  return {
    ...{
      tag: "changed",
      json: encoder.encode(formatExactJson(object)),
      hash: wantsHash ? simkubeHash(spec) : undefined,
    },
    ...{ gvk: isKnown ? `${apiVersion}.${kind}` : undefined, namespace: textIn(metadata, "namespace") },
    ...{ name: textIn(metadata, "name"), uid: textIn(metadata, "uid") },
  }
}

const subjectOf = (object: JsonObject): string => {
  const metadata = memberIn(object, "metadata")
  const place = ["namespace", "name"].map((name) => textIn(metadata, name)).filter((part) => part !== "")
  return `${textIn(object, "kind") || "object"} ${place.join("/")}`
}
