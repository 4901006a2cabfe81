/**
 * An export through a program: the window's items go through the program in another thread, and are encoded as `reel transform` encodes a trace. Formats for
 * replay depend on the whole trace, so for them the window is read, and the program run, twice.
 */
import {
  convertTrace,
  type ExportedFormat,
  hasRecordedObjects,
  isView,
  namespacedName,
  type OwnedLifecycles,
  openEncoder,
  openView,
  type Spool,
  surveyTrace,
  type TraceEncoder,
  type TraceHeader,
  type TraceItem,
  type TraceItems,
} from "../../trace/index.ts"
import { noTransformation, type Program, TransformThreads, transformedItems } from "../../trace/transform/index.ts"
import type { ExportWindow } from "./export-window.ts"

/** What is exported. */
interface ExportedParts {
  readonly header: TraceHeader
  /** The window, from its beginning. */
  readonly window: () => ExportWindow
  /** SimKube's configuration of kinds; only for its format. */
  readonly trackedObjects?: unknown
  /** Lives of pods, once it is known which objects the window has. */
  readonly lifecycles: (isIndexed: (gvk: string, name: string) => boolean) => Iterable<OwnedLifecycles>
}

interface TransformedExportOptions {
  readonly program: Program
  readonly format: ExportedFormat
  /** The module that runs batches. */
  readonly transformer: URL
  readonly openSpool: () => Spool
}

/** Items between two turns of the event loop, so that other exports continue. */
const itemsPerChunk = 100

/**
 * Pieces of the trace; empty ones are pauses. `onEncoder` is called with the encoder, which knows in the end what it left out.
 *
 * Throws TransformFailed, and what reading the window and encoding throw.
 */
export async function* transformedExport(
  parts: ExportedParts,
  { program, format, transformer, openSpool }: TransformedExportOptions,
  onEncoder: (encoder: TraceEncoder) => void,
): AsyncGenerator<Uint8Array, void> {
  await using threads = new TransformThreads({ entry: transformer, threads: 1 })
  const { run, lanes } = threads
  const items = (): TraceItems =>
    transformedItems(itemsOf(parts, format), { program, run, lanes, samples: 0 }, noTransformation(program))
  const facts = hasRecordedObjects(format) ? undefined : await surveyTrace(items())
  const spools: Spool[] = []
  const spool = (): Spool => {
    const opened = openSpool()
    spools.push(opened)
    return opened
  }
  try {
    const encoder = isView(format)
      ? await openView(format)
      : await openEncoder(format, { spool, ...(facts && { facts }) })
    onEncoder(encoder)
    for await (const piece of convertTrace(items(), encoder)) yield Uint8Array.from(piece)
  } finally {
    for (const opened of spools) opened[Symbol.dispose]()
  }
}

async function* itemsOf(
  { header, window, trackedObjects, lifecycles }: ExportedParts,
  format: ExportedFormat,
): AsyncGenerator<Iterable<TraceItem>, void> {
  const { snapshot, events } = window()
  const indexed = new Set<string>()
  yield [{ type: "header", ...header }]
  if (trackedObjects !== undefined) yield [{ type: "config", config: Buffer.from(JSON.stringify({ trackedObjects })) }]
  for (const isSnapshot of [true, false]) {
    let chunk: TraceItem[] = []
    for (const event of isSnapshot ? snapshot() : events()) {
      if (event === undefined) continue
      if (event.type === "object") indexed.add(`${event.gvk} ${namespacedName(event.namespace, event.name)}`)
      // Bytes are valid until the next event is taken.
      chunk.push({
        type: "event",
        event: event.type === "gap" ? event : { ...event, object: Uint8Array.from(event.object) },
        isSnapshot,
      })
      if (chunk.length < itemsPerChunk) continue
      yield chunk
      chunk = []
      await new Promise(setImmediate)
    }
    yield chunk
  }
  if (format !== "simkube") return
  yield [...lifecycles((gvk, name) => indexed.has(`${gvk} ${name}`))].map(
    (owned): TraceItem => ({ type: "lifecycles", ...owned }),
  )
}
