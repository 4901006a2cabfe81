/** Reads the golden pairs of test/data: what an API server sent, and what SimKube 2.7.0 exported from it. */

import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { TrackedObjects } from "../../src/trace/index.ts"

const PATHS = new URL("../data/", import.meta.url)

export type RecordingName = "recording" | "recording-2"

/** One line of a `.watch` file that carries an object. */
export interface WatchLine {
  /** µs since the Unix epoch. */
  readonly time: number
  readonly gvk: string
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** The object's JSON as the server sent it. */
  readonly object: Uint8Array
}

/** The trace that SimKube's tracer exported. */
export const goldenTrace = (recording: RecordingName): Uint8Array =>
  readFileSync(new URL(`${recording}/simkube-2.7.sktrace`, PATHS))

/** Every watch line with an object, of the tracked kinds, in order of time. */
export const watchLines = (recording: RecordingName, trackedObjects: TrackedObjects): WatchLine[] => {
  const directory = new URL(`${recording}/`, PATHS)
  const lines: WatchLine[] = []
  for (const file of readdirSync(fileURLToPath(directory))) {
    if (!file.endsWith(".watch")) continue
    for (const line of readFileSync(new URL(file, directory), "utf8").trimEnd().split("\n")) {
      const [, seconds = "", micros = "", type, object = ""] =
        /^(\d+)\.(\d{6}) \{"type":"(\w+)","object":(.*)\}$/.exec(line) ?? []
      if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") continue
      const { apiVersion, kind } = JSON.parse(object) as { apiVersion: string; kind: string }
      const gvk = `${apiVersion}.${kind}`
      if (!trackedObjects.has(gvk)) continue
      lines.push({ time: Number(seconds) * 1_000_000 + Number(micros), gvk, type, object: Buffer.from(object) })
    }
  }
  return lines.sort((left, right) => left.time - right.time)
}
