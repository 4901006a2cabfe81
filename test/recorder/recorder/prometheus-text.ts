/**
 * A strict reader of Prometheus' text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/), to check the output of
 * `/metrics`. It shares no code with the writer and throws on everything that a scraper may reject.
 */

export interface ParsedSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const name = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const helpLine = new RegExp(`^# HELP (${name}) ((?:[^\\\\]|\\\\\\\\|\\\\n)+)$`)
const typeLine = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram|summary|untyped)$`)
const sampleLine = new RegExp(`^(${name})(?:\\{(.*)\\})? ([^ ]+)$`, "s")
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/y

const readLabels = (text: string): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {}
  label.lastIndex = 0
  while (label.lastIndex < text.length) {
    const [, key = "", value = ""] = label.exec(text) ?? []
    if (key === "") throw new Error(`not labels: ${text}`)
    if (Object.hasOwn(labels, key)) throw new Error(`label ${key} twice: ${text}`)
    labels[key] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
  }
  if (text.endsWith(",")) throw new Error(`a comma without a label: ${text}`)
  return labels
}

const readValue = (text: string): number => {
  if (text === "+Inf") return Number.POSITIVE_INFINITY
  if (text === "-Inf") return Number.NEGATIVE_INFINITY
  if (text === "NaN") return Number.NaN
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) throw new Error(`not a number: ${text}`)
  return Number(text)
}

/** Every sample. Throws on the first violation of the format. */
export const parsePrometheusText = (text: string): ReadonlyArray<ParsedSample> => {
  if (!text.endsWith("\n")) throw new Error("the last line does not end")
  const samples: ParsedSample[] = []
  const seen = new Set<string>()
  const families = new Set<string>()
  let family = ""
  let type = ""
  for (const line of text.slice(0, -1).split("\n")) {
    const help = helpLine.exec(line)
    const typed = typeLine.exec(line)
    if (help !== null) {
      family = help[1] ?? ""
      type = ""
      if (families.has(family)) throw new Error(`a second group of ${family}`)
      families.add(family)
    } else if (typed !== null) {
      if (typed[1] !== family || type !== "") throw new Error(`a type out of place: ${line}`)
      type = typed[2] ?? ""
    } else {
      const [, sampleName, labelText = "", value = ""] = sampleLine.exec(line) ?? []
      if (sampleName === undefined) throw new Error(`not a sample: ${line}`)
      if (sampleName !== family || type === "") throw new Error(`a sample out of its group: ${line}`)
      const sample = { name: sampleName, labels: readLabels(labelText), value: readValue(value) }
      const series = JSON.stringify([sampleName, Object.entries(sample.labels).sort()])
      if (seen.has(series)) throw new Error(`the same series twice: ${line}`)
      if (type === "counter" && !(sample.value >= 0)) throw new Error(`a counter below 0: ${line}`)
      seen.add(series)
      samples.push(sample)
    }
  }
  return samples
}
