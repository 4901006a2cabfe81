/** The recorder that a program embeds, without Effect, against the sandbox. */
import { existsSync, writeFileSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { get } from "node:https"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest"
import { parse } from "yaml"
import { ArchiveReader } from "../../../src/archive/index.ts"
import { makeServerCertificate } from "../../../src/host/index.ts"
import * as kubereel from "../../../src/library/index.ts"
import { ExportError, type KindOptions, type RecorderLog, startRecorder } from "../../../src/library/index.ts"
import { kindKeys } from "../../../src/recorder/configuration/kind-settings.ts"
import { configurationText } from "../../../src/recorder/embedded/kind-options.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await Sandbox.start()
  put("before", "1")
})
afterAll(() => sandbox.close())

const put = (name: string, text: string) =>
  sandbox.put("v1.ConfigMap", { metadata: { name, namespace: "default" }, data: { text } })

const nothing = (): void => undefined
const quiet: RecorderLog = { error: nothing, warn: nothing, info: nothing, debug: nothing }

test("the module exports the intended names, and nothing by accident", () => {
  expect(Object.keys(kubereel).sort()).toEqual([
    "CertificateFileError",
    "ConfigurationInvalidError",
    "ConfigurationUnreadableError",
    "ExportError",
    "ListenError",
    "RecorderError",
    "isCredentialsError",
    "startRecorder",
  ])
})

test("the settings of a kind are those of the configuration file", () => {
  expectTypeOf<keyof KindOptions>().toEqualTypeOf<(typeof kindKeys)[number]>()
  expect(kindKeys).toContain("trackLifecycle" satisfies keyof KindOptions)
})

test("what is kept is part of the configuration, also of the default one, and of none that is in a file", async () => {
  const kept = { retainFor: "30d", retainBytes: "20Gi" }
  for (const kinds of [undefined, ["v1.Pod"], { "v1.Event": { retainFor: "1d" } }]) {
    const { trackedObjects, ...root } = parse(configurationText(kinds, kept)) as Record<string, object>
    expect([root, Object.keys(trackedObjects ?? {}).length > 0]).toEqual([kept, true])
  }
  await expect(startRecorder({ configurationFile: "tracer.yml", retainFor: "30d" })).rejects.toThrow(
    "retainFor and retainBytes belong into the configuration file",
  )
  await expect(startRecorder({ retainFor: "soon", server: sandbox.endpoint, log: quiet })).rejects.toThrow(
    "it must be a duration such as 12h, 30d or 8w",
  )
})

