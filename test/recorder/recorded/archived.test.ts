/** A recording that is archived, and recorders that continue its stream: what is restored is what happened, once and in order. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { expect, onTestFinished, test } from "vitest"
import { DATABASE_FILE } from "../../../src/archive/index.ts"
import { restoreCommand } from "../../../src/cli/restore.ts"
import type { ArchiveStatus } from "../../../src/recorder/export/recording.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ran } from "../../cli/commands-in.ts"
import { patient } from "../../harness/patience.ts"
import { until } from "../recorder/recorder-command.ts"
import { RecordedSandbox, tracked } from "./recorded-sandbox.ts"
import { expectLedger } from "./restored-stream.ts"
import { Workload } from "./workload.ts"

const kinds = ["apps/v1.Deployment", "v1.ConfigMap"]

const temporary = (): string => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-archived-"))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const archivedTo = (address: string, clusterUid = "cluster") => ({
  archive: { address, everyMs: 50, clusterUid: async () => clusterUid },
})

const record = (sandbox: Sandbox, directory: string, address: string, clusterUid?: string): Promise<RecordedSandbox> =>
  RecordedSandbox.of(sandbox, {
    kinds: kinds.map((kind) => tracked(kind)),
    directory,
    ...archivedTo(address, clusterUid),
  })

/** Everything that happened so far is in the stream. */
const archived = async (recorder: RecordedSandbox): Promise<ArchiveStatus> => {
  await recorder.caughtUp()
  const fromMs = performance.now()
  await until(
    () => (recorder.actors.archive?.lagSeconds ?? Number.POSITIVE_INFINITY) * 1000 < performance.now() - fromMs,
    () => `everything to be archived: ${JSON.stringify(recorder.actors.archive)}`,
  )
  return recorder.actors.archive as ArchiveStatus
}

