/**
 * A process that copies a pinned window is killed at each step: there is no copy, or a whole one, and the recording has the window as long as there is none.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, onTestFinished, test } from "vitest"
import { verifyRecording } from "../../../src/archive/damage/verify-recording.ts"
import { readRecordedSince } from "../../../src/archive/reading/recorded-since.ts"
import { pinRecording, readPins } from "../../../src/archive/upkeep/pinned-recording.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { testWorker } from "../../harness/test-worker.ts"
import {
  at,
  differenceOf,
  exported,
  openHistory,
  recordedHistory,
  retain,
  second,
  seconds,
  window,
} from "./pinned-history.ts"

const child = testWorker("pinning-child").pathname
const isThorough = process.env.KUBEREEL_TEST_THOROUGH === "1"

/** Kills a child that retains what is in the directory after so many steps; returns whether it was done before. */
const killedAfter = async (directory: string, steps: number): Promise<boolean> => {
  const process_ = spawn(process.execPath, [child, directory, String(at(seconds + 3600))], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  onTestFinished(() => void process_.kill("SIGKILL"))
  let [left, isDone] = [steps, false]
  for await (const line of createInterface({ input: process_.stdout })) {
    isDone ||= line === "done"
    if (--left <= 0) process_.kill("SIGKILL")
  }
  if (process_.exitCode === null && process_.signalCode === null) await once(process_, "exit")
  return isDone
}

test("killed at any step, a recording or its copy has the whole pinned window", {
  timeout: patient(240_000),
}, async () => {
  const original = recordedHistory()
  const { id } = pinRecording(original, { ...window, source: "command" })
  const before = await exported(original, "ndjson")
  let [copies, kills, stride] = [0, 0, isThorough ? 1 : 13]
  for (let steps = 1; ; steps += stride) {
    const directory = temporaryDirectory()
    mkdirSync(directory, { recursive: true })
    copyFileSync(join(original, "recording.db"), join(directory, "recording.db"))
    const isDone = await killedAfter(directory, steps)
    kills++
    const copy = join(directory, "pins", id)
    // Without a writer, as whoever looks at what is left.
    if (existsSync(copy)) {
      copies++
      expect(verifyRecording(copy)).toMatchObject({ faults: [], damagedBlocks: [] })
      expect(differenceOf(before, await exported(copy, "ndjson"))).toBeUndefined()
    } else {
      expect(Math.max(...readRecordedSince(directory).map(({ removedThrough }) => removedThrough))).toBeLessThan(
        window.from,
      )
      expect(differenceOf(before, await exported(directory, "ndjson"))).toBeUndefined()
    }
    const writer = openHistory(directory, { micros: at(seconds + 3600) })
    expect(readdirSync(directory).includes("pins") ? readdirSync(join(directory, "pins")) : []).toEqual(
      existsSync(copy) ? [id] : [],
    )
    writer.retention.setPolicy({ forMicros: second, kinds: new Map() })
    for (let round = 0; round < 20 && (await retain(writer)) > 0; round++);
    writer.close()
    expect(readPins(directory)[0]?.place).toBe("kept")
    expect(differenceOf(before, await exported(copy, "ndjson"))).toBeUndefined()
    if (isDone) break
    stride = copies > 0 && !isThorough ? 40 : stride
  }
  console.log(`${kills} kills, ${copies} of them after there was a copy`)
  expect(copies).toBeGreaterThan(0)
  expect(kills).toBeGreaterThan(copies)
})
