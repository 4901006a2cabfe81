/**
 * Makes facts of a stream: of each segment a file for each stretch of changes of one day, of the recording that the segments are of
 * (docs/decisions/0110-facts-are-made-beside-the-recorder.md).
 *
 * Guarantee: each file is created once, in the order of its changes, so the last one says where to go on, and a process may end at any moment. Its rows depend
 * on the segments alone, but for users, who are those that are known when it is made. Segments count as they do for who restores the stream. Only one process
 * at a time may make facts of a cluster: another one might know a later compaction, and write the same changes under other names.
 *
 * Memory: a row group and a file, and the former states that {@link LiveChanges} keeps.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import {
  ChangeAuthors,
  DATABASE_FILE,
  LiveChanges,
  QueriedRecording,
  QuestionRefused,
  TENURE_KEY,
} from "../archive/index.ts"
import type { BlobStore } from "../blob/index.ts"
import {
  compactedThrough,
  decodeTenure,
  NoStreamError,
  readDescription,
  readSegmentEnd,
  type StoredSegment,
  type StreamDescription,
} from "../fleet/index.ts"
import { factOf } from "./fact.ts"
import { FactsFile } from "./facts-file.ts"
import { clusterFolder, dayFolder, FactsError, type FileEnd, fileEndOf, fileName } from "./facts-files.ts"

type Counted = Pick<StoredSegment["facts"], "number" | "epoch" | "after" | "through" | "clusterUid">

/** Segments that are asked for at once, and of which facts are made in one pass through the recording. */
const atOnce = 16

interface FactsOptions {
  /** With the stream. */
  readonly stream: Pick<BlobStore, "location" | "read" | "list">
  /** For the files. */
  readonly target: Pick<BlobStore, "list" | "read" | "create">
  /** A data directory of the stream's recording: the recorder's own, or one that was restored. */
  readonly directory: string
  /** For the names of the files: letters, digits, `.`, `_` and `-`. */
  readonly cluster: string
  readonly signal?: AbortSignal
}

/** What was done in a pass. */
interface FactsPass {
  readonly segments: number
  readonly rows: number
  /** The last segment of which there are facts; 0: none. */
  readonly through: number
  /** A segment that the directory does not have yet. */
  readonly lacks: number | undefined
}

/**
 * Makes facts of what the stream has, a pass at a time; one without segments says that there is nothing to do, and the next one looks again. Rejections are
 * TargetErrors, StreamErrors, ArchiveErrors and FactsErrors.
 */
export async function* makeFacts(options: FactsOptions): AsyncGenerator<FactsPass, void, void> {
  const { stream, directory } = options
  const description = await readDescription(stream)
  if (description === undefined) throw new NoStreamError({ location: stream.location })
  let recording = QueriedRecording.open(directory)
  try {
    epochOf(recording, options, description)
    await claimCluster(options, description)
    const last = await lastFile(options)
    const due: Counted[] = []
    const look = countedSegments(options, last, due)
    let inode = inodeOf(directory)
    let changes: LiveChanges | undefined
    for (let [through, behind] = [0, last.through]; ; ) {
      await look()
      // Another recording may have taken the place of the one that is open.
      if (inode !== inodeOf(directory)) {
        recording.close()
        changes = undefined
        inode = inodeOf(directory)
        recording = QueriedRecording.open(directory)
      }
      recording.refresh()
      const epoch = epochOf(recording, options, description)
      const { cut } = recording
      const now = due.slice(0, atOnce).filter((each) => each.through <= cut)
      const [first, final] = [now[0], now.at(-1)]
      let rows = 0
      if (first !== undefined && final !== undefined) {
        if (now.some((each) => each.epoch > epoch))
          throw unmade(`${directory} is of a recorder from which another one has taken ${stream.location} over`)
        recording.refresh(final.through)
        changes ??= changesAfter(recording, Math.max(first.after, behind))
        rows = await writeFiles(options, recording, changes, now)
        recording.requireUndisturbed()
        through = final.number
        behind = final.through
      }
      due.splice(0, now.length)
      yield { segments: now.length, rows, through, lacks: due[0]?.number }
    }
  } finally {
    recording.close()
  }
}

const unmade = (reason: string): FactsError =>
  new FactsError({
    message: `${reason}. Make a directory of the stream with reel restore, and name it with --data-dir.`,
  })

const inodeOf = (directory: string): number | undefined =>
  statSync(join(directory, DATABASE_FILE), { throwIfNoEntry: false })?.ino

/**
 * The last epoch of the stream of which a directory may have segments: a recorder that was taken over from goes on for a while, with changes that are not
 * those of the stream. @throws FactsError if it is another stream's
 */
