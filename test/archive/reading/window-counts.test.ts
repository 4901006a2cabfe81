import fc from "fast-check"
import { expect, onTestFinished, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { ArchiveWriter } from "../../../src/archive/archive-writer.ts"
import { countWindow } from "../../../src/archive/reading/window-counts.ts"
import { rounds } from "../../harness/effort.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { encodeFrame, nameOf, type SampleEvent, START } from "../sample-frames.ts"

const gvk = "v1.Pod"
const pause = async (): Promise<void> => undefined

const openWriter = (directory: string, blockBytes: number): ArchiveWriter => {
  const writer = ArchiveWriter.open(directory, { limits: { blockBytes, blocksPerCheckpoint: 3 } })
  onTestFinished(() => writer.close())
  return writer
}

test("any window counts the objects at its start and the events in it that an export of the same names would contain", async () => {
  const step = fc.record({ number: fc.integer({ min: 1, max: 6 }), wait: fc.nat(4), isEnd: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 15 }),
      fc.tuple(fc.nat(150), fc.nat(150), fc.nat(90)),
      fc.integer({ min: 200, max: 3000 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 6 })),
      fc.record({ lag: fc.constantFrom(0, 7), times: fc.constantFrom("happened" as const, "received" as const) }),
      async (frames, [one, other, through], blockBytes, hidden, { lag, times }) => {
        const directory = temporaryDirectory()
        const writer = openWriter(directory, blockBytes)
        const known = new Set<number>()
        const alive = new Set<number>()
        let [clock, version] = [0, 0]
        for (const [index, steps] of frames.entries()) {
          const newObjects: number[] = []
          const events = steps.map(({ number, wait, isEnd }): SampleEvent => {
            clock += wait
            version++
            if (!known.has(number)) newObjects.push(number)
            known.add(number)
            const action = isEnd && alive.has(number) ? "deleted" : "applied"
            if (action === "applied") alive.add(number)
            else alive.delete(number)
            const object = `{"at":${clock},"x":"${"y".repeat(80)}"}`
            return { action, number, time: START + clock, received: START + clock + lag, version, object }
          })
          writer.append("w", 1, index + 1, encodeFrame({ gvk, events, newObjects }))
          writer.commit()
        }
        const [fromTime, untilTime] = [START + Math.min(one, other), START + Math.max(one, other)]
        const limits = { cut: through, fromTime, untilTime, times }
        const names = new Set(hidden.map((number) => nameOf(gvk, number).name))
        const reader = ArchiveReader.open(directory)
        onTestFinished(() => reader.close())
        const isShown = ({ name }: { readonly name: string }): boolean => !names.has(name)
        const snapshot = [...reader.snapshotAt({ cut: through, time: fromTime, times })].filter(isShown)
        const events = [...reader.events(limits)].flatMap((event) =>
          event.type === "object" && isShown(event) ? [event] : [],
        )
        const counts = await countWindow(directory, limits, {
          kinds: [gvk, "v1.Node"],
          pause,
          ...(names.size > 0 && { excludesName: (_: string, name: string) => names.has(name) }),
        })
        expect(counts).toEqual(new Map([[gvk, { objects: snapshot.length, events: events.length }]]))
      },
    ),
    { numRuns: rounds(60) },
  )
})

test("comparing names pauses often, however long each takes, so that a client that has gone is noticed", async () => {
  const directory = temporaryDirectory()
  const writer = openWriter(directory, 100_000)
  const numbers = [1, 2, 3, 4, 5, 6]
  const events = numbers.map(
    (number): SampleEvent => ({ action: "applied", number, time: START, version: number, object: "{}" }),
  )
  writer.append("w", 1, 1, encodeFrame({ gvk, events, newObjects: numbers }))
  writer.commit()
  let compared = 0
  const gone = new Error("the client has gone")
  const counting = countWindow(
    directory,
    { cut: 6, fromTime: START, untilTime: START + 1 },
    {
      kinds: [gvk],
      excludesName: () => {
        compared++
        for (const start = performance.now(); performance.now() - start < 10; );
        return false
      },
      pause: () => Promise.reject(gone),
    },
  )
  await expect(counting).rejects.toBe(gone)
  expect(compared).toBe(1)
})
