/** `kubectl reel`: the programs as krew and npm link them, called by a real kubectl if there is one (`KUBECTL`, or on the PATH) and directly. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { recordStory } from "./past-recording.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const kubectl = process.env.KUBECTL ?? "kubectl"
const skipped = spawnSync(kubectl, ["version", "--client"]).status === 0 ? undefined : "there is no kubectl"

let place: string
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "kubereel-plugin-"))
  symlinkSync(join(root, "bin/kubectl-reel.js"), join(place, "kubectl-reel"))
  // As the help of `reel completions` advises for krew, which links one program only.
  symlinkSync("kubectl-reel", join(place, "kubectl_complete-reel"))
  recordStory(join(place, "recording"))
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** The Node that runs the tests comes first, because the programs look for one. */
const run = (program: string, ...words: ReadonlyArray<string>) => {
  const path = [place, dirname(process.execPath), process.env.PATH].join(delimiter)
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: place,
    encoding: "utf8",
    env: { ...process.env, PATH: path, TZ: "UTC" },
  })
  return { code: status, output: stdout, error: stderr }
}

describe("the programs of the plugin", () => {
  test("are in the package under the names that kubectl looks for", () => {
    const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    expect(bin).toEqual({
      reel: "bin/reel.js",
      "kubectl-reel": "bin/kubectl-reel.js",
      "kubectl_complete-reel": "bin/kubectl-complete-reel.js",
    })
  })

  test("name themselves as the user calls them", () => {
    const { code, output } = run(join(place, "kubectl-reel"), "get", "--help")
    expect(code).toBe(0)
    expect(output).toMatch(/^Usage: kubectl reel get \[OPTION\]/)
    expect(output).toContain("\n  kubectl reel get pods -A --at 03:12\n")
    expect(run(join(place, "kubectl-reel"), "exprot")).toMatchObject({
      code: 2,
      error: 'kubectl reel: unknown command "exprot"; did you mean export?\nTry "kubectl reel --help".\n',
    })
  })

  test("name themselves in messages of every kind, and leave results as they are", () => {
    const plugin = join(place, "kubectl-reel")
    const nowhere = run(plugin, "coverage", "--server", "http://127.0.0.1:1")
    expect(nowhere.error).toMatch(/^kubectl reel coverage: cannot reach a recorder/)
    expect(nowhere.error).not.toMatch(/(?<!kubectl )\breel [a-z]/)
    expect(run(plugin, "get", "pods", "-n", "nowhere", "--data-dir", "recording").error).toBe(
      "kubectl reel get: No resources found in nowhere namespace\n",
    )
    const script = run(plugin, "completions", "bash").output
    expect(script).toContain("complete -F _reel reel\n")
  })

  test("complete by the name of the link, and as a file of their own", () => {
    const expected = { code: 0, output: "ndjson\n:4\n", error: "" }
    expect(run(join(place, "kubectl_complete-reel"), "export", "--format", "nd")).toEqual(expected)
    expect(run(join(root, "bin/kubectl-complete-reel.js"), "export", "--format", "nd")).toEqual(expected)
  })
})

describe.skipIf(skipped !== undefined)(`kubectl${skipped === undefined ? "" : ` (${skipped})`}`, () => {
  test("runs the plugin with its options and passes its exit code on", () => {
    const words = ["get", "deploy", "-A", "--at", "2026-03-02T03:05:00Z", "--data-dir", "recording"]
    expect(run(kubectl, "reel", ...words)).toEqual({
      code: 0,
      output:
        "NAMESPACE   NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nshop        web    0/1     0            0           5m\n",
      error: "",
    })
    expect(run(kubectl, "reel", "get", "--nmaespace", "shop")).toMatchObject({
      code: 2,
      error: expect.stringContaining('Try "kubectl reel get --help".'),
    })
  })

  test.each([
    [
      "commands",
      ["expo"],
      ["export\tExports a time window of a recording, of a running recorder or in a directory, to a file"],
      "NoFileComp",
    ],
    [
      "options",
      ["export", "--fo"],
      [expect.stringMatching(/^--format\t/), expect.stringMatching(/^--force\t/)],
      "NoFileComp",
    ],
    ["values", ["export", "--format=k"], ["kwok"], "NoFileComp"],
    ["directories", ["record", "--data-dir", ""], [], "FilterDirs"],
    ["files", ["convert", ""], [], "Default"],
  ])("completes %s through it", (_, words, candidates, directive) => {
    const { output, error } = run(kubectl, "__complete", "reel", ...words)
    const lines = output.split("\n").filter((line) => line !== "" && !/^(?::\d+$|\[Debug\])/.test(line))
    expect(lines).toEqual(candidates)
    expect(error).toContain(`ShellCompDirective${directive}`)
  })
})
