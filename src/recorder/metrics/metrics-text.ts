/** The Prometheus text exposition format, version 0.0.4, for gauges and counters. */

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric {
  /** Snake case with unit, `kubereel_kind_objects_total`. */
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge"
  readonly samples: ReadonlyArray<Sample>
}

/** The content type that scrapers negotiate for this format. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8"

export const formatMetrics = (metrics: Iterable<Metric>): string => {
  const lines: Array<string> = []
  for (const { name, help, type, samples } of metrics) {
    if (samples.length === 0) continue
    lines.push(`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`)
    for (const sample of samples) lines.push(`${name}${formatLabels(sample.labels)} ${formatValue(sample.value)}`)
  }
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`
}

const formatLabels = (labels: Readonly<Record<string, string>> | undefined): string => {
  const pairs = Object.entries(labels ?? {})
  if (pairs.length === 0) return ""
  return `{${pairs.map(([name, value]) => `${name}="${escapeLabel(value)}"`).join(",")}}`
}

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

const formatValue = (value: number): string =>
  Number.isFinite(value) ? String(value) : Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"
