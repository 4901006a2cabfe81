/** Streams in directories, the facts that are made of them, and questions that are asked of these. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { QueriedRecording, recordTrace } from "../../src/archive/index.ts"
import { type BlobStore, openStore } from "../../src/blob/index.ts"
import { type FactsRange, factsIn } from "../../src/facts/facts-files.ts"
import { type FactsDatabase, makeFacts as factsMade, openFacts } from "../../src/facts/index.ts"
import type { TraceItem } from "../../src/trace/index.ts"
import { shipAll } from "../fleet/shipping-recorder.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"

/** A store whose objects are the files of a directory. */
export const directoryStore = (bucket: string): Promise<BlobStore> =>
  openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })

async function* batches(items: Iterable<TraceItem>): AsyncGenerator<Iterable<TraceItem>, void> {
  yield items
}

/** A data directory with a trace, of the cluster of {@link shipAll}. */
export const recordingOf = async (items: Iterable<TraceItem>): Promise<string> => {
  const directory = temporaryDirectory()
  await recordTrace(directory, batches(items))
  return directory
}

/** Sends a recording, in segments of some bytes, to a directory that exists. */
export const streamOf = async (directory: string, bytes?: number, bucket = temporaryDirectory()): Promise<string> => {
  const store = await directoryStore(bucket)
  const recording = QueriedRecording.open(directory)
  const clusterUid = recording.metadata().get("clusterUid")
  recording.close()
  await shipAll(store, directory, bytes, clusterUid)
  store.close()
  return bucket
}

interface MakingOptions {
  readonly cluster?: string
  readonly target?: (store: BlobStore) => Parameters<typeof factsMade>[0]["target"]
}

/** Makes facts until there is nothing to do. Returns the rows. */
export const makeFacts = async (
  bucket: string,
  directory: string,
  { cluster = "prod", target = (store) => store }: MakingOptions = {},
): Promise<number> => {
  const stream = await directoryStore(bucket)
  try {
    let rows = 0
    for await (const pass of factsMade({ stream, target: target(stream), directory, cluster })) {
      rows += pass.rows
      if (pass.segments === 0) break
    }
    return rows
  } finally {
    stream.close()
  }
}

/** Names of files, below the folder of a cluster, with their content. */
export const filesIn = (bucket: string): ReadonlyMap<string, string> =>
  new Map(
    globSync("facts/**/*.parquet", { cwd: bucket })
      .toSorted()
      .map((name) => [name.replace("facts/", ""), readFileSync(join(bucket, name)).toString("base64")]),
  )

/** All times and clusters. */
export const always: FactsRange = { from: 0, to: 4e15, clusters: [] }

/** Everything that an answer has. */
export const allRows = async (
  rows: Awaited<ReturnType<FactsDatabase["ask"]>>["rows"],
): Promise<ReadonlyArray<ReadonlyArray<unknown>>> => {
  const found: Array<ReadonlyArray<unknown>> = []
  for await (const some of rows) found.push(...some)
  return found
}

/** The rows of an answer as objects. */
export const askFacts = async (
  bucket: string,
  question: string,
  range: Partial<FactsRange> = {},
  options: Parameters<typeof openFacts>[2] = {},
): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> => {
  const store = await directoryStore(bucket)
  const objects = await factsIn(store, { ...always, ...range })
  store.close()
  const files = objects.map(({ key }) => join(bucket, key))
  const database = await openFacts(files, { ...always, ...range }, options)
  try {
    const { columns, rows } = await database.ask(question)
    const found = await allRows(rows)
    return found.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]])))
  } finally {
    database.close()
  }
}
