/**
 * Random bytes of a recording are changed, wherever they are. An export of it is then what it was, or it says what is missing, or it fails
 * with an error that names the damage. It never differs without a word.
 */
import { execFileSync } from "node:child_process"
import { closeSync, openSync, readFileSync, readSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import type { ExportJob } from "../../../src/actors/index.ts"
import { isArchiveError } from "../../../src/archive/directory/archive-errors.ts"
import { readCoverage } from "../../../src/archive/reading/recorded-coverage.ts"
import { readRecordingFacts } from "../../../src/archive/reading/recording-facts.ts"
import { exportJob } from "../../actors/exporter/export-job.ts"
import { rounds } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { recordSample, sampleKinds, sampleMiddle } from "../sample-recording.ts"

interface Outcome {
  readonly lines: ReadonlyArray<string>
  /** Every change of the recording, without its place in the trace. */
  readonly all: ReadonlyArray<string>
  readonly owned: string
  readonly simkube: string
  readonly gaps: number
  readonly hasDamage: boolean
}

const bytesOf = async (directory: string, job: ExportJob): Promise<readonly [string, number]> => {
  const opened = openExport({ directory }, job)
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of opened.pieces) pieces.push(Uint8Array.from(piece))
  } finally {
    await opened.close()
  }
  return [Buffer.concat(pieces).toString("latin1"), opened.started.gaps]
}

/** What the commands print of a recording without its recorder. */
const exported = async (directory: string): Promise<Outcome> => {
  const { cut, lastTime } = readRecordingFacts(directory)
  const job = exportJob(sampleKinds, { cut, fromTime: sampleMiddle, untilTime: lastTime + 1 })
  const [ndjson, gaps] = await bytesOf(directory, job)
  const [all] = await bytesOf(directory, { ...job, fromTime: 0 })
  const [owned] = await bytesOf(directory, { ...job, excludeOwned: true })
  const lives = { "apps/v1.ReplicaSet": { podSpecTemplatePaths: ["/spec/template"], trackLifecycle: true } }
  const [simkube] = await bytesOf(directory, { ...job, format: "simkube", trackedObjects: lives, excludeOwned: true })
  const { kinds } = readCoverage(directory, { fromTime: sampleMiddle, untilTime: lastTime + 1 })
  const hasDamage = kinds.some((kind) => kind.gaps.some(({ reason }) => reason === "damaged"))
  return { lines: ndjson.split("\n"), all: all.split("\n").flatMap(objectIn), owned, simkube, gaps, hasDamage }
}

/** What the window's exports are; damage before the window need not concern them. */
const inWindow = ({ all: _, ...outcome }: Outcome): string => JSON.stringify(outcome)

/** The object of an event's line; other lines have none. */
const objectIn = (line: string): ReadonlyArray<string> => {
  const at = line.indexOf('"object":')
  return at < 0 ? [] : [line.slice(at).replace(/\}+$/, "")]
}

/**
 * A byte of the last block's objects, which are a gap, and one of the file's first bytes, without which it is no database. Of random ones 5 in 100 are
 * the former and 8 the latter, so one ordinary run in 80 would meet none of a sort.
 */
const bytesOfEachSort = (directory: string): ReadonlyArray<number> => {
  const database = new DatabaseSync(join(directory, "recording.db"), { readOnly: true })
  const [row] = database.prepare("SELECT data FROM block ORDER BY last_sequence DESC LIMIT 1").all()
  database.close()
  const at = readFileSync(join(directory, "recording.db")).indexOf(Buffer.from(row?.data as Uint8Array).subarray(0, 32))
  expect(at).toBeGreaterThan(0)
  return [at + 16, 3]
}

test.each(["closed", "crashed"] as const)(
  "an export of a recording that was %s never differs without a word, whichever byte is changed",
  { timeout: patient(120_000) },
  async (name) => {
    const [made, source] = [temporaryDirectory(), temporaryDirectory()]
    const writer = recordSample(made)
    if (name === "closed") writer.close()
    execFileSync("cp", ["-r", `${made}/.`, source])
    writer.close()
    const files = ["recording.db", "recording.db-wal"].filter((file) =>
      statSync(join(source, file), { throwIfNoEntry: false }),
    )
    const seen = { same: 0, gap: 0, error: 0 }
    const copy = temporaryDirectory()
    execFileSync("cp", ["-r", `${source}/.`, copy])
    const whole = await exported(source)
    const known = new Set(whole.all)
    const chosen = name === "closed" ? bytesOfEachSort(made) : []
    for (let round = 0; round < rounds(320); round++) {
      const file = files[round % files.length] as string
      const path = join(copy, file)
      const at = chosen[round] ?? Math.floor(Math.random() * statSync(path).size)
      const bit = 1 << Math.floor(Math.random() * 8)
      const flip = (): void => {
        const descriptor = openSync(path, "r+")
        const byte = Buffer.alloc(1)
        readSync(descriptor, byte, 0, 1, at)
        byte[0] = (byte[0] as number) ^ bit
        writeSync(descriptor, byte, 0, 1, at)
        closeSync(descriptor)
      }
      flip()
      const message = `bit ${bit} of byte ${at} of ${file}`
      try {
        const found = await exported(copy)
        const isSame = inWindow(found) === inWindow(whole)
        if (isSame) seen.same++
        else {
          seen.gap++
          expect(found.hasDamage, message).toBe(true)
          expect(found.gaps, message).toBeGreaterThan(whole.gaps)
          expect(
            found.lines.flatMap(objectIn).filter((object) => !known.has(object)),
            message,
          ).toEqual([])
        }
      } catch (error) {
        if (!isArchiveError(error)) throw new Error(`${message}: ${error}`, { cause: error })
        seen.error++
      }
      flip()
    }
    // The latest changes of a recorder that was killed are in its log, of which no byte can be changed unnoticed: half of the rounds are errors.
    if (name === "closed") expect(seen.gap).toBeGreaterThan(0)
    expect(seen.error).toBeGreaterThan(0)
  },
)
