/** `reel export --data-dir`: the same bytes, reports and exit codes as from the recorder, and nothing in the directory changes. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Writable } from "node:stream"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type DirectoryLock, lockDirectory } from "../../src/archive/directory/directory-lock.ts"
import { DATABASE_FILE } from "../../src/archive/index.ts"
import { addChecksumFunction } from "../../src/archive/tables/sound-rows.ts"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { exportCommand } from "../../src/cli/export.ts"
import { redactionKeyFile } from "../../src/recorder/redaction/redaction-key.ts"
import { Sandbox } from "../../src/sandbox/index.ts"
import { recordingOf } from "../actors/exporter/owned-recording.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { type RecorderProcess, Workplace } from "../recorder/recorder/recorder-command.ts"
import { capturedTerminal } from "./captured-terminal.ts"
import { copyOf, filesOf, reelExport } from "./recorded-directory.ts"

const configMaps = "v1.ConfigMap"
const seconds = (micros: number): string =>
  `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, "0")}`

describe("a recording by a recorder of a sandbox", () => {
  let place: Workplace
  let sandbox: Sandbox
  let recorder: RecorderProcess
  let server: string
  /** The window from the second to the last change, and its traces as the recorder exported them, by name of the file. */
  let window: ReadonlyArray<string>
  const online = new Map<string, Buffer>()
  let forecast: string
  let copies: Readonly<Record<"killed" | "withoutIndex" | "withoutLog", string>>

  const traces = ["a.ndjson", "a.sktrace", "a.yaml", "a.ndjson.zst", "a.sktrace.gz"]
  const narrow = ["--exclude-name", "shop/b", "--kind", "ConfigMap,apps/v1.Deployment"]

  let outputs = 0
  const exportedTo = async (name: string, ...words: ReadonlyArray<string>) => {
    const path = join(place.directory, `${outputs++}-${name}`)
    const result = await reelExport("-o", path, "--owner-timeout", "10ms", ...words)
    return { ...result, path }
  }

  beforeAll(async () => {
    place = new Workplace()
    sandbox = await Sandbox.start()
    sandbox.faults.respond("secrets", 403)
    sandbox.faults.respond("replicasets", 503)
    for (const name of ["a", "b"]) sandbox.put(configMaps, { metadata: { namespace: "shop", name } })
    recorder = place.record({
      cluster: { server: sandbox.url },
      kinds: { [configMaps]: "{}", "apps/v1.Deployment": "{trackLifecycle: true}", "v1.Secret": "{}" },
    })
    server = await recorder.listening()
    await recorder.inState("v1.Secret", /forbidden/)
    await recorder.ready()
    sandbox.put("apps/v1.Deployment", {
      metadata: { namespace: "shop", name: "web" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      },
    })
    for (let round = 0; round < 30; round++)
      sandbox.put(configMaps, { metadata: { namespace: "shop", name: "c" }, data: { round: String(round) } })
    sandbox.put(configMaps, {
      metadata: {
        ...{ namespace: "shop", name: "owned" },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "uid-of-r" }],
      },
    })
    let times: ReadonlyArray<number> = []
    await recorder.until(async () => {
      const lines = (await (await recorder.post({ ...everythingInNdjson })).text()).trim().split("\n").slice(1, -1)
      times = lines.map((line) => (JSON.parse(line) as { time: number }).time).sort((one, other) => one - other)
      return ['"owned"', '"web"'].every((name) => lines.some((line) => line.includes(name)))
    }, "all changes")
    window = ["--start", seconds(times[1] ?? 0), "--end", seconds((times.at(-1) ?? 0) + 1)]
    for (const name of traces) {
      const { path, code, error } = await exportedTo(name, "--server", server, ...window)
      expect([code, error]).toEqual([exitCodes.incomplete, expect.stringContaining("v1.Secret")])
      online.set(name, readFileSync(path))
    }
    const narrowed = await exportedTo("narrow.ndjson", "--server", server, ...window, ...narrow)
    online.set("narrow.ndjson", readFileSync(narrowed.path))
    forecast = (await reelExport("--dry-run", "--server", server, ...window)).output
  })
  afterAll(async () => {
    await place.close()
    await sandbox.close()
  })

  const data = (): string => place.path("data")

  const isExportedAlike = async (directory: string, names = traces): Promise<void> => {
    for (const name of names) {
      const { path, code, error } = await exportedTo(name, "--data-dir", directory, ...window)
      expect([code, error]).toEqual([exitCodes.incomplete, expect.stringContaining("v1.Secret may not be listed")])
      expect(readFileSync(path).equals(online.get(name) ?? Buffer.alloc(0)), name).toBe(true)
    }
  }

  test("is exported to the same bytes while the recorder writes, in every format", async () => {
    const before = await recorder.metric("kubereel_store_sequence")
    await isExportedAlike(data())
    expect(await recorder.metric("kubereel_store_sequence")).toBe(before)
    copies = {
      killed: copyOf(data(), place.path("killed")),
      withoutIndex: copyOf(data(), place.path("without-index"), [`${DATABASE_FILE}-shm`]),
      withoutLog: copyOf(data(), place.path("without-log"), [`${DATABASE_FILE}-shm`, `${DATABASE_FILE}-wal`]),
    }
  })

  test("filters and the dry run are those of the recorder", async () => {
    const { path } = await exportedTo("narrow.ndjson", "--data-dir", data(), ...window, ...narrow)
    expect(readFileSync(path).equals(online.get("narrow.ndjson") ?? Buffer.alloc(0))).toBe(true)
    const dry = await reelExport("--dry-run", "--data-dir", data(), ...window)
    expect([dry.code, dry.output]).toEqual([exitCodes.incomplete, forecast])
  })

  test("a program is run by the recorder, and without it alike, in every format", async () => {
    const program = place.path("program.skel")
    writeFileSync(program, 'delete(metadata.name == "c");\nmodify(kind == "Deployment", spec.replicas = 9);\n')
    for (const name of traces) {
      const byRecorder = await exportedTo(name, "--server", server, ...window, "--transform", program)
      const offline = await exportedTo(name, "--data-dir", data(), ...window, "--transform", program)
      expect([byRecorder.code, offline.code]).toEqual([exitCodes.incomplete, exitCodes.incomplete])
      expect(readFileSync(byRecorder.path).equals(readFileSync(offline.path)), name).toBe(true)
      expect(readFileSync(byRecorder.path).equals(online.get(name) ?? Buffer.alloc(0)), name).toBe(false)
      if (name !== "a.ndjson") continue
      const text = readFileSync(offline.path, "utf8")
      expect([text.includes('"replicas":9'), text.includes('"name":"c"')]).toEqual([true, false])
    }
  })

  test("a program with a fault is named with its line before anything is asked", async () => {
    const program = place.path("bad.skel")
    writeFileSync(program, "remove(status)\n")
    const { code, error } = await exportedTo("a.ndjson", "--server", "http://127.0.0.1:9", "--transform", program)
    expect(code).toBe(exitCodes.failed)
    expect(error).toContain('bad.skel: line 2, column 1: expected ";", found the end of the program')
  })

  test("a copy without the recorder is exported to the same bytes, and nothing in it changes", async () => {
    for (const directory of [copies.killed, copies.withoutIndex]) {
      const before = filesOf(directory)
      for (const { name } of before.map((each) => ({ name: each.split(" ", 1)[0] ?? "" })))
        chmodSync(join(directory, name), 0o444)
      chmodSync(directory, 0o555)
      try {
        await isExportedAlike(directory)
        expect(filesOf(directory)).toEqual(before)
      } finally {
        chmodSync(directory, 0o755)
      }
    }
  })

  test("a copy without its log says that it is an older state, and exits with 3", async () => {
    const before = filesOf(copies.withoutLog)
    const { code, error } = await exportedTo("a.ndjson", "--data-dir", copies.withoutLog, "--start", "0")
    expect([code, error]).toEqual([
      exitCodes.incomplete,
      expect.stringContaining("recording.db-wal is missing: this is an older state"),
    ])
    expect(filesOf(copies.withoutLog)).toEqual(before)
  })

  test("owners that the recorder did not look up are counted, with what follows", async () => {
    const { code, error } = await exportedTo("a.sktrace", "--data-dir", copies.killed, ...window)
    expect(code).toBe(exitCodes.incomplete)
    expect(error).toMatch(
      /some owners are not known: 1 \(apps\/v1.ReplicaSet shop\/r\)\. Their objects were treated as unowned; a replay may create some of them twice/,
    )
  })

  test("a window beyond the end of the recording is incomplete, and --require complete rejects it", async () => {
    const beyond = [
      "--start",
      window[1] ?? "",
      "--end",
      "4000000000",
      "--kind",
      "ConfigMap",
      "--data-dir",
      copies.killed,
    ]
    const short = await exportedTo("a.ndjson", ...beyond)
    expect([short.code, short.error]).toEqual([
      exitCodes.incomplete,
      expect.stringMatching(
        /v1\.ConfigMap is recorded only .*until .*The window reaches beyond the end of the recording at/,
      ),
    ])
    const strict = await exportedTo("a.ndjson", ...beyond, "--require", "complete")
    expect([strict.code, strict.error]).toEqual([
      exitCodes.incomplete,
      expect.stringMatching(
        /cannot export from the recording in .*: not everything requested is recorded: v1\.ConfigMap is recorded only (from \S+ )?until/,
      ),
    ])
    const whole = ["--start", "0", "--kind", "ConfigMap", "--require", "all", "--data-dir", copies.killed]
    expect((await exportedTo("a.ndjson", ...whole)).code).toBe(exitCodes.ok)
  })

  test("now is the end of the recording, from which durations count back", async () => {
    const { error } = await exportedTo("a.ndjson", "--data-dir", copies.killed)
    expect(error).toMatch(/from .* to .* \(the end of the recording\)/)
    const after = await exportedTo(
      "a.ndjson",
      "--data-dir",
      copies.killed,
      "--start",
      "4000000000",
      "--end",
      "4000000001",
    )
    expect([after.code, after.error]).toEqual([
      exitCodes.usage,
      expect.stringContaining("after the end of the recording at"),
    ])
  })

  test("is exported to the same bytes once the recorder has ended, and nothing changes", async () => {
    await recorder.stop()
    const before = filesOf(data())
    expect(before.map((each) => each.split(" ", 1)[0])).toEqual(["recorder.lock", DATABASE_FILE, redactionKeyFile])
    await isExportedAlike(data())
    expect(filesOf(data())).toEqual(before)
  })
})

