/** The rows of a chart's panels: their names, places and colours. Pure. */
import { type Measure, otherSubjects, qualifiedNames } from "../table.ts"

/** Anything that JSON can hold. */
export type Specification = { readonly [key: string]: unknown }

export const width = 640
export const barHeight = 9
/** A row's name has a line of its own above its bars, so that names take no width from them. */
export const nameHeight = 15
const rowGap = 5
const indentWidth = 14
const fontSize = 11

export const subjects = { ours: "ours", ...otherSubjects } as const
export type Subject = keyof typeof subjects
export const subjectKeys = Object.keys(subjects) as ReadonlyArray<Subject>
/** Distinguishable for colour-blind readers: they also differ in lightness. */
const colours: Readonly<Record<Subject, string>> = {
  ours: "#1f5fa8",
  nullReader: "#9aa5b1",
  informer: "#e8a33d",
  controllerRuntime: "#6b2d5c",
  peer: "#8fbf6f",
}
export const boundKinds = ["must", "aim"] as const
export const boundNames = { must: "budget: must", aim: "budget: aim" } as const
const boundColours = { must: "#c0392b", aim: "#27864a" } as const

/** What a colour of the bars' panels is for. */
export type Legend = { readonly domain: ReadonlyArray<string>; readonly range: ReadonlyArray<string> }

/** A measure of which something was measured; `path` is its name and those of the rows that it is indented under. */
export interface Row extends Measure {
  readonly path: ReadonlyArray<string>
}

export const measured = (values: ReadonlyArray<number> | undefined): ReadonlyArray<number> =>
  (values ?? []).filter(Number.isFinite)

export const rowsOf = (measures: ReadonlyArray<Measure>): ReadonlyArray<Row> => {
  const names = qualifiedNames(measures)
  return measures
    .map((measure, index) => ({ ...measure, path: (names[index] ?? measure.name).split(" – ") }))
    .filter((row) => subjectKeys.some((subject) => measured(row[subject]).length > 0))
}

export const legendOf = (rows: ReadonlyArray<Row>, names: Readonly<Record<Subject, string>>): Legend => {
  const present = subjectKeys.filter((subject) => rows.some((row) => measured(row[subject]).length > 0))
  const bounds = boundKinds.filter((kind) => rows.some((row) => row[kind] !== undefined))
  return {
    domain: [...present.map((subject) => names[subject]), ...bounds.map((kind) => boundNames[kind])],
    range: [...present.map((subject) => colours[subject]), ...bounds.map((kind) => boundColours[kind])],
  }
}

export const explanationOf = (rows: ReadonlyArray<Row>): string =>
  rows.some((row) => subjectKeys.some((subject) => measured(row[subject]).length > 1))
    ? "bars and figures: medians of the rounds; thin lines: from the smallest to the largest"
    : "one round"

/** The names of rows as they are shown below each other: what the row above says already is left out, and indents. */
export const shownNames = (
  paths: ReadonlyArray<ReadonlyArray<string>>,
): ReadonlyArray<{ text: string; indent: number }> => {
  const above: string[][] = []
  return paths.map((path) => {
    while (above.length > 0 && !isBelow(path, above.at(-1) ?? [])) above.pop()
    const shown = { text: path.slice(above.at(-1)?.length ?? 0).join(" – "), indent: above.length }
    above.push([...path])
    return shown
  })
}

const isBelow = (path: ReadonlyArray<string>, parent: ReadonlyArray<string>): boolean =>
  path.length > parent.length && parent.every((name, index) => path[index] === name)

/** px from the top of a panel: for each row its name, then lines of bars. */
export const placeRows = (lines: ReadonlyArray<number>) => {
  let top = 0
  const tops = lines.map((count) => {
    const own = top
    top += nameHeight + count * barHeight + rowGap
    return own
  })
  return { tops, height: top }
}

/** Positions are px, so that a row is as high as what was measured of it. */
export const pixels = (height: number) => ({
  type: "quantitative",
  axis: null,
  scale: { domain: [height, 0], nice: false },
})

export const nameLayers = (
  names: ReadonlyArray<{ text: string; indent: number }>,
  tops: ReadonlyArray<number>,
  y: object,
): ReadonlyArray<Specification> => {
  const placed = names.map((name, index) => ({ ...name, y: (tops[index] ?? 0) + nameHeight - 3 }))
  return [...new Set(names.map(({ indent }) => indent))].map((indent) => ({
    data: { values: placed.filter((name) => name.indent === indent) },
    mark: { type: "text", align: "left", baseline: "bottom", fontSize, limit: width },
    encoding: { text: { field: "text" }, x: { value: indent * indentWidth }, y: { field: "y", ...y } },
  }))
}
