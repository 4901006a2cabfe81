/** The objects that a program inserts, in the order of their times. */
import type { ObjectEvent } from "../event.ts"
import { formatExactJson, isJsonObject, type JsonObject } from "../json/exact-json.ts"
import { onlyValue } from "./expressions.ts"
import { momentsFrom } from "./language/moments.ts"
import type { Program } from "./language/program.ts"
import { TransformFailed } from "./transform-failed.ts"

/** An object, and when it appears. */
export interface Insertion {
  readonly event: ObjectEvent
  /** The command behind the insertion: those before it do not concern the object. */
  readonly from: number
}

/** When a trace begins and ends, µs since the Unix epoch. */
export interface TraceSpan {
  readonly start: number
  /** Exclusive; absent: it is not known before the end. */
  readonly end?: number | undefined
}

/** `start` absent: the trace has no moment. */
interface Span {
  readonly start: number | undefined
  readonly end: number | undefined
}

/** @throws TransformFailed if a time is outside of the trace */
export const insertionsOf = (program: Program, { start, end }: TraceSpan): ReadonlyArray<Insertion> => {
  const momentOf = momentsFrom(start)
  const insertions: Insertion[] = []
  for (const [statement, command] of program.entries()) {
    if (command.type !== "insert") continue
    const time = momentOf(command.time)
    if (time < start || (end !== undefined && time >= end)) throw outside(command.time.at, time, { start, end })
    const object = onlyValue(command.object, { object: {}, time, bindings: new Map() })
    if (isJsonObject(object)) insertions.push({ event: eventOf(object, time), from: statement + 1 })
  }
  return insertions.sort((one, other) => one.event.time - other.event.time)
}

const outside = (at: number, time: number, { start, end }: Span): TransformFailed => {
  const begins = start === undefined ? "has no moments" : `begins at ${textOf(start)}`
  const span = start === undefined || end === undefined ? begins : `is from ${textOf(start)} to ${textOf(end)}`
  return new TransformFailed({ at, subject: "", detail: `${textOf(time)} is outside of the trace, which ${span}` })
}

/** Why an insertion that is behind the end of the trace cannot be carried out. */
export const insertionOutside = (program: Program, { event, from }: Insertion, span: Span): TransformFailed => {
  const command = program[from - 1]
  return outside(command?.type === "insert" ? command.time.at : 0, event.time, span)
}

/** The kinds of what is inserted. */
export const insertedKinds = (program: Program): ReadonlyArray<string> =>
  // Their times are not needed, so any beginning will do.
  insertionsOf(
    program.map((command) => (command.type === "insert" ? { ...command, time: anyTime } : command)),
    {
      start: 0,
    },
  ).map(({ event }) => event.gvk)

const anyTime = { at: 0, text: "0", unit: "s" } as const

const textOf = (micros: number): string => new Date(micros / 1000).toISOString()

/** The program was checked: the object has a version, a kind and a name. */
const eventOf = (object: JsonObject, time: number): ObjectEvent => {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {}
  const text = (name: string): string => (typeof metadata[name] === "string" ? metadata[name] : "")
  return {
    ...{ type: "object", sequence: 0, time, gvk: `${object.apiVersion}.${object.kind}`, action: "applied" },
    ...{ uid: text("uid"), namespace: text("namespace"), name: text("name"), resourceVersion: text("resourceVersion") },
    object: Buffer.from(formatExactJson(object)),
  }
}
