/**
 * Recorded watches on disk: one `<plural>.watch` file per kind, each line `<seconds>.<micros> <watch line>`, with the time at which the
 * line was received. Lines are kept byte for byte; only what is needed to find and select them is parsed.
 */

import { readdir, readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import {
  builtinResources,
  type Change,
  type ChangeRecord,
  type ChangeType,
  keyOf,
  type Resource,
} from "../../src/apiserver/index.ts"
import { formatGvk, type GroupVersionKind } from "../../src/kube/offline.ts"
import { messageOf } from "../../src/message-of.ts"

/** Recorded watches that cannot be read. `line` counts from 1; 0 means the file or directory as a whole. */
export class RecordingError extends Error {
  /** Path as given, or the file's name. */
  readonly file: string
  /** From 1; 0 for the file as a whole. */
  readonly line: number
  readonly problem: string

  constructor({ file, line, problem }: { readonly file: string; readonly line: number; readonly problem: string }) {
    super(`${file}${line === 0 ? "" : `:${line}`}: ${problem}`)
    this.file = file
    this.line = line
    this.problem = problem
  }
}

export interface RecordedLine {
  /** Receive time, µs since the Unix epoch (an integer below 2^53). */
  readonly time: number
  /** The line without its time, line feed included. */
  readonly bytes: Buffer
  readonly type: string
  /** Version of the object, or of the bookmark. */
  readonly revision: bigint
  /** Absent for lines that are not a change of an object: bookmarks and errors. */
  readonly record: ChangeRecord | undefined
  /** The bookmark that ends the initial events. */
  readonly initialEventsEnd: boolean
}

export interface RecordedKind {
  readonly resource: Resource
  readonly lines: ReadonlyArray<RecordedLine>
}

/** Every `.watch` file of a directory. Throws {@link RecordingError}. */
export const readRecording = async (directory: string): Promise<ReadonlyArray<RecordedKind>> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".watch")).sort()
  if (names.length === 0) throw new RecordingError({ file: directory, line: 0, problem: "holds no .watch file" })
  return Promise.all(
    names.map(async (name) => parseRecording(join(directory, name), await readFile(join(directory, name)))),
  )
}

/** One file; its name gives the plural, its lines the kind. Throws {@link RecordingError}. */
export const parseRecording = (file: string, bytes: Buffer): RecordedKind => {
  const lines: RecordedLine[] = []
  const states = new Map<string, Change>()
  let gvk: GroupVersionKind | undefined
  let namespaced = false
  let number = 0
  for (const line of linesOf(bytes)) {
    number++
    const parsed = parseLine(line)
    if (typeof parsed === "string") throw new RecordingError({ file, line: number, problem: parsed })
    gvk ??= parsed.gvk
    if (formatGvk(parsed.gvk) !== formatGvk(gvk)) {
      const problem = `${formatGvk(parsed.gvk)} among lines of ${formatGvk(gvk)}`
      throw new RecordingError({ file, line: number, problem })
    }
    const { change, ...rest } = parsed
    if (change !== undefined) namespaced ||= change.namespace !== ""
    lines.push({ ...rest, record: change === undefined ? undefined : recordOf(change, states) })
  }
  if (gvk === undefined) throw new RecordingError({ file, line: 0, problem: "holds no line" })
  return { resource: resourceOf(gvk, basename(file, ".watch"), namespaced), lines }
}

const recordOf = (change: Change, states: Map<string, Change>): ChangeRecord => {
  const key = keyOf(change.namespace, change.name)
  const previous = states.get(key)
  if (change.type === "DELETED") states.delete(key)
  else states.set(key, change)
  return { change, previous }
}

/** A known kind is served as defined; any other is treated as a custom resource. */
const resourceOf = (gvk: GroupVersionKind, plural: string, namespaced: boolean): Resource =>
  builtinResources.find((known) => formatGvk(known.gvk) === formatGvk(gvk)) ?? { gvk, plural, namespaced, custom: true }

function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0x0a, start)
    if (end < 0) {
      yield Buffer.concat([bytes.subarray(start), Buffer.from("\n")])
      return
    }
    yield bytes.subarray(start, end + 1)
    start = end + 1
  }
}

type ParsedLine = Omit<RecordedLine, "record"> & {
  readonly gvk: GroupVersionKind
  readonly change: Change | undefined
}

/** The part of an object that a server needs; in a file anything may be missing. */
interface Head {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: {
    readonly uid?: string
    readonly name?: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly resourceVersion?: string
  }
}

const changeTypes: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED"] satisfies ChangeType[])

/** The line, or what is wrong with it. */
const parseLine = (line: Buffer): ParsedLine | string => {
  const prefix = /^(\d{1,10})\.(\d{6}) (\{\s*"type"\s*:\s*"([A-Z]+)"\s*,\s*"object"\s*:\s*)\{/.exec(
    line.toString("latin1", 0, 256),
  )
  if (prefix === null) return "is not <seconds>.<micros> followed by a watch event"
  const [, seconds = "", micros = "", open = "", type = ""] = prefix
  const bytes = line.subarray(seconds.length + micros.length + 2)
  const objectEnd = bytes.lastIndexOf("}")
  const head = parseHead(bytes.toString("utf8", open.length, objectEnd))
  if (typeof head === "string") return head
  const { apiVersion = "", kind = "", metadata = {} } = head
  const { uid = "", name = "", namespace = "", labels, annotations, resourceVersion = "" } = metadata
  if (apiVersion === "" || kind === "") return "its object has no apiVersion or no kind"
  if (!/^\d{1,20}$/.test(resourceVersion))
    return `its resourceVersion is ${JSON.stringify(resourceVersion)}, not a number`
  const revision = BigInt(resourceVersion)
  const isChange = changeTypes.has(type)
  if (isChange && (uid === "" || name === "")) return "its object has no uid or no name"
  const fields = { uid, name, namespace, labels, revision, line: bytes, objectStart: open.length, objectEnd }
  return {
    time: Number(seconds) * 1_000_000 + Number(micros),
    bytes,
    type,
    revision,
    initialEventsEnd: type === "BOOKMARK" && annotations?.["k8s.io/initial-events-end"] === "true",
    gvk: gvkOf(apiVersion, kind),
    change: isChange ? { ...fields, type: type as ChangeType } : undefined,
  }
}

const parseHead = (json: string): Head | string => {
  try {
    return JSON.parse(json) as Head
  } catch (error) {
    return `its object is not JSON: ${messageOf(error)}`
  }
}

const gvkOf = (apiVersion: string, kind: string): GroupVersionKind => {
  const slash = apiVersion.indexOf("/")
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1), kind }
}
