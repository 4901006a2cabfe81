/** The README's table of figures, out of the last results: every figure is the median of a measure that is kept in bench/results/. Pure. */
import type { ScenarioResult } from "./results.ts"
import { median } from "./statistics.ts"
import { formatAsMarkdown, formatNumber, type Measure, qualifiedNames } from "./table.ts"

/** Where a figure is from: the name of a file in bench/results/ without `.json`, and of one of its measures. */
interface Figure {
  readonly title: string
  readonly result: string
  readonly measure: string
  /** Those that did something else in this measure. */
  readonly without?: ReadonlyArray<"informer">
}

/** The scenario with SimKube's tracer as a peer, so that all three are of one run. */
const besideTracer = "sk-tracer-2.7.0/ingest"

const figures: ReadonlyArray<Figure> = [
  {
    title: "CPU per change of a Deployment, whole process",
    result: besideTracer,
    measure: "CPU per event, whole process",
  },
  { title: "changes a second, as fast as they are read", result: besideTracer, measure: "sustained" },
  { title: "peak memory meanwhile", result: besideTracer, measure: "largest resident memory" },
  // The informers took fewer changes.
  {
    title: "peak memory during nine million changes",
    result: "memory",
    measure: "largest along 9 million changes",
    without: ["informer"],
  },
  { title: "start with 100,000 Pods: CPU", result: "start", measure: "CPU until ready, streamed" },
  { title: "start with 100,000 Pods: peak memory", result: "start", measure: "peak, streamed" },
  {
    title: "socket to disk at 1,000 changes a second, p99",
    result: "ingest",
    measure: "socket → commit at 1,000 events/s, p99",
  },
  { title: "100,000 events of 2.9 kB exported as NDJSON", result: "export", measure: "2.9 kB as ndjson: time" },
  { title: "the same in SimKube's format", result: "export", measure: "2.9 kB as simkube: time" },
]

/** The results that the table needs. */
export const figureResults: ReadonlyArray<string> = [...new Set(figures.map(({ result }) => result))]

const begin = "<!-- figures: written by npm run bench and npm run bench:redraw -->"
const end = "<!-- end of figures -->"

/** The table and the machines. @throws Error if a measure is not in its result. */
export const figuresAsMarkdown = (results: ReadonlyMap<string, ScenarioResult>): string => {
  const machines: string[] = []
  const rows = figures.map(({ title, result: name, measure: measureName, without = [] }) => {
    const result = results.get(name)
    if (result === undefined) throw new Error(`bench/results/${name}.json is missing, which the README's table needs`)
    const names = qualifiedNames(result.measures)
    const measure = result.measures[names.indexOf(measureName)]
    if (measure === undefined) throw new Error(`bench/results/${name}.json has no measure "${measureName}"`)
    if (!machines.includes(result.machine)) machines.push(result.machine)
    const informer = without.includes("informer") ? undefined : measure.informer
    return [
      title,
      formatFigure(measure, measure.ours),
      formatFigure(measure, informer),
      formatFigure(measure, measure.peer),
      `[${name}](bench/results/${name}.md)`,
      `${result.date}, ${result.commit}`,
      letterOf(machines.indexOf(result.machine)),
    ]
  })
  const head = ["", "kubereel", "client-node's informer", "SimKube 2.7's tracer", "scenario", "measured", "machine"]
  const legend = machines.map((machine, index) => `${letterOf(index)}: ${machine}.`)
  return `${formatAsMarkdown([head, ...rows])}\n\n${legend.join("\n")}`
}

const letterOf = (index: number): string => String.fromCharCode("A".charCodeAt(0) + index)

const formatFigure = ({ unit, digits }: Measure, values: ReadonlyArray<number> | undefined): string => {
  if (values === undefined || values.length === 0) return "–"
  const figure = formatNumber(median(values), digits)
  return unit === "events/s" ? figure : `${figure} ${unit}`
}

/** The page with the table between its markers replaced. @throws Error without markers. */
export const withFigures = (page: string, table: string): string => {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`README.md lacks "${begin}" or "${end}"`)
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`
}
