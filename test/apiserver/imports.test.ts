/** The server can serve an archive without loading the half that writes: nothing imports it. */

import { readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** `import … from`, `export … from`, `import "…"` and `import("…")`. */
const importing = /^(?:import|export)\b[^"]*?\bfrom "([^"]+)"|(?:^import |\bimport\()"([^"]+)"/gm

/** All direct and indirect imports of a module: our modules by path, packages by name. */
const reachable = (entry: string): { modules: ReadonlySet<string>; packages: ReadonlySet<string> } => {
  const modules = new Set<string>([resolve(root, entry)])
  const packages = new Set<string>()
  for (const file of modules) {
    if (!file.endsWith(".ts")) continue
    for (const [, named, loaded, name = named ?? loaded ?? ""] of readFileSync(file, "utf8").matchAll(importing)) {
      if (name.startsWith(".")) modules.add(resolve(dirname(file), name))
      else if (!name.startsWith("node:")) packages.add(name)
    }
  }
  return { modules: new Set([...modules].map((file) => relative(root, file))), packages }
}

test("the server imports its own modules and those of kube, text and the clock, none of the sandbox", () => {
  const { modules, packages } = reachable("src/apiserver/index.ts")
  const folders = new Set([...modules].map((file) => file.split("/").slice(0, 2).join("/")))
  expect([...folders].sort()).toEqual(["src/apiserver", "src/clock.ts", "src/kube", "src/text"])
  expect([...packages].sort()).toEqual(["effect/Schema", "protobufjs/minimal.js", "yaml"])
})

test("the walk finds the sandbox's imports, so it would find them here", () => {
  const { modules } = reachable("src/sandbox/index.ts")
  expect([...modules]).toEqual(
    expect.arrayContaining(["src/sandbox/writes/store-backend.ts", "src/apiserver/api-handler.ts", "src/kube/gvk.ts"]),
  )
})