describe("An embedded recorder", () => {
  test("its interface speaks TLS with the certificate in the files that are named, and does not start with others", async () => {
    const nowMs = Date.now()
    const made = makeServerCertificate({
      host: "127.0.0.1",
      notBeforeMs: nowMs - 60_000,
      notAfterMs: nowMs + 3_600_000,
    })
    const folder = temporaryDirectory()
    const tls = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") }
    const options = { kinds: ["v1.ConfigMap"], server: sandbox.url, port: 0, tls, log: quiet }
    await expect(startRecorder(options)).rejects.toMatchObject({ _tag: "CertificateFileError", path: tls.certificate })
    writeFileSync(tls.certificate, made.certificate)
    writeFileSync(tls.key, made.key)
    await using recorder = await startRecorder({ ...options, directory: join(folder, "recording") })
    const url = `https://127.0.0.1:${recorder.port}/v1/coverage`
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { ca: made.authority, agent: false }, resolve).on("error", reject)
    })
    expect(response.statusCode).toBe(200)
    response.resume()
  })

  test("gives each change once, as it is committed, and goes on after a sequence number; the server may be a URL", async () => {
    await using recorder = await startRecorder({
      ...{
        kinds: ["v1.ConfigMap"],
        server: sandbox.url,
        directory: join(temporaryDirectory(), "recording"),
        log: quiet,
      },
    })
    await recorder.ready()
    const stop = new AbortController()
    const changes = recorder.changes({ after: 0, signal: stop.signal })
    const taken: Array<readonly [string, string]> = []
    let last = 0
    for await (const change of changes) {
      if (!("name" in change)) continue
      expect(change.sequence).toBeGreaterThan(last)
      last = change.sequence
      if (change.name === "before") put("live", "1")
      if (!change.name.startsWith("live")) continue
      taken.push([change.type, (JSON.parse(change.object) as { data: { text: string } }).data.text])
      if (taken.length === 1) put("live", "2")
      else stop.abort()
    }
    expect(taken).toEqual([
      ["created", "1"],
      ["changed", "2"],
    ])
    put("live-later", "3")
    for await (const change of recorder.changes({ after: last })) {
      expect(change).toMatchObject({ type: "created", name: "live-later" })
      break
    }
    const waiting = recorder.changes().next()
    await recorder.close()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })

  test("refuses a server that is no URL in words", async () => {
    await expect(startRecorder({ server: "127.0.0.1:8001", log: quiet })).rejects.toThrow(
      'server "127.0.0.1:8001": must be a URL such as http://127.0.0.1:8001',
    )
  })

  test("records, exports a file, and is read while it runs", async () => {
    const folder = temporaryDirectory()
    const directory = join(folder, "recording")
    await using recorder = await startRecorder({
      kinds: ["v1.ConfigMap"],
      server: sandbox.endpoint,
      directory,
      log: quiet,
    })
    await recorder.ready()
    expect(recorder.kinds).toMatchObject([{ gvk: "v1.ConfigMap", state: "watching" }])
    expect(recorder.port).toBeUndefined()
    const watched = put("during", "2")
    await expect.poll(async () => namesIn(directory, await recorder.commit())).toContain("during")
    const trace = join(folder, "trace.ndjson")
    const written = await recorder.export(trace, { require: "all" })
    expect(written).toMatchObject({ gaps: 0, incomplete: undefined })
    const text = await readFile(trace, "utf8")
    expect(Buffer.byteLength(text)).toBe(written.bytes)
    expect(text).toContain(`"resourceVersion":"${watched.metadata.resourceVersion}"`)
    await expect(recorder.export(trace)).rejects.toThrow("exists")
    await recorder.export(trace, { overwrite: true })
    const { unwritten } = await recorder.close()
    expect(unwritten).toEqual([])
    await recorder.ended
  })

  test("continues the recording of its directory, with kinds that have settings, and serves reel export if asked to", async () => {
    const directory = join(temporaryDirectory(), "recording")
    const options = {
      kinds: { "v1.ConfigMap": { detect: "all" } },
      server: sandbox.endpoint,
      directory,
      port: 0,
      log: quiet,
    } as const
    const first = await startRecorder(options)
    await first.ready()
    await first.close()
    const second = await startRecorder(options)
    try {
      await second.ready()
      const ready = await fetch(`http://127.0.0.1:${second.port}/readyz`)
      expect(ready.status).toBe(200)
      const names = namesIn(directory, await second.commit())
      expect(names.filter((name) => name === "before")).toHaveLength(1)
    } finally {
      await second.close()
    }
  })

  test("without kinds records the workloads and their pods", async () => {
    const directory = join(temporaryDirectory(), "recording")
    await using recorder = await startRecorder({ server: sandbox.endpoint, directory, log: quiet })
    expect(recorder.kinds.map(({ gvk }) => gvk)).toContain("apps/v1.Deployment")
    expect(recorder.kinds.map(({ gvk }) => gvk)).not.toContain("v1.ConfigMap")
  })

  test("writes no file if something that is required is missing, or if it is aborted", async () => {
    const folder = temporaryDirectory()
    await using recorder = await startRecorder({
      kinds: ["v1.ConfigMap", "example.com/v1.Absent"],
      server: sandbox.endpoint,
      directory: join(folder, "recording"),
      log: quiet,
    })
    await recorder.ready()
    const trace = join(folder, "trace.ndjson")
    const refused = await recorder.export(trace, { require: "all" }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ExportError)
    expect(refused).toMatchObject({ reason: "refused", message: expect.stringContaining("example.com/v1.Absent") })
    const aborted = recorder.export(trace, { signal: AbortSignal.abort() })
    await expect(aborted).rejects.toMatchObject({ reason: "aborted" })
    await expect(recorder.export("s3://bucket/trace")).rejects.toMatchObject({ reason: "refused" })
    expect(existsSync(trace)).toBe(false)
  })

  test("rejects a configuration with a mistake, naming it, and leaves nothing behind", async () => {
    const folder = temporaryDirectory()
    const directory = join(folder, "recording")
    const starting = startRecorder({
      kinds: ["v1.Deployment", "Gadget"],
      server: sandbox.endpoint,
      directory,
      log: quiet,
    })
    await expect(starting).rejects.toMatchObject({
      _tag: "ConfigurationInvalidError",
      message: expect.stringContaining("Gadget"),
    })
    const absent = startRecorder({ kubeconfig: join(folder, "absent"), directory, log: quiet })
    await expect(absent).rejects.toSatisfy(kubereel.isCredentialsError)
    expect(await readdir(folder)).toEqual([])
  })

  test("that waits for first lists stops waiting with the signal, and when it is closed", async () => {
    const recorder = await startRecorder({
      kinds: ["v1.ConfigMap"],
      server: { server: "http://127.0.0.1:9", headers: [] },
      directory: join(temporaryDirectory(), "recording"),
      log: quiet,
    })
    await expect(recorder.ready(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough")
    await recorder.close()
    await expect(recorder.ready()).rejects.toThrow("closed")
  })
})

const namesIn = (directory: string, cut: number): ReadonlyArray<string> => {
  const reader = ArchiveReader.open(directory)
  try {
    return [...reader.events({ cut, fromTime: 0 })].flatMap((event) => (event.type === "object" ? [event.name] : []))
  } finally {
    reader.close()
  }
}
