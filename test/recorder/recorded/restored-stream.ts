/** What a stream has, as a list of changes that can be compared with a sandbox's ledger. */
import { expect } from "vitest"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { openStore, readStorePlace } from "../../../src/blob/index.ts"
import { restoreStream } from "../../../src/fleet/index.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { type Change, differences, ledgerOf } from "./recorded-sandbox.ts"

/** Every change in a stream, restored. Rejects if it is not whole, or has a gap. */
export const restored = async (address: string, kinds: ReadonlyArray<string>): Promise<ReadonlyArray<Change>> => {
  const reading = readStorePlace(address)
  if (reading.tag !== "place") throw new Error(reading.message)
  const store = await openStore(reading.place)
  const directory = temporaryDirectory()
  await restoreStream(store, directory)
  store.close()
  const reader = ArchiveReader.open(directory)
  try {
    const window = { cut: reader.cut(), fromTime: 0, untilTime: Number.MAX_SAFE_INTEGER, kinds }
    return [...reader.events(window)].flatMap((event) => {
      if (event.type === "gap") throw new Error(`a gap: ${JSON.stringify(event)}`)
      const { gvk, uid, resourceVersion, action, name } = event
      return [{ gvk, uid, resourceVersion, action, name } as Change]
    })
  } finally {
    reader.close()
  }
}

/** Each change that happened is in the stream once, in order, and nothing else. */
export const expectLedger = async (sandbox: Sandbox, address: string, kinds: ReadonlyArray<string>): Promise<void> => {
  const changes = await restored(address, kinds)
  const ordered = changes.toSorted((one, other) => Number(one.resourceVersion) - Number(other.resourceVersion))
  for (const gvk of kinds) expect(differences(ordered, ledgerOf(sandbox, gvk), gvk)).toEqual({})
}
