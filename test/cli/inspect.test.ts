/** `reel inspect`: a trace, a directory and a recorder, for people and for programs, and input that is none of them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { inspectCommand } from "../../src/cli/inspect.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { goldenTrace } from "../trace/recording.ts"
import { ran } from "./commands-in.ts"
import { keyboardTerminal, shows } from "./inspect/screen/keyboard-terminal.ts"
import { recordStory, storyStart } from "./past-recording.ts"
import { filesOf } from "./recorded-directory.ts"

const run = (...words: ReadonlyArray<string>) => ran(inspectCommand({ now: () => storyStart }), words)

let folder = ""
let directory = ""
let trace = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "reel-inspect-"))
  directory = join(folder, "recording")
  recordStory(directory, { hasGap: true })
  trace = join(folder, "story.ndjson")
  await ran(exportCommand(), ["--data-dir", directory, "--start", "0", "-o", trace])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("a trace", () => {
  test("of SimKube: its times, counts and lives of pods", async () => {
    const path = join(temporaryDirectory(), "a.sktrace")
    writeFileSync(path, goldenTrace("recording"))
    const { code, output, error } = await run(path)
    expect([code, error]).toEqual([exitCodes.ok, ""])
    expect(output).toMatch(/^events {4}11: 6 created, 2 changed, 3 deleted$/m)
    expect(output).toMatch(/^pods {6}16 ran: 10 ended after 0 s to 17 s, in the median \d+ s; 6 still running/m)
    expect(output).toMatch(/^apps\/v1\.Deployment +0 +1 +2 +0 +1 /m)
  })

  test("of a recording: what is missing is said, and programs get the same numbers", async () => {
    const { output } = await run(trace)
    expect(output).toMatch(/^gap of apps\/v1\.ReplicaSet from .*: expired \(410 Gone\)$/m)
    const found = JSON.parse((await run(trace, "-o", "json")).output)
    expect(found).toMatchObject({
      ...{ trace, format: "ndjson", cut: null, first: "2026-03-02T03:00:01Z", last: "2026-03-02T03:12:00Z" },
      all: { created: 7, changed: 3, deleted: 2, atEnd: 5 },
      gaps: { count: 1 },
    })
    const { events } = found.histogram as { readonly events: ReadonlyArray<number> }
    expect(events.reduce((sum, each) => sum + each, 0)).toBe(12)
  })

  test("compressed is the same as plain", async () => {
    const path = join(temporaryDirectory(), "story.ndjson.zst")
    writeFileSync(path, zstdCompressSync(readFileSync(trace)))
    expect((await run(path)).output.replace(path, trace)).toBe((await run(trace)).output)
  })

  test("that is cut off is shown up to there, with exit code 1", async () => {
    const path = join(temporaryDirectory(), "cut.ndjson")
    writeFileSync(path, readFileSync(trace).subarray(0, 3000))
    const { code, output, error } = await run(path, "-o", "json")
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(/is cut off or damaged: .* What is before that is shown\n$/)
    expect(JSON.parse(output).cut).toMatch(/./)
  })
})

describe("a directory", () => {
  test("is counted without its events being read, and nothing in it changes", async () => {
    const before = filesOf(directory)
    const { code, output, error } = await run(directory)
    expect([code, error]).toEqual([exitCodes.ok, ""])
    expect(output).toMatch(/^events {4}12$/m)
    expect(output).toMatch(/^apps\/v1\.Deployment +5 +3 /m)
    expect(output).toMatch(/^shop +7$/m)
    expect(output).toMatch(/^gap of apps\/v1\.ReplicaSet /m)
    const found = JSON.parse((await run("--data-dir", directory, "-o", "json")).output)
    expect(found).toMatchObject({ recording: directory, events: 12, namespaces: [{ namespace: "shop", objects: 7 }] })
    expect(filesOf(directory)).toEqual(before)
  })

  test("with --full is what its trace is, also of a window", async () => {
    const facts = (output: string) => {
      const { all, kinds, namespaces, pods, largest } = JSON.parse(output)
      return { all, kinds, namespaces, pods, largest }
    }
    const whole = await run(directory, "--full", "-o", "json")
    expect(facts(whole.output)).toEqual(facts((await run(trace, "-o", "json")).output))
    const end = ["--full", "--start", "2026-03-02T03:05:00Z", "-o", "json"]
    expect(JSON.parse((await run(directory, ...end)).output).all).toMatchObject({ atStart: 5, created: 2, changed: 1 })
  })

  test("that is no recording is refused", async () => {
    const { code, error } = await run(temporaryDirectory())
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(/^reel inspect: .*recording/)
  })
})

describe("a recorder", () => {
  let place: Workplace
  let sandbox: Sandbox
  let recorder: RecorderProcess
  beforeAll(async () => {
    place = new Workplace()
    sandbox = await Sandbox.start()
    for (const name of ["a", "b"]) sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name } })
    recorder = place.record({ cluster: { server: sandbox.url }, kinds: { "v1.ConfigMap": "{}" } })
    await recorder.ready()
  })
  afterAll(async () => {
    await place.close()
    await sandbox.close()
  })

  const live = (...words: ReadonlyArray<string>) => ran(inspectCommand(), words)

  test("is asked for counts, and with --full for its events", async () => {
    const server = await recorder.listening()
    const { code, output, error } = await live(server)
    expect([code, error]).toEqual([exitCodes.ok, ""])
    expect(output).toMatch(/^v1\.ConfigMap +2 +- .* watching$/m)
    const full = await live(server, "--full", "-o", "json")
    expect(JSON.parse(full.output).all).toMatchObject({ atEnd: 2 })
  })
})

describe("in a terminal", () => {
  test("a trace is looked through until q", async () => {
    const terminal = keyboardTerminal()
    const ended = inspectCommand({ now: () => storyStart }).run([trace], terminal)
    await shows(terminal, "1 gap")
    terminal.press("j")
    terminal.press(" ")
    expect(terminal.standardOutput.text()).toContain("apps/v1.ReplicaSet shop/web-1")
    terminal.press("q")
    expect(await ended).toBe(exitCodes.ok)
    expect([terminal.standardError.text(), terminal.listeners()]).toEqual(["", 0])
  })

  test("a directory is, also from a moment on, with the state there", async () => {
    const terminal = keyboardTerminal()
    const ended = inspectCommand({ now: () => storyStart }).run(
      [directory, "--start", "2026-03-02T03:05:00Z"],
      terminal,
    )
    await shows(terminal, "10 events")
    terminal.press("q")
    expect(await ended).toBe(exitCodes.ok)
  })

  test("a long recording is, part by part, until all of it was in the list", async () => {
    const terminal = keyboardTerminal(40)
    const ended = inspectCommand({ now: () => storyStart, mostEvents: 5 }).run([directory], terminal)
    await shows(terminal, /[1-9]\d* events, part of 12/)
    const ofFirstPart = /03:00:01\.000000 [^+·]{0,20}\+ /
    expect(terminal.standardOutput.text()).not.toMatch(ofFirstPart)
    const until = async (key: string, message: string): Promise<void> => {
      while (!terminal.standardOutput.text().includes(message)) {
        terminal.press(key)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await until("<", "there are no earlier events")
    await shows(terminal, ofFirstPart)
    await until(">", "there are no later events")
    terminal.press("q")
    expect(await ended).toBe(exitCodes.ok)
    expect(terminal.standardError.text()).toBe("")
  })

  test("-o text, --full and a terminal without a keyboard get the summary", async () => {
    for (const words of [[trace, "-o", "text"], [directory, "--full"], [trace]]) {
      const terminal = { ...keyboardTerminal(), onKey: () => undefined }
      expect(await inspectCommand({ now: () => storyStart }).run(words, terminal)).toBe(exitCodes.ok)
      expect(terminal.standardOutput.text()).toMatch(/^events {4}12: /m)
    }
  })

  test("what cannot be read is told without a screen", async () => {
    const terminal = keyboardTerminal()
    expect(await inspectCommand().run([join(folder, "absent")], terminal)).toBe(exitCodes.failed)
    expect(terminal.standardOutput.text()).toBe("")
  })

  test("a pipe that never goes on does not keep q from quitting", async () => {
    async function* bytes() {
      yield readFileSync(trace).subarray(0, 2000)
      await new Promise(() => undefined)
    }
    const terminal = keyboardTerminal()
    const openInput = async () => ({ bytes: bytes(), size: undefined })
    const ended = inspectCommand({ now: () => storyStart, openInput }).run(["fifo"], terminal)
    await shows(terminal, "reading")
    terminal.press("q")
    expect(await ended).toBe(exitCodes.ok)
  })
})

describe("what cannot be inspected", () => {
  test.each([
    [[], "missing argument: expected TRACE, DATA-DIR or the URL of a recorder"],
    [[""], "the name of TRACE is empty"],
    [["a.ndjson", "--full"], "--full, --start and --end are for recordings"],
    [["a.ndjson", "--data-dir", "b"], '"a.ndjson" and an option each name what to inspect: use only one of them'],
    [["http://127.0.0.1:1", "--start", "-1h"], "--start and --end require --full"],
    [["--data-dir", "b", "--from", "ndjson"], "--from is for a TRACE"],
  ])("%j is a usage error", async (words, problem) => {
    const { code, output, error } = await run(...words)
    expect([code, output]).toEqual([exitCodes.usage, ""])
    expect(error).toContain(`reel inspect: ${problem}\n`)
  })

  test.each([
    ["absent.ndjson", undefined, /cannot read .*absent\.ndjson: file not found/],
    ["empty.ndjson", "", /empty\.ndjson: .*the trace is empty/],
    ["text.txt", "hello\n", /text\.txt: .*not in a known trace format/],
  ])("%s is told with its name", async (name, content, message) => {
    const path = join(temporaryDirectory(), name)
    if (content !== undefined) writeFileSync(path, content)
    const { code, output, error } = await run(path)
    expect([code, output]).toEqual([exitCodes.failed, ""])
    expect(error).toMatch(message)
  })

  test("a recorder that is not there is said with what to do", async () => {
    const { code, error } = await run("http://127.0.0.1:1")
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(/cannot reach a recorder at http:\/\/127\.0\.0\.1:1/)
  })
})
