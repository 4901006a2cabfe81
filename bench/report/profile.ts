/**
 * Reports where the time in CPU profiles was spent: the functions with the most self time of each thread, with the names and files of the
 * sources, which the bundles' source maps know.
 */
import { existsSync, readFileSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { SourceMap, type SourceMapPayload } from "node:module"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

/** Threads shown, the busiest first, and functions of each. */
const shownThreads = 3
const shown = 25

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

/** The part of Node's --cpu-prof files that is read here. Times in µs. */
interface CpuProfile {
  readonly nodes: ReadonlyArray<{ readonly id: number; readonly callFrame: Frame }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

/** A text for people; one paragraph for each of the busiest threads. */
export const summariseProfiles = async (directory: string): Promise<string> => {
  const files = (await readdir(directory)).filter((file) => file.endsWith(".cpuprofile"))
  const summaries = await Promise.all(
    files.map(async (file) => summarise(file, JSON.parse(await readFile(join(directory, file), "utf8")) as CpuProfile)),
  )
  const busiest = summaries.toSorted((left, right) => right.busyMicros - left.busyMicros).slice(0, shownThreads)
  return [`profiles in ${directory}`, ...busiest.map(({ text }) => text)].join("\n\n")
}

const summarise = (file: string, profile: CpuProfile): { readonly busyMicros: number; readonly text: string } => {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const microsByPlace = new Map<string, number>()
  const microsByScript = new Map<string, number>()
  let busy = 0
  for (const [index, sample] of profile.samples.entries()) {
    const micros = profile.timeDeltas[index] ?? 0
    const frame = frames.get(sample)
    if (frame === undefined || frame.functionName === "(idle)" || micros < 0) continue
    busy += micros
    const place = placeOf(frame)
    microsByPlace.set(place, (microsByPlace.get(place) ?? 0) + micros)
    if (frame.url.startsWith("file:")) microsByScript.set(frame.url, (microsByScript.get(frame.url) ?? 0) + micros)
  }
  const [script = file] = [...microsByScript].toSorted(([, left], [, right]) => right - left).map(([url]) => url)
  const lines = [...microsByPlace]
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, shown)
    .map(([place, micros]) => `${((micros / busy) * 100).toFixed(1).padStart(6)} %  ${place}`)
  return {
    busyMicros: busy,
    text: [`${file}, mostly ${script}: busy ${(busy / 1e6).toFixed(2)} s`, ...lines].join("\n"),
  }
}

const placeOf = ({ functionName, url, lineNumber, columnNumber }: Frame): string => {
  if (!url.startsWith("file:")) return `${functionName || "(native)"} ${url}`.trimEnd()
  const path = fileURLToPath(url)
  const source = sourceMapOf(path)?.findOrigin(lineNumber + 1, columnNumber + 1)
  if (source === undefined || !("fileName" in source)) return `${functionName} ${relative(process.cwd(), path)}`
  const name = functionName === "" ? "(anonymous)" : functionName
  return `${name} ${relative(process.cwd(), fileURLToPath(new URL(source.fileName, url)))}:${source.lineNumber}`
}

const sourceMaps = new Map<string, SourceMap | undefined>()

const sourceMapOf = (path: string): SourceMap | undefined => {
  if (!sourceMaps.has(path)) {
    const file = `${path}.map`
    const map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, "utf8")) as SourceMapPayload) : undefined
    sourceMaps.set(path, map)
  }
  return sourceMaps.get(path)
}
