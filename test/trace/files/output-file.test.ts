import * as fileSystem from "node:fs/promises"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Writable } from "node:stream"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { isExportError } from "../../../src/cli/export/connection/export-errors.ts"
import {
  type OutputFileSystem,
  type OutputSink,
  openOutputFile,
  openOutputForEnd,
  streamOutput,
} from "../../../src/trace/files/output-file.ts"

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubereel-output-"))
})
afterEach(() => rm(folder, { recursive: true }))

const options = { force: false, token: "token" }
const bytes = Buffer.from("trace")

const failure = async (action: Promise<unknown>): Promise<string> => {
  const cause = await action.then(
    () => "nothing failed",
    (cause: unknown) => cause,
  )
  if (!isExportError(cause)) throw new Error(`not one of ours: ${String(cause)}`)
  return cause.message
}

/** Node's file system, in which some calls fail with a code. */
const failing = (
  fails: Partial<Record<keyof OutputFileSystem | "write" | "sync" | "close", string>>,
): OutputFileSystem => {
  const guard = <T extends (...args: never[]) => Promise<unknown>>(name: keyof typeof fails, call: T): T =>
    ((...args: never[]) =>
      fails[name] === undefined
        ? call(...args)
        : Promise.reject(Object.assign(new Error("no"), { code: fails[name] }))) as T
  return {
    stat: guard("stat", fileSystem.stat as OutputFileSystem["stat"]),
    realpath: guard("realpath", fileSystem.realpath as OutputFileSystem["realpath"]),
    link: guard("link", fileSystem.link),
    rename: guard("rename", fileSystem.rename),
    unlink: guard("unlink", fileSystem.unlink),
    open: guard("open", async (path: string, flags: string, mode?: number) => {
      const handle = await fileSystem.open(path, flags, mode)
      return {
        write: guard("write", (bytes: Uint8Array) => handle.write(bytes)),
        sync: guard("sync", () => handle.sync()),
        chmod: (mode: number) => handle.chmod(mode),
        // A failing close frees the descriptor all the same.
        close: async () => {
          await handle.close()
          await guard("close", async () => undefined)()
        },
      }
    }),
  }
}

describe("an output file for the end", () => {
  test("is checked at once, and leaves nothing behind if the process is killed before it is written", async () => {
    const path = join(folder, "report.json")
    const sink = await openOutputForEnd(path, options)
    expect(await readdir(folder)).toEqual([])
    await sink.write(bytes)
    expect(await readdir(folder)).toEqual([".reel-token.partial"])
    await sink.commit()
    await sink.discard()
    expect([await readdir(folder), await readFile(path, "utf8")]).toEqual([["report.json"], "trace"])
    expect(await failure(openOutputForEnd(path, options))).toBe(`${path} exists; use --force to overwrite it`)
    expect(await failure(openOutputForEnd(join(folder, "absent", "a"), options))).toMatch(/absent/)
  })

  test("does not replace a file that appeared in the meantime, and removes what it wrote", async () => {
    const path = join(folder, "report.json")
    const sink = await openOutputForEnd(path, options)
    await writeFile(path, "someone else's")
    expect(await failure(sink.write(bytes))).toBe(`${path} exists; use --force to overwrite it`)
    await sink.discard()
    expect([await readdir(folder), await readFile(path, "utf8")]).toEqual([["report.json"], "someone else's"])
  })

  test("that is a device is opened once", async () => {
    const sink = await openOutputForEnd("/dev/null", options)
    expect(sink.isDirect).toBe(true)
    await sink.write(bytes)
    await sink.commit()
  })
})

