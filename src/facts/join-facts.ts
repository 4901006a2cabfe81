/**
 * Joins the files of a cluster and a day that is over into one.
 *
 * Guarantee: by {@link factsIn}, each change is in exactly one file at every moment, also if a process is killed, or several join at once. The joined file is the
 * commit: once it is there, the files before it no longer count, and they are removed. Its rows are those of all files up to its last change, so of two that join at
 * once, one wrote a part of the other's, which no longer counts either. Engines that do not know names of files see changes twice between the two steps.
 *
 * Memory: a file that is read, a row group, and the joined file.
 */
import { type BlobStore, inParallel } from "../blob/index.ts"
import { columnCount, FactsFile, factsOf } from "./facts-file.ts"
import { atOnce, clustersIn, dayFolder, type FactsFolder, factsFolders, fileEndOf, fileName } from "./facts-files.ts"

/** Bytes of a day that are joined at most: its file is in memory. The files of a day with more are not small, and stay. */
const MOST_BYTES = 128 * 1024 * 1024

/** Days that are joined at once. */
const joinedAtOnce = 2

/** Files as counts: those that no longer count, and those in their place. */
interface JoinedFacts {
  /** Whether there is a cluster with facts. */
  readonly isThere: boolean
  readonly files: number
  readonly days: number
}

/** Of all clusters. `nowMicros`: µs since the Unix epoch; days before this moment's are over. Rejects with a TargetError, also if files may not be removed. */
export const joinFacts = async (
  store: Pick<BlobStore, "list" | "read" | "create" | "remove">,
  { nowMicros, signal }: { readonly nowMicros: number; readonly signal?: AbortSignal },
): Promise<JoinedFacts> => {
  let [files, days] = [0, 0]
  const due: FactsFolder[] = []
  const clusters = await clustersIn(store, signal)
  await inParallel(clusters, atOnce, async (cluster) => {
    const today = dayFolder(cluster, nowMicros)
    for (const each of await factsFolders(store, cluster, { from: 0, to: nowMicros }, signal))
      if (`${each.folder}/` < today && each.files.length + each.replaced.length > 1) due.push(each)
  })
  await inParallel(due, joinedAtOnce, async ({ folder, files: some, replaced }) => {
    signal?.throwIfAborted()
    const isJoined = some.length > 1 && (await join(store, folder, some, signal))
    // Also what a run has left that was killed.
    await store.remove([...replaced, ...(isJoined ? some : [])].map(({ key }) => key))
    if (!isJoined) return
    files += some.length
    days++
  })
  return { isThere: clusters.length > 0, files, days }
}

/** Whether a file is there now that has the rows of all of these. */
const join = async (
  store: Pick<BlobStore, "read" | "create">,
  folder: string,
  files: FactsFolder["files"],
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const last = fileEndOf(files.at(-1)?.key ?? "")
  // Those of a later version have columns that a file of this one would lose.
  if (files.some(({ key }) => (fileEndOf(key)?.columns ?? 0) > columnCount)) return false
  if (last === undefined || files.reduce((sum, { bytes }) => sum + bytes, 0) > MOST_BYTES) return false
  const joined = new FactsFile()
  for (const { key } of files) {
    const found = await store.read(key, undefined, signal)
    // Another process has joined them meanwhile.
    if (found === undefined) return false
    for await (const facts of factsOf(found.bytes)) for (const fact of facts) joined.add(fact)
  }
  await store.create(`${folder}/${fileName(last, true)}`, [joined.finish()], signal)
  return true
}
