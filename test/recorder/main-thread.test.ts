/** The main thread supervises and serves HTTP; everything that reads or writes a recording runs in a worker. */
import { readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../../src", import.meta.url))

/** The imports of a module from our sources and from Node, without types, which do not exist at run time. */
const importsOf = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(file, "utf8")
  const statements = text.matchAll(/^(?:import|export)\s(?!type\s)(?:[^"';]*?\sfrom\s)?"([^"]+)"/gm)
  const dynamic = text.matchAll(/\bimport\("([^"]+)"\)/g)
  return [...statements, ...dynamic].map(([, specifier = ""]) => specifier)
}

/** Every module that is loaded with `entry`, with its import path. */
const loadedWith = (entry: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>([[entry, entry]])
  for (const [file, way] of found) {
    if (!file.endsWith(".ts")) continue
    for (const specifier of importsOf(join(root, file))) {
      const name = specifier.startsWith(".") ? relative(root, join(root, dirname(file), specifier)) : specifier
      if (!found.has(name)) found.set(name, `${way} → ${name}`)
    }
  }
  return found
}

const readsDatabase = (module: string): boolean => module.startsWith("archive/") || module === "node:sqlite"

test("a recorder's main thread loads nothing that reads or writes a recording", () => {
  const loaded = loadedWith("recorder/recorder.ts")
  // Otherwise the test would check nothing.
  expect(loaded.size).toBeGreaterThan(100)
  expect([...loaded].filter(([module]) => readsDatabase(module)).map(([, way]) => way)).toEqual([])
})

test("the reader and the store do load it, so the search works", () => {
  for (const entry of ["actors/entries/reader.ts", "actors/entries/store.ts"])
    expect([...loadedWith(entry).keys()]).toContain("node:sqlite")
})
