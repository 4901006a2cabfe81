/**
 * `reel fleet compact` as a process, killed at its requests to S3, before they arrive or before their answers do: the stream is the recording that it was, the next
 * run finishes, and nothing is left where temporary files are.
 *
 * `KUBEREEL_TEST_KILLS=50` kills it at every request; `KUBEREEL_TEST_SEED` repeats a run.
 */
import { readdirSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test, vi } from "vitest"
import { DeltaReader } from "../../../src/archive/index.ts"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { restoreStream } from "../../../src/fleet/index.ts"
import { MemoryStore } from "../../fleet/memory-store.ts"
import { recordLarge } from "../../fleet/mirror/large-recording.ts"
import { expectSameRecording } from "../../fleet/same-recording.ts"
import { firstTenure, ship } from "../../fleet/shipping-recorder.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ReelProcess, until } from "../../recorder/recorder/recorder-command.ts"
import { attackedS3 } from "./attacked-store.ts"
import { buildMs } from "./programs.ts"
import type { Course } from "./store-network.ts"

const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const kills = Number(process.env.KUBEREEL_TEST_KILLS ?? 5)

/** The objects of a stream of small segments. */
const streamed = async (): Promise<MemoryStore> => {
  const directory = temporaryDirectory()
  const memory = new MemoryStore()
  let tenure = firstTenure
  let reader: DeltaReader | undefined
  await recordLarge(directory, 8, async () => {
    reader ??= new DeltaReader(directory)
    tenure = await ship(memory, reader, tenure)
  })
  reader?.close()
  return memory
}

const opened = (address: string) => {
  const reading = readStorePlace(address)
  if (reading.tag === "refused") throw new Error(reading.message)
  return openStore(reading.place)
}

/** When it is killed: at a request by its number, before that arrives or before its answer does. */
interface Step {
  readonly request: number
  readonly course: Course
}

test(`killed at ${kills > 10 ? "every" : "any"} request, a compaction changes no answer, and the next one finishes (seed ${seed})`, {
  timeout: buildMs + patient(60_000 + kills * 20_000),
}, async () => {
  await using store = await attackedS3()
  const { network } = store
  for (const [name, value] of Object.entries(store.past)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const memory = await streamed()
  const original = temporaryDirectory()
  await restoreStream(memory, original)
  const scratch = temporaryDirectory()
  let streams = 0
  /** Its address, and what is there. */
  const begin = async () => {
    const address = store.address(`stream-${++streams}`)
    const objects = await opened(address)
    onTestFinished(() => objects.close())
    for (const [key, bytes] of memory.objects) await objects.create(key, [bytes])
    const expectSame = async (): Promise<void> => {
      const directory = temporaryDirectory()
      await restoreStream(objects, directory)
      expectSameRecording(directory, original)
    }
    const keys = async (prefix: string): Promise<ReadonlyArray<string>> => {
      const found: string[] = []
      for await (const { key } of objects.list(prefix)) found.push(key)
      return found
    }
    return { address, expectSame, keys }
  }
  const compact = (address: string): ReelProcess => {
    const env = { ...process.env, ...store.through, TMPDIR: scratch }
    return new ReelProcess(["fleet", "compact", address, "--grace", "0s"], { env })
  }
  /** Requests of a whole compaction, of which the text says what it did. */
  const finish = async (address: string): Promise<number> => {
    const before = network.requests
    const whole = compact(address)
    expect([(await whole.ended).code, whole.log]).toEqual([0, ""])
    return network.requests - before
  }
  const killedAt = async (address: string, { request, course }: Step): Promise<void> => {
    const last = network.requests + request
    network.course = () => (network.requests === last ? course : "passed")
    const killed = compact(address)
    await until(
      () => network.held > 0 || killed.ending !== undefined,
      () => `request ${request}:\n${killed.said}`,
      60_000,
    )
    await killed.kill()
    network.course = () => "passed"
    network.cut()
    network.release()
  }

  const first = await begin()
  const requests = await finish(first.address)
  await first.expectSame()
  expect((await first.keys("compacted/")).length).toBe(1)
  expect((await first.keys("segments/")).length).toBe(1)
  const every: ReadonlyArray<Step> = Array.from({ length: requests }, (_, index) => [
    { request: index + 1, course: "held" } as const,
    { request: index + 1, course: "unanswered" } as const,
  ]).flat()
  const chosen =
    kills > 10
      ? every
      : Array.from(
          { length: kills },
          (_, round) => (seed + round * Math.ceil(every.length / kills)) % every.length,
        ).flatMap((at) => every[at] ?? [])
  let left = 0
  for (const step of chosen) {
    const { address, expectSame, keys } = await begin()
    await killedAt(address, step)
    await expectSame()
    const abandoned = readdirSync(scratch).filter((name) => name.startsWith("reel-compact-"))
    left += abandoned.length
    // As if it had been killed some minutes ago.
    for (const name of abandoned) utimesSync(join(scratch, name), 1, 1)
    await finish(address)
    await finish(address)
    await expectSame()
    expect([(await keys("compacted/")).length, (await keys("segments/")).length]).toEqual([1, 1])
  }
  console.info(`${chosen.length} kills at ${requests} requests, ${left} directories left and removed`)
  expect(readdirSync(scratch)).toEqual([])
})
