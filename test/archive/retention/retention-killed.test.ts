/**
 * A writer that removes what it recorded is killed while others read: what is left is whole, and so is the state at its beginning.
 *
 * Thorough with KUBEREEL_TEST_THOROUGH=1: 12 kills instead of 3. A whole recorder is killed 50 times (test/recorder/recorded/retention-kills.test.ts).
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { RetentionOutranError } from "../../../src/archive/directory/archive-errors.ts"
import { takeLease } from "../../../src/archive/leases/lease.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { testWorker } from "../../harness/test-worker.ts"
import { START } from "../sample-frames.ts"

const CHILD = testWorker("child-writer").pathname
const isThorough = process.env.KUBEREEL_TEST_THOROUGH === "1"
const wantedKills = isThorough ? 12 : 3
/** Objects take turns in the child. */
const objects = 50

/** The versions that a window has, and those of the objects at its start. */
const contentOf = (directory: string, fromTime: number) => {
  const reader = ArchiveReader.open(directory)
  try {
    const [kind] = reader.kinds()
    const from = Math.max(fromTime, START + 1, (kind?.removedThrough ?? 0) + 1)
    const cut = reader.cut()
    const state = Array.from(reader.snapshotAt({ cut, time: from }), (event) => [
      event.name,
      Number(event.resourceVersion),
    ])
    const changes = Array.from(reader.events({ cut, fromTime: from }), (event) =>
      event.type === "object" ? Number(event.resourceVersion) : Number.NaN,
    )
    return { first: from - START, state: new Map(state as Array<[string, number]>), changes }
  } finally {
    reader.close()
  }
}

/** What the child has recorded: version v is of object 1 + (v - 1) mod 50, at v µs. */
const expectWhole = ({ first, state, changes }: ReturnType<typeof contentOf>): void => {
  expect(changes).toEqual(Array.from(changes, (_, index) => first + index))
  const before = Array.from({ length: Math.min(objects, first - 1) }, (_, index) => first - 1 - index)
  expect(state).toEqual(new Map(before.map((version) => [`object-${1 + ((version - 1) % objects)}`, version])))
}

test("killed at any moment, a recording is whole from its beginning on", {
  timeout: patient(isThorough ? 900_000 : 120_000),
}, async () => {
  const directory = temporaryDirectory()
  const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 2 ** 31)
  console.log(`seed of the kills: ${seed}`)
  let drawn = seed
  const random = (below: number): number => {
    drawn = (Math.imul(drawn, 1664525) + 1013904223) >>> 0
    return Math.floor((drawn / 2 ** 32) * below)
  }
  let acknowledged = 0
  let outran = 0
  for (let kills = 0; kills < wantedKills; kills++) {
    const child = spawn(process.execPath, [CHILD, "retain", directory, "1000000"], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    onTestFinished(() => void child.kill("SIGKILL"))
    let commitsToLive = 60 + random(80)
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged = Number(line)
      commitsToLive--
      if (commitsToLive === 0) child.kill("SIGKILL")
      if (commitsToLive <= 0 || random(15) > 0) continue
      // With a lease everything can be read; without one it may be removed meanwhile, and then the reader is told.
      const lease = random(2) === 0 ? takeLease(directory, { fromTime: 0, purpose: "test" }) : undefined
      try {
        expectWhole(contentOf(directory, 0))
      } catch (error) {
        if (!(error instanceof RetentionOutranError)) throw error
        outran++
      } finally {
        lease?.release()
      }
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
    const content = contentOf(directory, 0)
    expectWhole(content)
    expect(content.changes.at(-1)).toBeGreaterThanOrEqual(acknowledged)
    expect(verifyRecording(directory)).toMatchObject({ faults: [], damagedBlocks: [] })
    // Any later moment, also in the middle of what is kept.
    expectWhole(contentOf(directory, START + content.first + random(content.changes.length)))
  }
  const { first, changes } = contentOf(directory, 0)
  console.log(
    `${wantedKills} kills, ${acknowledged} versions, the last ${changes.length} of them kept; ${outran} readers were outrun`,
  )
  expect(first).toBeGreaterThan(100)
})
