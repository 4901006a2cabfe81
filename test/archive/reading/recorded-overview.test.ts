/** The overview of a recording: the same counts as its events have, without reading one. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ArchiveReader } from "../../../src/archive/archive-reader.ts"
import { NotARecordingError } from "../../../src/archive/directory/archive-errors.ts"
import { readCoverage } from "../../../src/archive/reading/recorded-coverage.ts"
import { readOverview } from "../../../src/archive/reading/recording-facts.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { recordSample, sample, sampleKinds } from "../sample-recording.ts"

test("counts by kind are those of the events, and stretches add up to them", () => {
  const directory = sample()
  const counted = new Map<string, number>()
  const reader = ArchiveReader.open(directory)
  for (const event of reader.events({}))
    if (event.type === "object") counted.set(event.gvk, (counted.get(event.gvk) ?? 0) + 1)
  reader.close()
  const { kinds, stretches, namespaces, gaps, late } = readOverview(directory)
  const withEvents = kinds.filter(({ events }) => events > 0)
  expect(new Map(withEvents.map(({ gvk, events }) => [gvk, events]))).toEqual(counted)
  const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, each) => total + each, 0)
  expect(sum(stretches.map(({ events }) => events))).toBe(sum([...counted.values()]))
  for (const { from, to } of stretches) expect(from).toBeLessThanOrEqual(to)
  expect(namespaces).toEqual([{ namespace: "shop", objects: sum(withEvents.map(({ objects }) => objects)) }])
  expect(new Set(gaps.map(({ gvk }) => gvk))).toEqual(new Set(sampleKinds))
  const covered = readCoverage(directory, { fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER })
  expect(late).toEqual(covered.kinds.flatMap((kind) => kind.late))
})

test("it is the same while a writer is at work", () => {
  const directory = temporaryDirectory()
  const writer = recordSample(directory)
  const during = readOverview(directory)
  writer.close()
  expect(readOverview(directory).kinds).toEqual(during.kinds)
})

test("a directory without a recording is refused", () => {
  const directory = join(temporaryDirectory(), "absent")
  rmSync(directory, { recursive: true, force: true })
  expect(() => readOverview(directory)).toThrow(NotARecordingError)
})
