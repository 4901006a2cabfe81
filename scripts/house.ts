/**
 * How large the house is, and how well kept: a table of its rooms, and totals that may not exceed those of scripts/house.json.
 *
 * `npm run house` prints both. `npm run lint` includes `--check`, which fails if a total does. `--write` records the present totals; a commit in which one
 * rises says why.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { isDoor, roomOf } from "./layers.ts"
import { type Counted, readSources } from "./sources.ts"

/** Exports as `FILE NAME` that no other file imports, of those in `src`; what the package exports is there for others. */
export const unusedExports = (files: ReadonlyArray<Counted>): ReadonlyArray<string> => {
  const used = new Map<string, Set<string>>()
  for (const { imports } of files)
    for (const { file, names } of imports) {
      const found = used.get(file) ?? new Set()
      for (const name of names) found.add(name)
      used.set(file, found)
    }
  return files
    .filter(({ file }) => file.startsWith("src/") && !file.startsWith("src/library/") && !file.endsWith(".d.ts"))
    .flatMap(({ file, exported }) =>
      exported
        .filter((name) => !(used.get(file)?.has(name) || used.get(file)?.has("*")))
        .map((name) => `${file} ${name}`),
    )
}

/** The folders of each room that import each other in a circle; its doors, which import all of them, aside. */
export const circles = (files: ReadonlyArray<Counted>): ReadonlyArray<ReadonlyArray<string>> => {
  const edges = new Map<string, Set<string>>()
  for (const { file, imports } of files.filter(({ file }) => !isDoor(file)))
    for (const { file: other } of imports) {
      const [from, to] = [dirname(file), dirname(other)]
      if (from === to || roomOf(file) !== roomOf(other) || !file.startsWith("src/") || !other.startsWith("src/"))
        continue
      edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  const reached = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>()
    const open = [from]
    for (let each = open.pop(); each !== undefined; each = open.pop())
      for (const next of edges.get(each) ?? [])
        if (!seen.has(next)) {
          seen.add(next)
          open.push(next)
        }
    return seen
  }
  const all = new Map([...edges.keys()].map((folder) => [folder, reached(folder)]))
  const found = new Map<string, ReadonlyArray<string>>()
  for (const [folder, from] of all) {
    if (!from.has(folder)) continue
    const circle = [...from].filter((other) => all.get(other)?.has(folder)).toSorted()
    found.set(circle.join(" "), circle)
  }
  return [...found.values()]
}

const sum = <Value>(values: ReadonlyArray<Value>, of: (value: Value) => number): number =>
  values.reduce((total, value) => total + of(value), 0)

const sizeOf = ({ code, comment, blank }: Counted): number => code + comment + blank

/** How many statements of a test import a module of another room than its own that is no door. Tests of a room's own folder may look inside. */
const pastDoors = ({ file, imports }: Counted): number =>
  imports.filter(
    ({ file: target }) => roomOf(target) !== undefined && roomOf(target) !== file.split("/")[1] && !isDoor(target),
  ).length

/** Of `src`, if nothing else is said. */
export const totalsOf = (files: ReadonlyArray<Counted>): Readonly<Record<string, number>> => {
  const inFolder = (folder: string) => files.filter(({ file }) => file.startsWith(`${folder}/`))
  const src = inFolder("src")
  return {
    lines: sum(src, sizeOf),
    "lines of comment": sum(src, ({ comment }) => comment),
    files: src.length,
    "largest file": Math.max(...src.map(sizeOf)),
    casts: sum(src, ({ casts }) => casts),
    "functions over 60 lines": sum(src, (each) => each.functionLengths.filter((length) => length > 60).length),
    "functions with more than 4 parameters": sum(src, (each) => each.parameterCounts.filter((n) => n > 4).length),
    "folders in circles": circles(files).flat().length,
    "exports that no file imports": unusedExports(files).length,
    "new AbortController": sum(src, ({ abortControllers }) => abortControllers),
    "new Promise": sum(src, ({ promises }) => promises),
    "imports of tests past a door": sum(inFolder("test"), pastDoors),
    "lines of test": sum(inFolder("test"), sizeOf),
  }
}

/** A line per room, largest first. */
const roomTable = (files: ReadonlyArray<Counted>): ReadonlyArray<Readonly<Record<string, number | string>>> =>
  [
    ...Map.groupBy(
      files.filter(({ file }) => file.startsWith("src/")),
      ({ file }) => roomOf(file) ?? ".",
    ),
  ]
    .map(([room, of]) => ({
      room,
      lines: sum(of, sizeOf),
      code: sum(of, ({ code }) => code),
      comment: sum(of, ({ comment }) => comment),
      files: of.length,
      "mean file": Math.round(sum(of, sizeOf) / of.length),
      "largest file": Math.max(...of.map(sizeOf)),
      casts: sum(of, ({ casts }) => casts),
      "in circles": circles(of).flat().length,
    }))
    .toSorted((one, other) => other.lines - one.lines)

if (import.meta.main) {
  const root = fileURLToPath(new URL("../", import.meta.url))
  const record = join(root, "scripts/house.json")
  const files = readSources(root)
  const totals = totalsOf(files)
  if (process.argv.includes("--check")) {
    const allowed = JSON.parse(readFileSync(record, "utf8")) as Record<string, number>
    for (const [name, total] of Object.entries(totals)) {
      const limit = allowed[name] ?? 0
      if (total <= limit) continue
      console.error(`${name}: ${total}, the limit is ${limit} (scripts/house.json; npm run house)`)
      process.exitCode = 1
    }
  } else if (process.argv.includes("--write")) writeFileSync(record, `${JSON.stringify(totals, undefined, 2)}\n`)
  else if (process.argv.includes("--unused")) for (const each of unusedExports(files)) console.log(each)
  else {
    console.table(roomTable(files))
    console.table(totals)
    for (const circle of circles(files)) console.log(`a circle: ${circle.join(" ")}`)
  }
}
