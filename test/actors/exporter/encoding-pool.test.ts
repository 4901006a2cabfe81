import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import fc from "fast-check"
import { afterEach, describe, expect, test } from "vitest"
import { type EncodingLease, EncodingPool, idleMs } from "../../../src/actors/exporter/encoding-pool.ts"
import {
  type EncodedSimkubeBatch,
  encodeSimkubeBatch,
  type SimkubeBatch,
  SimkubeBatchBuilder,
} from "../../../src/trace/formats/simkube/simkube-batch.ts"
import { formatExactJson, type JsonObject } from "../../../src/trace/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn, until } from "../../runtime/until.ts"
import { jsonObject } from "../../trace/json-values.ts"

/** What users run. */
const bundled = new URL("../../../dist/workers/encode.js", import.meta.url)
const type = { apiVersion: "v1", kind: "Pod" }

const batchOf = (objects: ReadonlyArray<JsonObject>): SimkubeBatch => {
  const builder = new SimkubeBatchBuilder(new ArrayBuffer(1024 * 1024))
  for (const object of objects) builder.add(type, Buffer.from(formatExactJson(object)))
  return builder.finish()
}

/** Encodes in a thread, as soon as one has room. */
const encodeIn = async (lease: EncodingLease, batch: SimkubeBatch): Promise<EncodedSimkubeBatch> => {
  for (;;) {
    const encoding = lease.tryEncode(batch)
    if (encoding !== undefined) return encoding
    await turn()
  }
}

const pools: Array<EncodingPool> = []
const directories: Array<string> = []
const newPool = (entry = bundled, clock = new ManualClock(), threads = 1): EncodingPool => {
  const pool = new EncodingPool({ entry, threads, clock })
  pools.push(pool)
  return pool
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()))
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

const moduleOf = (text: string): URL => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-pool-"))
  directories.push(directory)
  const file = join(directory, "entry.mjs")
  writeFileSync(file, text)
  return pathToFileURL(file)
}

describe("the exporter's pool", () => {
  test("encodes what its caller would have encoded", async () => {
    using lease = newPool().lease()
    await fc.assert(
      fc.asyncProperty(fc.array(jsonObject, { maxLength: 10 }), async (specs) => {
        const objects = specs.map((spec) => ({ metadata: { name: "a", managedFields: [spec] }, spec }))
        expect(await encodeIn(lease, batchOf(objects))).toEqual(encodeSimkubeBatch(batchOf(objects)))
      }),
    )
  })

  test("returns memory that was transferred, not copied", async () => {
    using lease = newPool().lease()
    const batch = batchOf([{ spec: {} }])
    const encoded = await encodeIn(lease, batch)
    expect(batch.objects.buffer.byteLength).toBe(0)
    expect(encoded.objects.buffer.byteLength).toBe(1024 * 1024)
  })

  test("reports which object cannot be encoded", async () => {
    using lease = newPool().lease()
    const builder = new SimkubeBatchBuilder(new ArrayBuffer(64))
    for (const json of ["{}", "{"]) builder.add(type, Buffer.from(json))
    expect((await encodeIn(lease, builder.finish())).failure).toMatchObject({ index: 1 })
  })

  test("accepts one batch more than it has threads, and then none until one is returned", async () => {
    using lease = newPool().lease()
    await encodeIn(lease, batchOf([]))
    const first = lease.tryEncode(batchOf([{ spec: {} }]))
    const second = lease.tryEncode(batchOf([{ spec: {} }]))
    const third = batchOf([{ spec: {} }])
    expect([first !== undefined, second !== undefined, lease.tryEncode(third)]).toEqual([true, true, undefined])
    expect(third.objects.length).toBeGreaterThan(0)
    await Promise.all([first, second])
    expect((await encodeIn(lease, third)).lengths.length).toBe(1)
  })

  test("has threads only while there is a lease, and ten seconds longer", async () => {
    const clock = new ManualClock()
    const pool = newPool(bundled, clock)
    expect(pool.isRunning).toBe(false)
    const [first, second] = [pool.lease(), pool.lease()]
    await encodeIn(first, batchOf([]))
    first[Symbol.dispose]()
    first[Symbol.dispose]()
    clock.advance(2 * idleMs)
    expect(pool.isRunning).toBe(true)
    second[Symbol.dispose]()
    clock.advance(idleMs - 1)
    expect(pool.isRunning).toBe(true)
    const third = pool.lease()
    clock.advance(2 * idleMs)
    expect(pool.isRunning).toBe(true)
    third[Symbol.dispose]()
    clock.advance(idleMs)
    expect(pool.isRunning).toBe(false)
    using fourth = pool.lease()
    expect((await encodeIn(fourth, batchOf([{}]))).lengths.length).toBe(1)
  })

  test.each([
    ["cannot be loaded", 'throw new Error("no such luck")', /no such luck/],
    ["has nothing to call", "export const other = 1", /handler/i],
  ])("fails whoever uses it when its module %s, and starts anew for the next", async (_, text, reason) => {
    const pool = newPool(moduleOf(text))
    for (let attempt = 0; attempt < 2; attempt++) {
      using lease = pool.lease()
      await expect(encodeIn(lease, batchOf([{}]))).rejects.toThrow(reason)
    }
  })

  test("rejects the batch of a thread that ends, and continues with another thread", async () => {
    const entry = moduleOf(
      'export default (batch) => { if (batch.lengths.length === 2) process.exit(3); return "here" }',
    )
    using lease = newPool(entry).lease()
    await expect(encodeIn(lease, batchOf([{}, {}]))).rejects.toThrow()
    expect(await encodeIn(lease, batchOf([{}]))).toBe("here")
  })

  test("rejects batches in flight when it is stopped", async () => {
    const pool = newPool(moduleOf("export default (batch) => { if (batch.lengths.length > 0) for (;;); }"))
    using lease = pool.lease()
    let encoding: Promise<unknown> | undefined
    await until(() => {
      encoding = lease.tryEncode(batchOf([{}]))
      return encoding !== undefined
    })
    const rejected = expect(encoding).rejects.toThrow()
    await pool.stop()
    await rejected
    expect(lease.tryEncode(batchOf([{}]))).toBeUndefined()
  })
})
