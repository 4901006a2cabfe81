/** What is said of a copy that is sent again, kind by kind, is what was said when it was sent. */
import { expect, test } from "vitest"
import { DeltaReader, fromTheBeginning, kindsIn } from "../../../src/archive/index.ts"
import { damage, sample } from "../sample-recording.ts"

test.each([
  ["no block is lost", "SELECT 1"],
  ["the first block is lost", "DELETE FROM block WHERE last_sequence = (SELECT min(last_sequence) FROM block)"],
  ["the last block is lost", "DELETE FROM block WHERE last_sequence = (SELECT max(last_sequence) FROM block)"],
])("events of blocks that are there are counted, and those of others are gaps: %s", (_, sql) => {
  const directory = sample()
  damage(directory, sql)
  const reader = new DeltaReader(directory)
  try {
    const { kinds } = reader.read(fromTheBeginning, () => 0, Number.POSITIVE_INFINITY)
    const plain = (all: typeof kinds) =>
      all
        .map(({ gvk, events, gaps, fromTime, toTime }) => ({ gvk, events, gaps, fromTime, toTime }))
        .sort((one, other) => one.gvk.localeCompare(other.gvk))
    expect(plain(kindsIn(directory))).toEqual(plain(kinds))
  } finally {
    reader.close()
  }
})
