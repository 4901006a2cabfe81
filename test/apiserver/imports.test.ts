/** An archive can stand behind the server without the half that writes being loaded: nothing imports it. */

import { readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** `import … from`, `export … from`, `import "…"` and `import("…")`. */
const importing = /^(?:import|export)\b[^"]*?\bfrom "([^"]+)"|(?:^import |\bimport\()"([^"]+)"/gm

/** Everything that a module reaches: modules of ours by path, packages by the name they are imported by. */
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

test("the server reaches its own modules and those of kube and the clock, none of the sandbox", () => {
  const { modules, packages } = reachable("src/apiserver/index.ts")
  const folders = new Set([...modules].map((file) => file.split("/").slice(0, 2).join("/")))
  expect([...folders].sort()).toEqual(["src/apiserver", "src/clock.ts", "src/kube"])
  expect([...packages].sort()).toEqual(["effect/Schema", "yaml"])
})

test("the walk sees what the sandbox reaches, so it would see it here", () => {
  const { modules } = reachable("src/sandbox/index.ts")
  expect([...modules]).toEqual(
    expect.arrayContaining(["src/sandbox/writes/writer.ts", "src/apiserver/api-handler.ts", "src/kube/gvk.ts"]),
  )
})