test("what is recorded is in the stream soon, and its next recorder goes on there", {
  timeout: patient(60_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const [directory, address] = [temporary(), temporary()]
  const workload = new Workload(sandbox, kinds, 1)
  try {
    const first = await record(sandbox, directory, address)
    await first.ready()
    for (let step = 0; step < 300; step++) workload.step()
    const { segment, epoch, trouble } = await archived(first)
    expect({ epoch, trouble }).toEqual({ epoch: 1, trouble: undefined })
    await first.stopRecording()
    for (let step = 0; step < 100; step++) workload.step()
    const second = await record(sandbox, directory, address)
    await second.ready()
    expect((await archived(second)).segment).toBeGreaterThan(segment)
    await second.stopRecording()
    expect(second.actors.archive?.epoch).toBe(1)
    await expectLedger(sandbox, address, kinds)
  } finally {
    await sandbox.close()
  }
})

test("a recorder with an empty directory restores the stream, and the one before it is fenced", {
  timeout: patient(60_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const address = temporary()
  const workload = new Workload(sandbox, kinds, 2)
  try {
    const first = await record(sandbox, temporary(), address)
    await first.ready()
    for (let step = 0; step < 300; step++) workload.step()
    await archived(first)
    const second = await record(sandbox, temporary(), address)
    await second.ready()
    for (let step = 0; step < 100; step++) workload.step()
    expect((await archived(second)).epoch).toBe(2)
    const end = await Effect.runPromise(Effect.flip(first.actors.ended))
    expect(end.message).toMatch(/^another recorder has taken the stream over: segment \d+ is of epoch 2/)
    await first.stopRecording()
    await second.stopRecording()
    await expectLedger(sandbox, address, kinds)
    // Started again, the first one is behind: its directory makes place.
    for (let step = 0; step < 50; step++) workload.step()
    const third = await record(sandbox, first.directory, address)
    await third.ready()
    expect((await archived(third)).epoch).toBe(3)
    await third.stopRecording()
    expect(third.notices).toContainEqual(
      expect.objectContaining({ type: "restored", epoch: 3, setAside: expect.stringContaining("replaced-") }),
    )
    await expectLedger(sandbox, address, kinds)
  } finally {
    await sandbox.close()
  }
})

test("a recorder goes on in a directory that reel restore has made, and loses nothing of what happened meanwhile", {
  timeout: patient(60_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const address = temporary()
  const workload = new Workload(sandbox, kinds, 3)
  try {
    const first = await record(sandbox, temporary(), address)
    await first.ready()
    for (let step = 0; step < 200; step++) workload.step()
    await archived(first)
    await first.stopRecording()
    const directory = join(temporary(), "restored")
    expect((await ran(restoreCommand(), [address, "--into", directory])).code).toBe(0)
    for (let step = 0; step < 50; step++) workload.step()
    const second = await record(sandbox, directory, address)
    await second.ready()
    expect((await archived(second)).epoch).toBe(2)
    await second.stopRecording()
    expect(second.notices.filter(({ type }) => type === "restored")).toEqual([])
    expect(readdirSync(directory).filter((name) => name.startsWith("replaced-"))).toEqual([])
    await expectLedger(sandbox, address, kinds)
  } finally {
    await sandbox.close()
  }
})

test.each([
  [
    "is damaged",
    (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from("2")]),
    /^the stream at .* cannot be restored, so nothing is recorded: .*segment is damaged: its end/,
  ],
  [
    "is missing",
    () => undefined,
    /^the stream at .* cannot be restored, so nothing is recorded: .*broken at segment 2: segment 1 is missing/,
  ],
])(
  "a stream whose first segment %s ends the recorder that would restore it, which says so",
  {
    timeout: patient(60_000),
  },
  async (_, change, reason) => {
    const sandbox = await Sandbox.start()
    const address = temporary()
    const workload = new Workload(sandbox, kinds, 4)
    try {
      const first = await record(sandbox, temporary(), address)
      await first.ready()
      await archived(first)
      workload.step()
      await archived(first)
      await first.stopRecording()
      const path = join(address, "segments", "000000000001.segment")
      const changed = change(readFileSync(path))
      if (changed === undefined) rmSync(path)
      else writeFileSync(path, changed)
      const directory = temporary()
      await expect(record(sandbox, directory, address)).rejects.toThrow(reason)
      expect(existsSync(join(directory, DATABASE_FILE))).toBe(false)
    } finally {
      await sandbox.close()
    }
  },
)

test("a stream.json that was lost is made anew out of the segments, and one that is not theirs is named", {
  timeout: patient(60_000),
}, async () => {
  const sandbox = await Sandbox.start({ bookmarkInterval: 500 })
  const [directory, address] = [temporary(), temporary()]
  const workload = new Workload(sandbox, kinds, 3)
  const description = join(address, "stream.json")
  try {
    const first = await record(sandbox, directory, address)
    await first.ready()
    for (let step = 0; step < 100; step++) workload.step()
    await archived(first)
    await first.stopRecording()
    const written = readFileSync(description, "utf8")
    for (const [next, epoch] of [
      [directory, 1],
      [temporary(), 2],
    ] as const) {
      rmSync(description)
      for (let step = 0; step < 50; step++) workload.step()
      const recorder = await record(sandbox, next, address)
      await recorder.ready()
      expect((await archived(recorder)).epoch).toBe(epoch)
      await recorder.stopRecording()
      expect(readFileSync(description, "utf8")).toBe(written)
    }
    await expectLedger(sandbox, address, kinds)
    writeFileSync(description, written.replace(/"stream":"\w+"/, '"stream":"another"'))
    const stranger = await record(sandbox, temporary(), address)
    await until(
      () => stranger.actors.archive?.trouble?.includes("and stream.json says another") === true,
      () => `the stream to be named: ${JSON.stringify(stranger.actors.archive)}`,
    )
    await stranger.stopRecording()
  } finally {
    await sandbox.close()
  }
})

test("the stream of another cluster is refused", { timeout: patient(30_000) }, async () => {
  const sandbox = await Sandbox.start()
  const address = temporary()
  try {
    const first = await record(sandbox, temporary(), address)
    await first.ready()
    await archived(first)
    await first.stopRecording()
    await expect(record(sandbox, temporary(), address, "another")).rejects.toThrow("the stream is of another cluster")
  } finally {
    await sandbox.close()
  }
})
