/** The main thread supervises and serves HTTP; everything that reads or writes a recording runs in a worker. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const dist = fileURLToPath(new URL("../../dist", import.meta.url))

/** Everything that is loaded with a bundle, Node's modules included; not what it imports on demand. */
const loadedWith = (bundle: string): ReadonlySet<string> => {
  const loaded = new Set([bundle])
  for (const file of loaded) {
    if (!existsSync(join(dist, file))) continue
    const imports = readFileSync(join(dist, file), "utf8").matchAll(/\b(?:from|import)\s*"([^"]+)"/g)
    for (const [, name = ""] of imports) loaded.add(name.startsWith(".") ? join(dirname(file), name) : name)
  }
  return loaded
}

/** A hash of eight characters, which may be hyphens, follows the name of the module. */
const partOf = (module: string): string =>
  readdirSync(dist).find((name) => new RegExp(`^part-${module}-.{8}\\.js$`).test(name)) ?? `no part of ${module}`

test("a recorder's main thread loads nothing that reads or writes a recording", () => {
  for (const bundle of [partOf("run-recorder"), "lib/recorder.js"]) {
    const loaded = loadedWith(bundle)
    expect(loaded).toContain("node:http")
    expect(loaded).not.toContain("node:sqlite")
  }
})

test("the reader and the store do load it, so the search works", () => {
  for (const bundle of ["workers/reader.js", "workers/store.js", partOf("store")])
    expect(loadedWith(bundle)).toContain("node:sqlite")
})
