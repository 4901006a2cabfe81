/** bin/reel.js in small checkouts: which Node and which entry it starts, and that it ends as they end. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"

const bin = fileURLToPath(new URL("../../bin/reel.js", import.meta.url))

let checkout: string
beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), "kubereel-bin-"))
  await put("package.json", '{"type":"module"}')
  await mkdir(join(checkout, "bin"))
  await copyFile(bin, join(checkout, "bin/reel.js"))
})
afterEach(() => rm(checkout, { recursive: true }))

const put = async (path: string, text: string): Promise<void> => {
  await mkdir(join(checkout, path, ".."), { recursive: true })
  await writeFile(join(checkout, path), text)
}

/** The Node that a checkout has as its development dependency: here the one that runs the tests. */
const putNode = async (script?: string): Promise<void> => {
  const path = join(checkout, "node_modules/node/bin/node")
  await mkdir(join(path, ".."), { recursive: true })
  if (script === undefined) return symlink(process.execPath, path)
  await writeFile(path, script)
  await chmod(path, 0o755)
}

/** Makes a Node report an older version. */
const pretend = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,"version",{value:"${version}"})`

const start = (version: string | undefined, ...argv: string[]): ChildProcess => startAs("reel.js", version, ...argv)

const startAs = (name: string, version: string | undefined, ...argv: string[]): ChildProcess => {
  const { KUBEREEL_HANDED_OVER: _, NODE_OPTIONS: __, ...env } = process.env
  const preload = version === undefined ? [] : ["--import", pretend(version)]
  return spawn(process.execPath, [...preload, join(checkout, "bin", name), ...argv], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  })
}

interface Ending {
  readonly code: number | null
  readonly signal: string | null
  readonly output: string
  readonly error: string
}

const ending = async (child: ChildProcess): Promise<Ending> => {
  const texts = { output: "", error: "" }
  child.stdout?.on("data", (piece) => {
    texts.output += piece
  })
  child.stderr?.on("data", (piece) => {
    texts.error += piece
  })
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  return { code, signal, ...texts }
}

const run = (version: string | undefined, ...argv: string[]): Promise<Ending> => ending(start(version, ...argv))

const sayAndExit = (name: string, code: number): string =>
  `console.log("${name}", process.version, ...process.argv.slice(2)); process.exitCode = ${code}`

describe("reel on a new enough Node", () => {
  test("starts what was built", async () => {
    await put("dist/cli.js", sayAndExit("built", 3))
    await put("src/cli/main.ts", sayAndExit("source", 0))
    expect(await run(undefined, "export", "-o", "-")).toMatchObject({
      code: 3,
      output: `built ${process.version} export -o -\n`,
    })
    expect(await run("v22.19.0")).toMatchObject({ code: 3, output: "built v22.19.0\n" })
  })

  test("starts the source, in TypeScript, if nothing was built", async () => {
    await put("src/cli/main.ts", `const code: number = 4; ${sayAndExit("source", 4)}; process.exitCode = code`)
    expect(await run(undefined, "--help")).toMatchObject({ code: 4, output: `source ${process.version} --help\n` })
  })

  test("reports the error if that cannot be loaded", async () => {
    await put("dist/cli.js", 'throw new Error("src/cli/main.ts does not build")\n')
    const { code, error } = await run(undefined)
    expect(code).toBe(1)
    expect(error).toContain("src/cli/main.ts does not build")
  })
})

describe("reel on an old Node", () => {
  test.each(["v14.21.3", "v18.20.0", "v20.20.2", "v22.18.9"])(
    "hands over to the checkout's own: %s",
    async (version) => {
      await putNode()
      await put("dist/cli.js", sayAndExit("built", 3))
      expect(await run(version, "export", "--start", "-10m")).toEqual({
        code: 3,
        signal: null,
        output: `built ${process.version} export --start -10m\n`,
        error: "",
      })
    },
  )

  test("hands the name on by which it was called, which says what it does", async () => {
    await putNode()
    await copyFile(join(bin, "../kubectl-reel.js"), join(checkout, "bin/kubectl-reel.js"))
    await symlink("kubectl-reel.js", join(checkout, "bin/kubectl_complete-reel"))
    await put("dist/cli.js", 'console.log(process.argv[1].replace(/.*[/]/, ""))')
    const names = ["kubectl-reel.js", "kubectl_complete-reel"]
    for (const name of names)
      expect(await ending(startAs(name, "v20.20.2"))).toMatchObject({ code: 0, output: `${name}\n` })
  })

  test("says in one line what to do when the checkout has none", async () => {
    await put("dist/cli.js", sayAndExit("built", 0))
    expect(await run("v20.20.2")).toEqual({
      code: 1,
      signal: null,
      output: "",
      error:
        'reel: this is Node v20.20.2, and kubereel needs 22.19 or later. Install it from https://nodejs.org, or run "npm ci" in the checkout, which brings its own.\n',
    })
  })

  test("does not hand over endlessly if the checkout's own Node is as old", async () => {
    await putNode(`#!/bin/sh\nexec "${process.execPath}" --import '${pretend("v18.0.0")}' "$@"\n`)
    await put("dist/cli.js", sayAndExit("built", 0))
    const { code, error } = await run("v20.20.2")
    expect(code).toBe(1)
    expect(error).toMatch(/^reel: this is Node v18\.0\.0, .*\n$/)
  })

  test("reports if the checkout's own Node cannot be started", async () => {
    await putNode("not a program")
    await chmod(join(checkout, "node_modules/node/bin/node"), 0o644)
    const { code, error } = await run("v20.20.2")
    expect(code).toBe(1)
    expect(error).toMatch(/^reel: cannot start .*EACCES.*\n$/)
  })

  /** A program that counts the signals it gets, and ends 50 ms after the first. */
  const counting = `
    let count = 0
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
      process.on(signal, () => {
        count++
        setTimeout(() => { console.log(signal, count); process.exit(5) }, 50)
      })
    setInterval(() => undefined, 1000)
    console.log("ready")
  `

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "passes %s on, once, and ends as the program ends",
    async (signal) => {
      await putNode()
      await put("dist/cli.js", counting)
      const child = start("v20.20.2")
      const ended = ending(child)
      await once(child.stdout as NodeJS.EventEmitter, "data")
      child.kill(signal)
      expect(await ended).toEqual({ code: 5, signal: null, output: `ready\n${signal} 1\n`, error: "" })
    },
  )

  test("dies of the signal that the program died of", async () => {
    await putNode()
    await put("dist/cli.js", 'process.kill(process.pid, "SIGKILL")')
    expect(await run("v20.20.2")).toMatchObject({ code: null, signal: "SIGKILL" })
  })
})
