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
