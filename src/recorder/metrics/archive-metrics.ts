/** How far the recording is in its stream, as metrics. */
import type { ArchiveFigures } from "../export/recording.ts"
import type { Metric } from "./metrics-text.ts"

const series: ReadonlyArray<readonly [string, Metric["type"], string, (of: ArchiveFigures) => number]> = [
  ["lag_seconds", "gauge", "Seconds since everything that had been recorded was archived.", (of) => of.lagSeconds],
  [
    "failing",
    "gauge",
    "1 while nothing can be archived; the log says why.",
    (of) => (of.trouble === undefined ? 0 : 1),
  ],
  ["segments_total", "counter", "Segments that this process has archived.", (of) => of.segments],
  ["segment", "gauge", "Number of the last archived segment.", (of) => of.segment],
  ["epoch", "gauge", "How many recorders have written the stream one after the other.", (of) => of.epoch],
]

/** None of a recording that is not archived. */
export const archiveMetrics = (figures: ArchiveFigures | undefined): ReadonlyArray<Metric> =>
  figures === undefined
    ? []
    : series.map(([name, type, help, value]) => ({
        ...{ name: `kubereel_archive_${name}`, type, help, samples: [{ value: value(figures) }] },
      }))
