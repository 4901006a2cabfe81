import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import {
  RedactionKey,
  RedactionKeyError,
  type RedactionKeyNotice,
  readRedactionKey,
  redactionKeyFile,
  redactionKeyIn,
} from "../../../src/recorder/redaction/redaction-key.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const refusal = async (path: string): Promise<string> => {
  const error: unknown = await readRedactionKey(path).catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(RedactionKeyError)
  return String((error as Error).message)
}

test("a key is made once, for its owner only, whatever the umask", async () => {
  const path = join(temporaryDirectory(), redactionKeyFile)
  const before = process.umask(0)
  try {
    const made = await redactionKeyIn(path)
    const again = await redactionKeyIn(path)
    expect([made.isNew, again.isNew]).toEqual([true, false])
    expect(Buffer.from(again.key).equals(Buffer.from(made.key))).toBe(true)
    expect(made.key).toHaveLength(64)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  } finally {
    process.umask(before)
  }
})

test("a key has no more memory than its bytes, because each worker gets a copy of all of it", async () => {
  const path = join(temporaryDirectory(), redactionKeyFile)
  for (const { key } of [await redactionKeyIn(path), await redactionKeyIn(path)])
    expect(key.buffer.byteLength).toBe(key.length)
})

test("two that make it at the same time have the same one", async () => {
  const path = join(temporaryDirectory(), redactionKeyFile)
  const made = await Promise.allSettled([redactionKeyIn(path), redactionKeyIn(path), redactionKeyIn(path)])
  const keys = made.flatMap((each) => (each.status === "fulfilled" ? [Buffer.from(each.value.key).toString()] : []))
  expect(new Set(keys).size).toBe(1)
  expect(keys).toContain(readFileSync(path, "utf8"))
})

test("a key that could be guessed, or a file that is none, is refused without its content", async () => {
  const directory = temporaryDirectory()
  const path = join(directory, "key")
  expect(await refusal(path)).toMatch(/key cannot be used: file not found$/)
  writeFileSync(path, "  short-secret  \n")
  const message = await refusal(path)
  expect(message).toMatch(/it has 12 bytes; at least 16 are needed$/)
  expect(message).not.toContain("short-secret")
  mkdirSync(join(directory, "folder"))
  expect(await refusal(join(directory, "folder"))).toMatch(/it is a directory$/)
})

test("watchers wait for a key that cannot be read, which is said once, and all get the same", async () => {
  const directory = temporaryDirectory()
  const notices: Array<RedactionKeyNotice> = []
  const file = join(directory, "later")
  const run = <A>(effect: Effect.Effect<A>): Promise<A> => Effect.runPromise(effect)
  const key = new RedactionKey({ file, directory }, (notice) => notices.push(notice), run, 1)
  const first = key.get()
  const second = key.get()
  while (notices.length === 0) await new Promise((resolve) => setImmediate(resolve))
  writeFileSync(file, "0123456789abcdef0123456789abcdef\n")
  expect(Buffer.from(await first).toString()).toBe("0123456789abcdef0123456789abcdef")
  expect(await second).toBe(await first)
  expect(notices).toEqual([
    { type: "redaction-key", trouble: `the key for redacted values in ${file} cannot be used: file not found` },
    { type: "redaction-key", trouble: undefined },
  ])
})