const everythingInNdjson = {
  start_ts: 0,
  end_ts: 4_000_000_000,
  export_path: "file:///export",
  filters: { excluded_namespaces: [], excluded_labels: [] },
  format: "ndjson",
}

describe("a directory that cannot be exported", () => {
  const recording = (): string =>
    recordingOf([{ gvk: configMaps, name: "a", owners: [], rest: { data: { text: "x".repeat(5000) } } }])

  const said = async (directory: string) => {
    const { code, error } = await reelExport("-o", "-", "--start", "0", "--data-dir", directory)
    return { code, error: error.trim().split("\n").at(-1) ?? "" }
  }

  test.each([
    ["does not exist", () => join(temporaryDirectory(), "none"), "there is no such directory"],
    ["is empty", temporaryDirectory, "it is empty"],
    [
      "is no recording",
      () => {
        const directory = temporaryDirectory()
        mkdirSync(join(directory, "photos"))
        return directory
      },
      "there is no recording.db",
    ],
    [
      "has another file of that name",
      () => {
        const directory = temporaryDirectory()
        writeFileSync(join(directory, DATABASE_FILE), "notes ".repeat(2000))
        return directory
      },
      "recording.db is not a database",
    ],
  ])("%s", async (_, make, reason) => {
    const { code, error } = await said(make())
    expect(code).toBe(exitCodes.failed)
    expect(error).toMatch(new RegExp(`contains no recording: ${reason}.*\\. Check the path given with --data-dir\\.`))
  })

  test("of a newer format says which version reads it", async () => {
    const directory = recording()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    database.exec("PRAGMA user_version = 99")
    database.close()
    const { code, error } = await said(directory)
    expect([code, error]).toEqual([exitCodes.failed, expect.stringMatching(/has format 99; .*Upgrade kubereel/)])
  })

  test("because a table is damaged says so, and leaves no file", async () => {
    const directory = recording()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    database.function("row_checksum", { deterministic: true, varargs: true }, () => 1)
    database.exec("UPDATE kind SET epoch = 7")
    database.close()
    const { code, error } = await said(directory)
    expect([code, error]).toEqual([
      exitCodes.failed,
      expect.stringMatching(/the recording in .* is damaged: table kind: .* reel store salvage --data-dir/),
    ])
  })

  test("whole, because a block is damaged, is exported with a gap, and the exit code says so", async () => {
    const directory = recording()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    addChecksumFunction(database)
    database.exec("UPDATE block SET data = zeroblob(length(data))")
    database.close()
    const { code, output, error } = await reelExport("-o", "-", "--start", "0", "--data-dir", directory)
    expect(code).toBe(exitCodes.incomplete)
    expect(output).toContain('"reason":"damaged"')
    expect(error).toMatch(/the trace is incomplete: it has \d+ gaps?/)
  })

  test("with a clock that was ahead says what its times are", async () => {
    const directory = recording()
    const database = new DatabaseSync(join(directory, DATABASE_FILE))
    addChecksumFunction(database)
    database.exec("UPDATE kind SET complete_through_time = 4000000000000000, recorded_since = 1")
    database.close()
    const { code, output, error } = await reelExport("-o", "-", "--start", "0", "--data-dir", directory)
    expect(code).toBe(exitCodes.ok)
    expect(output).toContain('"name":"a"')
    expect(error).toMatch(
      /the recording ends at 2096-.*, which is in the future here: the recorder's clock was ahead or has jumped/,
    )
  })

  test("because a recorder starts in it meanwhile is not half exported", async () => {
    const objects = Array.from({ length: 60 }, (_, index) => ({
      ...{ gvk: configMaps, name: `big-${index}`, owners: [] },
      rest: {
        data: {
          text: Buffer.from(Array.from({ length: 30_000 }, (_, at) => 33 + ((at * at * (index + 7)) % 90))).toString(
            "latin1",
          ),
        },
      },
    }))
    const directory = recordingOf(objects)
    let lock: DirectoryLock | undefined
    const terminal = capturedTerminal()
    const slow = new Writable({
      highWaterMark: 1,
      write(_piece, _encoding, done) {
        lock ??= lockDirectory(directory)
        done()
      },
    })
    const words = ["-o", "-", "--start", "0", "--data-dir", directory]
    const code = await exportCommand().run(words, { ...terminal, standardOutput: Object.assign(slow, {}) as never })
    lock?.release()
    expect([code, terminal.standardError.text()]).toEqual([
      exitCodes.failed,
      expect.stringContaining(`a recorder was started in ${directory} while it was being read; try again`),
    ])
  })

  test("is one place: --data-dir excludes recorders and their tokens", async () => {
    const both = await reelExport("-o", "-", "--data-dir", "x", "--server", "http://127.0.0.1:1")
    expect([both.code, both.error]).toEqual([
      exitCodes.usage,
      expect.stringContaining("--server and --data-dir each name a recording"),
    ])
    const token = await reelExport("-o", "-", "--data-dir", "x", "--token-file", "t")
    expect([token.code, token.error]).toEqual([exitCodes.usage, expect.stringContaining("--data-dir needs no token")])
  })
})
