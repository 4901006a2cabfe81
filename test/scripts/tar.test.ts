import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { type ArchivedFile, archiveOf } from "../../scripts/tar.ts"

const file = (path: string, text: string, isExecutable = false): ArchivedFile => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})

const deep = `${"folder/".repeat(14)}${"n".repeat(90)}.js`

describe("an archive", () => {
  test("is what tar reads, with contents, long paths and modes", () => {
    const place = mkdtempSync(join(tmpdir(), "kubereel-tar-"))
    try {
      const files = [file("bin/run.js", "#!/usr/bin/env node\n", true), file("empty", ""), file(deep, "x".repeat(1024))]
      writeFileSync(join(place, "a.tar"), Buffer.concat([...archiveOf(files)]))
      const { status, stderr } = spawnSync("tar", ["-xf", "a.tar"], { cwd: place, encoding: "utf8" })
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
      for (const { path, content, isExecutable } of files) {
        expect(readFileSync(join(place, path))).toEqual(content)
        expect(statSync(join(place, path)).mode & 0o777).toBe(isExecutable ? 0o755 : 0o644)
      }
    } finally {
      rmSync(place, { recursive: true })
    }
  })

  test("is the same whatever the order of the files", () => {
    const [one, two] = [file("a", "1"), file("b", "2")]
    expect(Buffer.concat([...archiveOf([two, one])])).toEqual(Buffer.concat([...archiveOf([one, two])]))
  })

  test("is refused for a path that the format has no room for", () => {
    expect(() => [...archiveOf([file("n".repeat(101), "")])]).toThrow("is too long for a tar archive")
    expect(() => [...archiveOf([file(`${"p".repeat(156)}/name`, "")])]).toThrow("is too long for a tar archive")
  })
})
