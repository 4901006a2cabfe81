/** What recorders and compactions read of manifests. */
import { expect, test } from "vitest"
import { compactedThrough } from "../../../src/fleet/index.ts"
import { type Manifest, manifestKey, readManifest } from "../../../src/fleet/stream/manifest.ts"
import { MemoryStore } from "../memory-store.ts"

const object = {
  ...{
    key: "compacted/1",
    from: 1,
    through: 7,
    sha256: "ab",
    isWhole: true,
    bytes: 5,
    gaps: 0,
    fromTime: 1,
    toTime: 2,
  },
}

test("a manifest says up to where a stream is compacted, in its first bytes", async () => {
  const store = new MemoryStore()
  expect(await readManifest(store)).toEqual({ number: 0, compactedThrough: 0, compacted: [] })
  const manifest: Manifest = { compactedThrough: 7, keptFrom: 3, compacted: [object] }
  const bytes = Buffer.from(JSON.stringify(manifest))
  store.objects.set(manifestKey(1), bytes)
  expect(await readManifest(store)).toEqual({ number: 1, ...manifest })
  store.objects.set(manifestKey(1), bytes.subarray(0, 64))
  expect(await compactedThrough(store)).toBe(7)
})

test("a manifest that is not one is named", async () => {
  const store = new MemoryStore()
  store.objects.set(manifestKey(2), Buffer.from('{"compacted": []}'))
  for (const read of [readManifest, compactedThrough])
    await expect(read(store)).rejects.toThrow(
      /manifest\/000000000002\.json is damaged: it is not what this version writes/,
    )
})

test("a manifest that is gone on reading is looked for again, and a stream without it is not one that was never compacted", async () => {
  const store = new MemoryStore()
  const manifest = (through: number) => Buffer.from(JSON.stringify({ compactedThrough: through, compacted: [] }))
  for (const read of [readManifest, compactedThrough]) {
    store.objects.clear()
    store.objects.set(manifestKey(1), manifest(7))
    let isFirst = true
    store.absent = (key) => {
      if (isFirst) store.objects.set(manifestKey(2), manifest(9))
      isFirst = false
      return key === manifestKey(1)
    }
    const found = await read(store)
    expect(typeof found === "number" ? found : found.compactedThrough).toBe(9)
    store.absent = () => true
    await expect(read(store)).rejects.toThrow(
      /manifest\/000000000002\.json is damaged: it is listed, and cannot be found/,
    )
  }
})
