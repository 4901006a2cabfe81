/** Exports under bad conditions: slow, disconnected or many readers, a format that cannot represent a kind, an exporter that ends. */
import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { exportWindowBytes } from "../../../src/actors/exporter/exporter-interface.ts"
import { maximumPerClient } from "../../../src/recorder/export/places.ts"
import { startRecorder } from "../../../src/recorder/recorder.ts"
import { defaultRestartPolicy } from "../../../src/runtime/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import {
  configurationOf,
  everything,
  kubeconfigOf,
  type RecorderProcess,
  until,
  Workplace,
} from "./recorder-command.ts"

/** 15 MB as NDJSON: more than all buffers between the exporter and a client that does not read. */
const events = 500
const configMap = (number: number) => ({
  metadata: { namespace: "shop", name: `object-${number}` },
  data: { text: randomBytes(15_000).toString("hex") },
})

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  for (let number = 0; number < events; number++) sandbox.put("v1.ConfigMap", configMap(number))
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "v1.ConfigMap": "{}", "apps/v1.Deployment": "{}" },
  })
  await recorder.ready()
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

/** A client that requests everything and reads only the beginning. */
const stalledExport = async (): Promise<Socket> => {
  const { port } = new URL(await recorder.listening())
  const body = JSON.stringify(everything("ndjson"))
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write(`POST /export HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    )
    socket.on("error", reject)
    socket.once("data", () => {
      socket.pause()
      resolve(socket)
    })
  })
}

/** A started export, as soon as there is a place for it. Its body must be read or cancelled: it keeps its place. */
const begun = async (format: "ndjson" | "simkube", signal?: AbortSignal): Promise<Response> => {
  let answer: Response | undefined
  await recorder.until(async () => {
    answer = await recorder.post(everything(format), signal)
    if (answer.status === 429) await answer.text()
    return answer.status === 200
  }, "room for another")
  return answer as Response
}

test("W-15: clients that do not read delay neither other exports nor recording, and their number is limited", async () => {
  const stalled: Socket[] = []
  try {
    // One place is left.
    for (let number = 1; number < maximumPerClient; number++) stalled.push(await stalledExport())
    expect(await recorder.exported()).toHaveLength(events)
    sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "object-0" }, data: { text: "short" } })
    await recorder.until(async () => (await recorder.exported()).length === events + 1, "the change made meanwhile")
    stalled.push(await stalledExport())
    const refused = await recorder.post(everything("ndjson"))
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining(`${maximumPerClient} exports`),
    ])
    // What clients have not read waits in the streams of their exports, bounded by the windows.
    const waiting = 'kubereel_mailbox_unacknowledged_bytes{actor="exporter",mailbox="export"}'
    const held = (await recorder.metric(waiting)) ?? 0
    expect(held).toBeGreaterThan(0)
    expect(held).toBeLessThanOrEqual(maximumPerClient * (exportWindowBytes + 128 * 1024))
  } finally {
    for (const socket of stalled) socket.destroy()
  }
  const waiting = 'kubereel_mailbox_unacknowledged_bytes{actor="exporter",mailbox="export"}'
  await recorder.until(async () => (await recorder.metric(waiting)) === 0, "streams that are closed with their clients")
  await (await begun("ndjson")).text()
})

test("two concurrent exports are both complete", async () => {
  const [one, other] = await Promise.all([recorder.exported(), recorder.exported()])
  expect([one.length, other.length]).toEqual([events + 1, events + 1])
})

test("clients that disconnect midway leave nothing behind", async () => {
  for (let number = 0; number < 4 * maximumPerClient; number++) {
    const abort = new AbortController()
    const answer = await begun(number % 2 === 0 ? "ndjson" : "simkube", abort.signal)
    await answer.body?.getReader().read()
    abort.abort()
  }
  await (await begun("ndjson")).text()
  expect(await recorder.exported()).toHaveLength(events + 1)
  expect(recorder.log).not.toMatch(/stopped and is being restarted|MaxListeners/)
})

test("a kind that SimKube's format cannot represent is named by the response and by reel export", async () => {
  const answer = await recorder.post(everything("simkube"))
  await answer.arrayBuffer()
  expect(answer.headers.get("kubereel-left-out")).toBe("v1.ConfigMap")
  const whole = await recorder.post(everything("ndjson"))
  await whole.arrayBuffer()
  expect(whole.headers.get("kubereel-left-out")).toBeNull()

  const server = await recorder.listening()
  const exporting = place.reel("export", "-o", place.path("all.sktrace"), "--start", "0", "-s", server)
  expect(await exporting.ended).toMatchObject({ code: 0 })
  expect(exporting.log).toMatch(/SimKube's format cannot represent v1\.ConfigMap; --format ndjson includes everything/)
})

const kills = defaultRestartPolicy.maximumCrashes

test("an exporter that ends breaks the running exports, and the next one works", async () => {
  const config = place.write("own.yml", configurationOf({ "v1.ConfigMap": "{}" }))
  const kubeconfig = place.write("own-kubeconfig", kubeconfigOf({ server: sandbox.url }))
  const said: string[] = []
  const say = (message: string): void => void said.push(message)
  const program = Effect.scoped(
    Effect.gen(function* () {
      const running = yield* startRecorder(
        {
          config,
          kubeconfig,
          context: undefined,
          port: 0,
          bind: "127.0.0.1",
          dataDir: place.path("own-data"),
          namespaces: [],
          secretsInPlainText: false,
          fsync: "interval",
          reportEvents: false,
          version: "test",
        },
        { error: say, warn: say, info: say, debug: () => undefined },
      )
      yield* Effect.promise(async () => {
        await until(
          () => running.actors.statuses.isReady,
          () => running.actors.statuses.verboseReadiness(),
        )
        const ask = () =>
          fetch(`http://127.0.0.1:${running.port}/export`, {
            method: "POST",
            body: JSON.stringify(everything("ndjson")),
          })
        // As often as would stop the recording of a kind: an exporter is restarted for ever.
        for (let kill = 0; kill < kills; kill++) {
          const answer = await ask()
          expect(answer.status).toBe(200)
          await running.actors.exports.exporter().kill()
          await expect(answer.text()).rejects.toThrow()
        }
        const text = await (await ask()).text()
        expect(text.split("\n").filter((line) => line.includes('"action"'))).toHaveLength(events)
      })
    }),
  )
  await Effect.runPromise(program)
  expect(said.filter((line) => line === "exporter stopped and is being restarted")).toHaveLength(kills)
})
