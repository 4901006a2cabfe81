/** The manifest of the plugin, against what krew's documentation and its validation of an index require. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { parse } from "yaml"
import { krewArchive, manifestOf, type Release } from "../../scripts/krew.ts"
import { recordStory } from "../cli/past-recording.ts"

const template = readFileSync(fileURLToPath(new URL("../../krew/reel.yaml", import.meta.url)), "utf8")
const release: Release = {
  version: "1.2.3",
  homepage: "https://reel.example.com",
  uri: "https://reel.example.com/v1.2.3/kubectl-reel-v1.2.3.tar.gz",
  sha256: "0123456789abcdef".repeat(4),
}
const manifest = parse(manifestOf(template, release))
const { spec } = manifest

describe("the manifest", () => {
  test("is of the version that krew reads, and named like its file and the command", () => {
    expect(manifest).toMatchObject({
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: "reel" },
    })
    expect(Object.keys(manifest).sort()).toEqual(["apiVersion", "kind", "metadata", "spec"])
  })

  test("has no field that krew does not know", () => {
    const known = ["caveats", "description", "homepage", "platforms", "shortDescription", "version"]
    expect(Object.keys(spec).sort()).toEqual(known)
    for (const platform of spec.platforms)
      expect(Object.keys(platform).sort()).toEqual(["bin", "selector", "sha256", "uri"])
  })

  test("has a version with a v, and a short description in one line of at most 50 characters without a full stop", () => {
    expect(spec.version).toBe("v1.2.3")
    expect(spec.shortDescription).toMatch(/^[A-Z].{1,48}[^.\n]$/)
  })

  test("selects systems and architectures by nothing else, and covers Linux and macOS", () => {
    const systems = spec.platforms.flatMap(({ selector }: { selector: { matchExpressions: Array<object> } }) =>
      selector.matchExpressions.map((expression) => {
        expect(expression).toMatchObject({ key: expect.stringMatching(/^(?:os|arch)$/), operator: "In" })
        return (expression as { values: ReadonlyArray<string> }).values
      }),
    )
    expect(systems.flat()).toEqual(["linux", "darwin"])
  })

  test("names the archive, its sum in lower-case digits, and the program in it", () => {
    for (const platform of spec.platforms) {
      expect(platform).toMatchObject({ uri: release.uri, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
      expect(readFileSync(fileURLToPath(new URL(`../../${platform.bin}`, import.meta.url)), "utf8")).toMatch(
        /^#!\/usr\/bin\/env node\n/,
      )
    }
  })

  test("says that Node is needed, from the version that the program asks for", () => {
    const { engines } = JSON.parse(readFileSync(fileURLToPath(new URL("../../package.json", import.meta.url)), "utf8"))
    expect(spec.caveats).toContain(`Node.js ${engines.node.replace(">=", "")} or later`)
  })
})

test("values with signs of replacement patterns are taken as they are", () => {
  const uri = "https://reel.example.com/$&/$1.tar.gz"
  expect(parse(manifestOf(template, { ...release, uri })).spec.platforms[0].uri).toBe(uri)
})

test("a template without a place for a value is an error", () => {
  expect(() => manifestOf(template.replace("SHA256", "none"), release)).toThrow("krew/reel.yaml has no SHA256")
})

test("the archive has all that the plugin needs but Node, beside nothing else", async () => {
  const place = mkdtempSync(join(tmpdir(), "kubereel-krew-"))
  try {
    writeFileSync(join(place, "archive.tar.gz"), await krewArchive(fileURLToPath(new URL("../..", import.meta.url)), 1))
    expect(spawnSync("tar", ["-xzf", "archive.tar.gz"], { cwd: place }).status).toBe(0)
    recordStory(join(place, "recording"))
    symlinkSync(spec.platforms[0].bin, join(place, "kubectl-reel"))
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
    const run = (...words: ReadonlyArray<string>) =>
      spawnSync(join(place, "kubectl-reel"), words, { cwd: place, encoding: "utf8", env })
    expect(run("help").stdout).toMatch(/^Usage: kubectl reel COMMAND/)
    expect(run("get", "deploy", "--data-dir", "recording").stdout).toMatch(/^shop +web /m)
  } finally {
    rmSync(place, { recursive: true })
  }
})
