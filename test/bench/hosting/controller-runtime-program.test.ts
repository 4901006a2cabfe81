import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { buildControllerRuntime } from "../../../bench/hosting/controller-runtime-program.ts"

let directory = ""

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kubereel-controller-runtime-"))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** An environment whose only `go` is a shell script; without one it has none at all. */
const environmentWith = async (script?: string): Promise<NodeJS.ProcessEnv> => {
  const bin = join(directory, "bin")
  await mkdir(bin)
  if (script !== undefined) {
    await writeFile(join(bin, "go"), `#!/bin/sh\n${script}\n`)
    await chmod(join(bin, "go"), 0o755)
  }
  const path = script === undefined ? bin : [bin, process.env.PATH].join(delimiter)
  return { PATH: path, HOME: directory, XDG_CACHE_HOME: join(directory, "cache") }
}

test("where Go is not installed, the program is missing and the reason says so", async () => {
  expect(await buildControllerRuntime(await environmentWith())).toEqual({ missing: "Go is not on the PATH" })
})

test("where the build fails, the reason is the last line of Go, which comes after the modules that it fetched", async () => {
  const environment = await environmentWith(
    'echo "go: downloading example.com/a v1.0.0" >&2; echo "go: go.mod requires go >= 1.26.0 (running go 1.24.1)" >&2; exit 1',
  )
  expect(await buildControllerRuntime(environment)).toEqual({
    missing: "go build failed: go: go.mod requires go >= 1.26.0 (running go 1.24.1)",
  })
})

test("the program is built from its own folder into the cache directory, with the Go that is there and nothing but go.sum's modules", async () => {
  const environment = await environmentWith(
    'while [ "$1" != -o ]; do shift; done; echo "$GOTOOLCHAIN $GOFLAGS" > "$2"; cat go.mod >> "$2"',
  )
  const path = join(directory, "cache", "kubereel-bench", "controller-runtime")
  expect(await buildControllerRuntime(environment)).toEqual({ path })
  const written = await readFile(path, "utf8")
  expect(written).toMatch(/^local -buildvcs=false -mod=readonly\n/)
  expect(written).toContain("sigs.k8s.io/controller-runtime v0.25.2")
})
