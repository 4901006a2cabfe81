/** An object that leaves a selection and matches it again has the same UID, and so the row that it had. */
import { expect, test } from "vitest"
import { ArchiveReader, ArchiveWriter, DeltaReader } from "../../../src/archive/index.ts"
import { compactStream, restoreStream } from "../../../src/fleet/index.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { firstTenure, ship } from "../shipping-recorder.ts"
import { StepsStore } from "./steps-store.ts"

const dayMicros = 24 * 3_600_000_000

test.each([0, 1, 5])(
  "an object that returns is there, although all that was known of it was older than --keep (after %i days)",
  async (later) => {
    const directory = temporaryDirectory()
    const writer = ArchiveWriter.open(directory, {
      now: () => START + 40 * dayMicros,
      limits: { blockBytes: 3000, blocksPerCheckpoint: 2 },
    })
    const reader = new DeltaReader(directory)
    const store = new StepsStore()
    let [tenure, version, frames] = [firstTenure, 0, 0]
    const day = async (
      at: number,
      ...changes: ReadonlyArray<readonly [number: number, action: "applied" | "deleted"]>
    ) => {
      const events = changes.map(([number, action]) => ({
        ...{ action, number, time: START + at * dayMicros + ++version, version, object: "x".repeat(700) },
      }))
      const newObjects = at === 0 ? [1, 2, 3] : []
      writer.append(
        "watcher/1",
        1,
        ++frames,
        encodeFrame({ gvk: "v1.ConfigMap", events, newObjects, completeThrough: String(version) }),
      )
      writer.commit()
      tenure = await ship(store.memory, reader, tenure)
    }
    await day(0, [1, "applied"], [2, "applied"], [3, "applied"])
    await day(1, [1, "deleted"])
    for (let at = 2; at < 30; at++) await day(at, [2, "applied"])
    const compact = async (at: number) => {
      store.nowMs = (START + at * dayMicros) / 1000
      await compactStream(store, {
        ...{
          temporaryDirectory: temporaryDirectory(),
          graceMs: 0,
          nowMicros: () => START + at * dayMicros,
          rangeBytes: 3000,
        },
        ...{ keepMicros: 5 * dayMicros, randomId: () => `id${at}-${version}` },
      })
    }
    await compact(30)
    await day(30, [1, "applied"])
    for (let at = 31; at < 31 + later; at++) {
      await day(at, [2, "applied"])
      await compact(at)
    }
    reader.close()
    writer.close()
    const copy = temporaryDirectory()
    await restoreStream(store.memory, copy)
    const [names, original] = [copy, directory].map((each) => {
      const recording = ArchiveReader.open(each)
      const found = [...recording.snapshotAt({ time: START + 100 * dayMicros })].map(
        ({ name, uid }) => `${name} ${uid}`,
      )
      recording.close()
      return found.toSorted()
    })
    expect(names).toEqual(original)
    expect(names).toHaveLength(3)
  },
)
