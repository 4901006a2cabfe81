/** The Containerfile, without an engine to build it: the files that it copies are enough for what it runs, and give the tested image. */
import { execFile } from "node:child_process"
import { cpSync } from "node:fs"
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isThorough } from "../harness/effort.ts"
import { patient } from "../harness/patience.ts"
import { printed } from "./printed.ts"
import { StagedImage } from "./staged-image.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

let containerfile = ""
let directory = ""
beforeAll(async () => {
  containerfile = await readFile(join(root, "Containerfile"), "utf8")
  directory = await mkdtemp(join(tmpdir(), "kubereel-containerfile-"))
})
afterAll(async () => {
  await run("chmod", ["-R", "u+w", directory])
  await rm(directory, { recursive: true, force: true })
})

/** Arguments of an instruction, one list each time it occurs in the stage that builds. */
const instructions = (name: string): ReadonlyArray<string> => {
  const [build = ""] = containerfile.split(/^FROM scratch$/m)
  return [...build.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest)
}

// It builds the project once more: 10 s of CPU.
test.runIf(isThorough() || process.env.CI === "true")(
  "the files that it copies are enough to build the tested image",
  { timeout: patient(120_000) },
  async () => {
    for (const copied of instructions("COPY")) {
      const words = copied.split(" ")
      const target = words.pop() ?? ""
      for (const source of words)
        cpSync(join(root, source), join(directory, target === "./" ? basename(source) : target), { recursive: true })
    }
    const [install = "", build = "", ...more] = instructions("RUN")
    expect({ install, more }).toEqual({ install: "npm ci --no-audit --no-fund", more: [] })
    // The result of "npm ci" is here already; a test needs no registry.
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
    const image = join(directory, "image")
    const command = build.replace(" /image", ` ${image}`)
    expect(command).toContain(image)
    const { stdout } = await run("sh", ["-ec", command], {
      cwd: directory,
      env: { ...process.env, SOURCE_DATE_EPOCH: "0" },
    })
    // To the byte: names, contents and modes, from another directory at another time.
    await using tested = await StagedImage.stage()
    expect(stdout).toContain(tested.digest)
  },
)

test("it starts the recorder as the user of the manifests, with the tested entry point", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string }
  const { runAsUser, runAsGroup } = (await printed("--offline")).one("Deployment").spec.template.spec.securityContext
  expect(containerfile).toContain(`USER ${runAsUser}:${runAsGroup}\n`)
  expect(containerfile).toContain(`ENTRYPOINT ["/nodejs/bin/node", "/app/bin/reel.js"]`)
  expect(containerfile).toContain(`ARG VERSION=${version}\n`)
})

test("its last stage is labelled and takes nothing from a base image", () => {
  const last = containerfile.split(/^FROM scratch$/m)[1] ?? ""
  for (const label of ["title", "description", "licenses", "documentation", "version", "revision"])
    expect(last).toContain(`org.opencontainers.image.${label}=`)
  expect(last.match(/^(?:RUN|FROM|ADD) /gm)).toBeNull()
})
