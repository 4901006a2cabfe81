/** The content of the image; pod.test.ts tests that it is enough, and containerfile.test.ts that two stagings are identical. */
import { execFile } from "node:child_process"
import { copyFileSync, writeFileSync } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isThorough } from "../harness/effort.ts"
import { patient } from "../harness/patience.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { StagedImage } from "./staged-image.ts"

const examples = fileURLToPath(new URL("../../examples/host", import.meta.url))

let image: StagedImage
beforeAll(async () => {
  image = await StagedImage.stage()
})
afterAll(() => image?.[Symbol.asyncDispose]())

// It compresses 200 MB: 4 s of CPU.
test.runIf(isThorough() || process.env.CI === "true")(
  "it takes less than 80 MB in a registry",
  { timeout: patient(60_000) },
  async () => {
    expect(await image.compressedSize()).toBeLessThan(80e6)
  },
)

test("it can write to every store: the SDKs are complete", { timeout: patient(60_000) }, async () => {
  const script = `for (const name of ["@aws-sdk/client-s3", "@azure/storage-blob", "@google-cloud/storage"]) {
    const sdk = await import(name)
    console.log(Object.keys(sdk).filter((each) => /^(S3Client|BlobServiceClient|Storage)$/.test(each)).join())
  }`
  const { stdout } = await promisify(execFile)(
    join(image.directory, "nodejs/bin/node"),
    ["--input-type=module", "--eval", script],
    { cwd: join(image.directory, "app"), env: {} },
  )
  expect(stdout.trim().split("\n")).toEqual(["S3Client", "BlobServiceClient", "Storage"])
})

test("it can load scripts of a controller host, beside which nothing is installed", async () => {
  const modules = temporaryDirectory()
  for (const name of ["simplepod.ts", "simplepod-controller.ts", "simplepod-types.ts", "simplepod.yaml"])
    copyFileSync(join(examples, "typescript", name), join(modules, name))
  const { stdout } = await promisify(execFile)(
    join(image.directory, "nodejs/bin/node"),
    [
      join(image.directory, "app/bin/reel.js"),
      ...["k8s", "--host", modules, "--offline", "--crd", join(examples, "simplepod-crd.yaml")],
    ],
    { cwd: modules, env: {} },
  )
  expect(stdout).toContain("simplepods/status")
})

test("it is SimKube's driver and controller too, under their names", async () => {
  for (const [program, command] of Object.entries({ "sk-driver": "driver", "sk-ctrl": "controller" })) {
    const text = await readFile(join(image.directory, program), "utf8")
    const [first = "", ...rest] = text.split("\n")
    expect(first).toBe("#!/nodejs/bin/node")
    // Elsewhere than in its own file system, the paths in it lead nowhere.
    const staged = rest.join("\n").replace("/app/", join(image.directory, "app/"))
    const script = join(temporaryDirectory(), program)
    writeFileSync(script, staged)
    const { stdout } = await promisify(execFile)(join(image.directory, "nodejs/bin/node"), [script, "--help"], {
      env: {},
    })
    expect(stdout).toContain(`reel ${command}`)
    expect((await stat(join(image.directory, program))).mode & 0o777).toBe(0o555)
  }
})

test("it contains no sources, tests, source maps, package manager or shell", async () => {
  const { stdout } = await promisify(execFile)("find", [image.directory, "-type", "f"], { maxBuffer: 16 << 20 })
  const files = stdout
    .trim()
    .split("\n")
    .map((path) => path.slice(image.directory.length))
  expect(
    files.filter((path) =>
      /\.ts$|\.map$|\/npm|\/sh$|test-workers|^\/app\/(?!bin|dist|node_modules|LICENSE|package\.json)/.test(path),
    ),
  ).toEqual([])
  // Not just because the directory is empty.
  expect(files).toContain("/app/dist/workers/watcher.js")
})

test("nothing in it is writable except the mounts of its user", async () => {
  const { stdout } = await promisify(execFile)("find", [
    join(image.directory, "app"),
    join(image.directory, "nodejs"),
    "-perm",
    "/222",
  ])
  expect(stdout).toBe("")
})
