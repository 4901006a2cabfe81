/**
 * Views: outputs that show a trace to another program and are never read back. They are written by the same interface as formats
 * (`TraceEncoder`), in one pass, with memory for the objects that are alive.
 */
import { withoutCompressionExtension } from "../formats/compression-names.ts"
import type { TraceEncoder } from "../formats/format.ts"
import { factsOf, formatOfFileName, type TraceFormatName } from "../formats/names.ts"

/** The name of a view and its identifying marks. */
interface ViewFacts {
  readonly name: string
  /** One line for people. */
  readonly summary: string
  /** With their dots, the preferred one first. */
  readonly extensions: ReadonlyArray<string>
  /** Whether it can be shown in a terminal. */
  readonly isText: boolean
}

/** All views. */
export const VIEWS = [
  {
    name: "perfetto",
    summary: "lives of objects, pods and containers on a time line: the trace format of the Perfetto UI",
    extensions: [".pftrace", ".perfetto-trace"],
    isText: false,
  },
  {
    name: "parquet",
    summary: "one row for each event, for DuckDB, pandas, Spark and the like",
    extensions: [".parquet"],
    isText: false,
  },
  {
    name: "otlp",
    summary:
      "OpenTelemetry spans of the lives of objects, pods and containers: requests in OTLP/JSON, one on each line",
    extensions: [".otlp.json", ".otlp.jsonl"],
    isText: true,
  },
  {
    name: "html",
    summary: "one file with the page of `reel ui` and everything that it shows, which needs no server and no network",
    extensions: [".html", ".htm"],
    isText: true,
  },
] as const satisfies ReadonlyArray<ViewFacts>

/** The name of a view. */
export type ViewName = (typeof VIEWS)[number]["name"]

/** Their names, in order. */
export const VIEW_NAMES: ReadonlyArray<ViewName> = VIEWS.map(({ name }) => name)

/** Whether the name is that of a view. */
export const isView = (name: string): name is ViewName => VIEW_NAMES.some((view) => view === name)

/** Whether the view can be shown in a terminal. */
export const isTextView = (name: ViewName): boolean => VIEWS.some((view) => view.name === name && view.isText)

/** Detects it by the end of a file's name, ignoring a compression (`day.pftrace.gz`); letter case does not matter. */
export const viewOfFileName = (file: string): ViewName | undefined => {
  const lower = withoutCompressionExtension(file).base.toLowerCase()
  return VIEWS.find(({ extensions }) => extensions.some((extension) => lower.endsWith(extension)))?.name
}

/** What a recorder exports: a trace, or the view of it that is a file for people. */
export type ExportedFormat = TraceFormatName | "html"

/** As {@link formatOfFileName}. */
export const exportedFormatOf = (file: string): ExportedFormat | undefined =>
  formatOfFileName(file) ?? (viewOfFileName(file) === "html" ? "html" : undefined)

/** Whether objects are exported as they were recorded; in other formats they are prepared for a replay. */
export const hasRecordedObjects = (format: ExportedFormat): boolean => format === "ndjson" || format === "html"

/** Of a response. */
export const mediaTypeOf = (format: ExportedFormat): string =>
  format === "html" ? "text/html; charset=utf-8" : (factsOf(format).mediaTypes[0] ?? "application/octet-stream")

/** The encoder of a view, loaded at its first use. */
export const openView = async (name: ViewName): Promise<TraceEncoder> => {
  switch (name) {
    case "perfetto":
      return (await import("./perfetto/perfetto-encoder.ts")).perfettoEncoder()
    case "parquet":
      return (await import("./parquet/parquet-encoder.ts")).parquetEncoder()
    case "otlp":
      return (await import("./otlp/otlp-encoder.ts")).otlpEncoder()
    case "html":
      return (await import("./html/html-encoder.ts")).htmlEncoder()
  }
}
