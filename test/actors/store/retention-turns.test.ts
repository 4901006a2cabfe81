/** How much time retention gets: little, unless the recording outgrows its limit of bytes. */
import { beforeEach, expect, onTestFinished, test } from "vitest"
import { RetentionTurns } from "../../../src/actors/store/retention-turns.ts"
import { ArchiveWriter, takeLease } from "../../../src/archive/index.ts"
import { Changes } from "../../archive/retention/filling-changes.ts"
import { START } from "../../archive/sample-frames.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const mebibyte = 1024 * 1024
const limit = 8 * mebibyte
/** Of 30 kB each. */
const changesPerCommit = 32

/** Time passes only while retention works, a quarter of a ms for each of its transactions, and in `advance`. */
class WorkingClock extends ManualClock {
  #worked = 0

  override monotonicMs(): number {
    this.#worked += 0.25
    return super.monotonicMs() + this.#worked
  }
}

let directory = ""
let writer: ArchiveWriter
let changes: Changes
let clock: WorkingClock
let turns: RetentionTurns
let micros = START

beforeEach(() => {
  directory = temporaryDirectory()
  writer = ArchiveWriter.open(directory, { now: () => micros })
  onTestFinished(() => writer.close())
  changes = new Changes(writer)
  clock = new WorkingClock()
  turns = new RetentionTurns(writer.retention, clock, (trouble) => expect(trouble).toBeUndefined())
  onTestFinished(() => turns.stop())
})

/** Records 0.7 MB on disk, as the store does. At high rates frames wait for the next commit whenever retention has its turn. */
const record = (): void => {
  for (let more = 0; more < changesPerCommit; more++) append()
  turns.committed(writer.commit().bytes)
  append()
}

const append = (): void => {
  micros += 1000
  changes.append(micros)
}

const used = (): number => {
  const { database, free, log } = writer.retention.diskUse()
  return database - free + log
}

const onDisk = (): number => {
  const { file, log } = writer.retention.diskUse()
  return file + log
}

test.each([1, 100])("a recording that gets 0.7 MB each %i ms stays within 8 MiB of its limit", (eachMs) => {
  turns.start({ bytes: limit, kinds: [] })
  // What there is at first is looked at, and the reserve is made.
  clock.advance(1000)
  let [mostUsed, mostOnDisk] = [0, 0]
  for (let commits = 0; commits < 40; commits++) {
    record()
    mostUsed = Math.max(mostUsed, used())
    mostOnDisk = Math.max(mostOnDisk, onDisk())
    clock.advance(eachMs)
  }
  expect(writer.retention.statistics.events).toBeGreaterThan(500)
  expect(mostUsed).toBeGreaterThan(limit)
  expect(mostUsed).toBeLessThan(limit + 8 * mebibyte)
  expect(mostOnDisk).toBeLessThan(limit + 12 * mebibyte)
})

test("a recording that was larger than its limit before, and does not grow, is removed in its time", () => {
  for (let commits = 0; commits < 40; commits++) record()
  turns.start(undefined)
  clock.advance(1000)
  turns.setPolicy({ bytes: limit, kinds: [] })
  while (writer.retention.statistics.events === 0) clock.advance(clock.untilNext ?? 0)
  // After a turn of 4 ms.
  expect(used()).toBeGreaterThan(limit + 16 * mebibyte)
  expect(clock.untilNext).toBeGreaterThan(100)
})

test("what a reader keeps is not hurried for, neither meanwhile nor when it has ended", () => {
  const lease = takeLease(directory, { fromTime: 0, purpose: "test" })
  onTestFinished(() => lease.release())
  turns.start({ bytes: limit, kinds: [] })
  clock.advance(1000)
  for (let commits = 0; commits < 40; commits++) {
    record()
    clock.advance(100)
  }
  expect(used()).toBeGreaterThan(limit + 16 * mebibyte)
  expect(writer.retention.statistics.isHeldUp).toBe(true)
  expect(writer.retention.outgrown()).toBe(0)
  lease.release()
  clock.advance(clock.untilNext ?? 0)
  expect(clock.untilNext).toBeGreaterThan(100)
})
