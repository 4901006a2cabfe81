import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type SimdModule, staleModules } from "../../scripts/simd.ts"

const module: SimdModule = { sources: "src/pass", file: "src/pass-module.ts", entry: "pass.ts", pages: 1 }
const { file } = module

describe("a committed WebAssembly module", () => {
  let root = ""

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "kubereel-simd-"))
    mkdirSync(join(root, module.sources), { recursive: true })
    write("src/pass/pass.ts", "export function one(): i32 { return 1 }\n")
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const write = (name: string, text: string): void => writeFileSync(join(root, name), text)
  const stale = (binary: string): Map<string, string> => staleModules([module], root, () => Buffer.from(binary))
  const commit = (binary: string): void => {
    for (const [name, text] of stale(binary)) write(name, text)
  }

  test("is stale until it was written, and fresh from then on", () => {
    expect([...stale("bytes").keys()]).toEqual([file])
    commit("bytes")
    expect(stale("bytes").size).toBe(0)
  })

  test("is stale if its sources compile to other bytes", () => {
    commit("bytes")
    expect([...stale("bytez").keys()]).toEqual([file])
  })

  test("is stale if a source changed, although the bytes did not", () => {
    commit("bytes")
    write("src/pass/pass.ts", "// one\nexport function one(): i32 { return 1 }\n")
    expect([...stale("bytes").keys()]).toEqual([file])
  })

  test("is stale if its file was edited by hand", () => {
    commit("bytes")
    write(file, 'export const simdModule = ""')
    expect([...stale("bytes").keys()]).toEqual([file])
  })
})
