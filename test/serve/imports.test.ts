/** Serving the past loads neither the sandbox nor actors: it starts fast and stays small. */
import { readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const importing = /^(?:import|export)\b(?! type)[^"]*?\bfrom "([^"]+)"/gm

test("the room imports the API server, the archive, traces and names of kinds, and nothing that runs a cluster", () => {
  const modules = new Set<string>([resolve(root, "src/serve/index.ts")])
  for (const file of modules)
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(importing))
      if (name.startsWith(".") && name.endsWith(".ts")) modules.add(resolve(dirname(file), name))
  const folders = new Set([...modules].map((file) => relative(root, file).split("/")[1] ?? ""))
  expect([...folders].filter((folder) => !folder.endsWith(".ts")).sort()).toEqual([
    ...["apiserver", "archive", "kube", "serve", "text", "trace", "wire"],
  ])
})