describe("an output file", () => {
  test("appears complete when it is committed, and not before", async () => {
    const path = join(folder, "a.ndjson")
    const sink = await openOutputFile(path, options)
    await sink.write(bytes)
    await sink.write(bytes)
    expect(await readdir(folder)).toEqual([".reel-token.partial"])
    await sink.commit()
    await sink.discard()
    expect(await readdir(folder)).toEqual(["a.ndjson"])
    expect(await readFile(path, "utf8")).toBe("tracetrace")
  })

  test("that is discarded leaves nothing behind", async () => {
    const sink = await openOutputFile(join(folder, "a"), options)
    await sink.write(bytes)
    await sink.discard()
    await sink.discard()
    expect(await readdir(folder)).toEqual([])
  })

  test("that exists is rejected at once without force, and replaced atomically with it", async () => {
    const path = join(folder, "a")
    await writeFile(path, "old")
    expect(await failure(openOutputFile(path, options))).toBe(`${path} exists; use --force to overwrite it`)
    const sink = await openOutputFile(path, { ...options, force: true })
    await sink.write(bytes)
    expect(await readFile(path, "utf8")).toBe("old")
    await sink.commit()
    expect(await readFile(path, "utf8")).toBe("trace")
  })

  test("is for its owner alone, unless it replaces one whose mode was widened", async () => {
    const path = join(folder, "a")
    const umask = process.umask(0)
    try {
      const modes: number[] = []
      for (const before of [undefined, 0o640, 0o664]) {
        if (before !== undefined) await chmod(path, before)
        process.umask(before === undefined ? 0 : 0o077)
        const sink = await openOutputFile(path, { ...options, force: true })
        await sink.write(bytes)
        await sink.commit()
        modes.push((await stat(path)).mode & 0o777)
      }
      expect(modes).toEqual([0o600, 0o640, 0o664])
    } finally {
      process.umask(umask)
    }
  })

  test("that appears while the export runs is not overwritten", async () => {
    const path = join(folder, "a")
    const sink = await openOutputFile(path, options)
    await sink.write(bytes)
    await writeFile(path, "somebody else's")
    expect(await failure(sink.commit())).toContain("exists")
    await sink.discard()
    expect(await readdir(folder)).toEqual(["a"])
    expect(await readFile(path, "utf8")).toBe("somebody else's")
  })

  test("that is a link replaces the link's target", async () => {
    const target = join(folder, "target")
    await writeFile(target, "old")
    await symlink(target, join(folder, "link"))
    const sink = await openOutputFile(join(folder, "link"), { ...options, force: true })
    await sink.write(bytes)
    await sink.commit()
    expect(await readFile(target, "utf8")).toBe("trace")
    expect((await fileSystem.lstat(join(folder, "link"))).isSymbolicLink()).toBe(true)
  })

  test("on a file system without links is renamed into place", async () => {
    const path = join(folder, "a")
    const sink = await openOutputFile(path, { ...options, fileSystem: failing({ link: "EPERM" }) })
    await sink.write(bytes)
    await sink.commit()
    expect(await readdir(folder)).toEqual(["a"])
  })

  test("that is a device is written to directly, and stays a device", async () => {
    const sink = await openOutputFile("/dev/null", { ...options, force: true })
    await sink.write(bytes)
    await sink.commit()
    expect((await stat("/dev/null")).isCharacterDevice()).toBe(true)
  })
})

describe("an output that cannot be written", () => {
  test("reports a full disk", async () => {
    const sink = await openOutputFile("/dev/full", options)
    expect(await failure(sink.write(bytes))).toBe(
      "cannot write /dev/full: the disk is full. Free some space, or write elsewhere",
    )
    await sink.discard()
  })

  test.each(["write", "sync", "close", "rename"] as const)(
    "at %s leaves the old file as it was and no other",
    async (step) => {
      const path = join(folder, "a")
      await writeFile(path, "old")
      const fails = failing({ [step]: "ENOSPC" })
      const sink = await openOutputFile(path, { token: "token", force: true, fileSystem: fails })
      const attempt = async (): Promise<void> => {
        await sink.write(bytes)
        await sink.commit()
      }
      expect(await failure(attempt())).toContain("the disk is full")
      await sink.discard()
      expect(await readdir(folder)).toEqual(["a"])
      expect(await readFile(path, "utf8")).toBe("old")
    },
  )

  test("because of its location says why", async () => {
    await mkdir(join(folder, "directory"))
    const open = (path: string, code?: string): Promise<OutputSink> =>
      openOutputFile(join(folder, path), {
        ...options,
        ...(code === undefined ? {} : { fileSystem: failing({ open: code }) }),
      })
    expect(await failure(open("none/a"))).toContain("its directory does not exist. Create it first")
    expect(await failure(open("directory"))).toContain("it is a directory. Name a file inside it")
    expect(await failure(open("a", "EACCES"))).toContain("permission denied")
    expect(await failure(open("a", "EROFS"))).toContain("the file system is read-only")
    expect(await failure(open("a", "EDQUOT"))).toContain("quota")
    expect(await failure(open("a", "EIO"))).toContain("writing failed (EIO)")
  })
})

describe("standard output", () => {
  test("is written in order, waiting for each write", async () => {
    const pieces: string[] = []
    const stream = new Writable({
      highWaterMark: 1,
      write(piece: Buffer, _, done) {
        setImmediate(() => {
          pieces.push(String(piece))
          done()
        })
      },
    })
    const sink = streamOutput(stream)
    await sink.write(Buffer.from("a"))
    expect(pieces).toEqual(["a"])
    await sink.write(Buffer.from("b"))
    await sink.commit()
    expect(pieces).toEqual(["a", "b"])
  })

  test("whose reader has closed it is an error, not a crash", async () => {
    const stream = new Writable({
      write(_, __, done) {
        done(Object.assign(new Error("no reader"), { code: "EPIPE" }))
      },
    })
    const sink = streamOutput(stream)
    expect(await failure(sink.write(bytes))).toBe("cannot write standard output: stdout was closed")
    expect(await failure(sink.write(bytes))).toContain("cannot write standard output")
    await sink.discard()
  })
})
