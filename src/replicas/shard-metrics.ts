/** The metrics of the recorders of several shards as those of one process: each sample gets the label `shard`. */
import type { Metric, Sample } from "../recorder/index.ts"

/** Metrics of one recorder, in the text format that the recorder writes. */
export interface ShardMetrics {
  readonly shard: number
  readonly text: string
}

interface Family extends Metric {
  readonly samples: Sample[]
}

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter))

const labelsOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [
      name,
      unescaped(value),
    ]),
  )

/** All samples of one name together, as the format demands. Lines that are no sample, help or type are left out. */
export const shardMetrics = (all: ReadonlyArray<ShardMetrics>): ReadonlyArray<Metric> => {
  const families = new Map<string, Family>()
  for (const { shard, text } of all) {
    let help = ""
    for (const line of text.split("\n")) {
      const [, about, of = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
      if (about === "HELP") help = unescaped(rest)
      if (about === "TYPE" && !families.has(of))
        families.set(of, { name: of, help, type: rest === "counter" ? "counter" : "gauge", samples: [] })
      const [, name = "", labels = "", value = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      families
        .get(name)
        ?.samples.push({ labels: { shard: String(shard), ...labelsOf(labels) }, value: numberOf(value) })
    }
  }
  return [...families.values()]
}

const numberOf = (text: string): number =>
  /^[+-]Inf$/.test(text) ? Number(text.replace("Inf", "Infinity")) : Number(text)
