import { expect, test } from "vitest"
import { SpooledBytes } from "../../../src/trace/files/trace-input.ts"
import { fileSpool, memorySpool } from "../../../src/trace/spool.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> => {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test.each([
  ["memory", memorySpool],
  ["a file", () => fileSpool(temporaryDirectory())],
])("readers get all bytes from %s, whenever they start, and wait for those that are missing", async (_, open) => {
  const [second, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const source = async function* () {
    yield Buffer.from("one ")
    await second.promise
    yield Buffer.from("two ".repeat(50_000))
    await third.promise
    yield Buffer.from("three")
  }
  using spooled = new SpooledBytes(open(), source())
  const early = textOf(spooled.read())
  second.resolve()
  const partly = spooled.read()
  expect(Buffer.from((await partly.next()).value ?? "").toString()).toMatch(/^one /)
  third.resolve()
  const whole = `one ${"two ".repeat(50_000)}three`
  expect(await early).toBe(whole)
  expect((await textOf(partly)).length).toBeLessThan(whole.length)
  expect(await textOf(spooled.read())).toBe(whole)
})

test("readers get what arrived before the source failed, and then its error", async () => {
  const source = async function* () {
    yield Buffer.from("one")
    throw new Error("the connection broke")
  }
  using spooled = new SpooledBytes(memorySpool(), source())
  for (let attempt = 0; attempt < 2; attempt++) {
    const bytes = spooled.read()
    expect(Buffer.from((await bytes.next()).value ?? "").toString()).toBe("one")
    await expect(bytes.next()).rejects.toThrow("the connection broke")
  }
})