const epochOf = (
  recording: QueriedRecording,
  { stream, directory }: FactsOptions,
  description: StreamDescription,
): number => {
  const metadata = recording.metadata()
  const tenure = decodeTenure(metadata.get(TENURE_KEY) ?? "")
  const clusterUid = metadata.get("clusterUid") || description.clusterUid
  const isSame = tenure === undefined ? clusterUid === description.clusterUid : tenure.stream === description.stream
  if (!isSame) throw unmade(`${directory} has no recording of ${stream.location}`)
  return tenure?.epoch ?? Number.POSITIVE_INFINITY
}

/** Puts the id of the stream beside the files of the cluster, under a name that engines pass over. @throws FactsError if another one's is there */
const claimCluster = async (
  { stream, target, cluster, signal }: FactsOptions,
  description: StreamDescription,
): Promise<void> => {
  const key = `${clusterFolder(cluster)}.stream`
  if ((await target.create(key, [Buffer.from(description.stream)], signal)) === "created") return
  const found = await target.read(key, undefined, signal)
  if (found !== undefined && Buffer.from(found.bytes).toString() !== description.stream)
    throw new FactsError({
      message: `cluster=${cluster} has facts of another stream than ${stream.location}. Give the cluster another name, with --cluster.`,
    })
}

/** The segments that count, in order, behind a file. Returns what looks at the stream, and adds to those that are due: two requests if nothing is new. */
const countedSegments = ({ stream, signal }: FactsOptions, last: FileEnd, due: Counted[]): (() => Promise<void>) => {
  /** The first one that was not found yet, and the last change of those that were. */
  let { number: next, through } = last
  /** Parts that no whole one has ended yet. */
  let parts: Counted[] = []
  return async () => {
    // What has been compacted before facts were made of it counts as one segment. The last one of a stream never is.
    const number = await compactedThrough(stream)
    const following = number < next ? undefined : await readSegmentEnd(stream, number + 1, signal)
    if (following !== undefined) {
      const { after, clusterUid, epoch } = following.facts
      due.push({ number, after: through, through: after, clusterUid, epoch })
      parts = []
      next = number + 1
      through = after
    }
    for (let some = 1, isEnd = false; due.length < atOnce && !isEnd; some = atOnce) {
      const numbers = Array.from({ length: some }, (_, index) => next + index)
      for (const end of await Promise.all(numbers.map((each) => readSegmentEnd(stream, each, signal)))) {
        isEnd ||= end === undefined
        if (end === undefined || isEnd) continue
        // What another recorder has taken over from does not count.
        if (parts[0]?.epoch !== end.facts.epoch) parts = []
        parts.push(end.facts)
        next++
        if (!end.facts.isWhole) continue
        due.push(...parts.splice(0))
        through = end.facts.through
      }
    }
  }
}

const changesAfter = (recording: QueriedRecording, after: number): LiveChanges => {
  try {
    return new LiveChanges(recording, { after, withBefore: true })
  } catch (error) {
    if (!(error instanceof QuestionRefused)) throw error
    throw unmade(`${recording.directory}: ${error.message}`)
  }
}

/**
 * Of these segments. Returns the rows. A file ends with its segment, or before a change of another day: so it goes up to its last change, and everything
 * before that is in files that are there already.
 */
const writeFiles = async (
  { target, cluster, signal }: FactsOptions,
  recording: QueriedRecording,
  changes: LiveChanges,
  segments: ReadonlyArray<Counted>,
): Promise<number> => {
  const authors = new ChangeAuthors(recording)
  const hasAuthors = authors.range() !== undefined
  const left = [...segments]
  let [rows, folder, last] = [0, "", { number: 0, through: 0 }]
  let file: FactsFile | undefined
  const finish = async (): Promise<void> => {
    if (file !== undefined) await target.create(folder + fileName(last), [file.finish()], signal)
  }
  for (const item of changes.toCut()) {
    if (item === undefined) continue
    if (!("event" in item)) {
      // Gaps of the recorder have no changes, but damage has: files without them would never be mended.
      if (item.reason === "damaged") throw unmade(`${recording.directory}: ${item.detail}`)
      continue
    }
    const { sequence, time } = item.event
    while ((left[0]?.through ?? sequence) < sequence) left.shift()
    const number = left[0]?.number ?? last.number
    const itsFolder = dayFolder(cluster, time)
    if (file === undefined || number !== last.number || itsFolder !== folder) {
      await finish()
      file = new FactsFile()
      folder = itsFolder
    }
    file.add(factOf(item, segments[0]?.clusterUid ?? "", hasAuthors ? authors.of(item) : undefined))
    last = { number, through: sequence }
    rows++
  }
  await finish()
  return rows
}

/** The last file, in whichever folder: a clock may have been wrong for a while. The first segment if there is none. */
const lastFile = async ({ target, cluster, signal }: FactsOptions): Promise<FileEnd> => {
  let last: FileEnd = { number: 1, through: 0 }
  for await (const { key } of target.list(clusterFolder(cluster), signal && { signal })) {
    const end = fileEndOf(key)
    if (end !== undefined && end.through > last.through) last = end
  }
  return last
}
