/** A controller that dies at any of its writes: the next one goes on, with one Job and each hook once. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import {
  HttpClient,
  type HttpRequest,
  type HttpStream,
  type ResponseHandler,
  type Transport,
} from "../../../src/kube/index.ts"

import { isThorough } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { SimulatedCluster } from "./simulated.ts"

/** A connection whose process dies: after its last write nothing is sent and nothing received. `isHeard`: the last write reaches the server. */
class Mortal implements Transport {
  readonly #http: HttpClient
  readonly #isHeard: boolean
  #left: number
  writes = 0

  constructor(url: string, writesLeft: number, isHeard: boolean) {
    this.#http = new HttpClient({ server: url, headers: [] }, { userAgent: "mortal" })
    this.#left = writesLeft
    this.#isHeard = isHeard
  }

  get isDead(): boolean {
    return this.#left < 0
  }

  get(path: string, headers: Readonly<Record<string, string>>, handler: ResponseHandler): HttpStream {
    return this.isDead ? silent(handler) : this.#http.get(path, headers, this.#mortal(handler))
  }

  send(request: HttpRequest, handler: ResponseHandler): HttpStream {
    if (request.method !== "GET" && !this.isDead) {
      this.writes++
      this.#left--
      if (this.isDead && this.#isHeard) return this.#http.send(request, this.#mortal(handler))
    }
    return this.isDead ? silent(handler) : this.#http.send(request, this.#mortal(handler))
  }

  close(): void {
    this.#http.close()
  }

  #mortal(handler: ResponseHandler): ResponseHandler {
    return {
      head: (status, headers) => this.isDead || handler.head(status, headers),
      data: (buffer, start, end) => this.isDead || handler.data(buffer, start, end),
      readDone: () => this.isDead || handler.readDone?.(),
      end: (outcome) => handler.end(this.isDead ? dead : outcome),
    }
  }
}

const dead = { tag: "connection", code: "EDEAD", message: "the process is dead" } as const

const silent = (handler: ResponseHandler): HttpStream => {
  queueMicrotask(() => handler.end(dead))
  return { pause: () => undefined, resume: () => undefined, abort: () => undefined, bytesReceived: 0 }
}

/** A whole life: hooks, a run, a clean-up with what a driver left, and a deletion. Returns the writes of the first controller. */
const live = async (writesLeft: number, isHeard: boolean): Promise<number> => {
  const file = join(temporaryDirectory(), "words")
  writeFileSync(file, "")
  const says = (word: string) => ({ cmd: "/bin/sh", args: ["-c", `echo ${word} >> ${file}`], timeout: "1000h" })
  const cluster = await SimulatedCluster.start()
  const mortal = new Mortal(cluster.living.sandbox.url, writesLeft, isHeard)
  const first = await cluster.control({ server: mortal, shutdownTimeoutMs: 0 })
  let next = first
  /** The next process is started when the first one is dead. */
  const until = (condition: () => boolean): Promise<void> =>
    cluster.until(async () => {
      if (mortal.isDead && next === first) {
        await cluster.closes(first)
        next = await cluster.control()
      }
      return condition()
    })
  await cluster.create("demo", { hooks: { preStartHooks: [says("before")], postStopHooks: [says("after")] } })
  const isOver = (): boolean => ["Finished", "Failed"].includes(cluster.status("demo").state ?? "")
  await until(() => isOver() || cluster.status("demo").state === "Running")
  const hasRun = !isOver()
  if (hasRun) {
    await cluster.createDriverRoot("demo", "sk-demo-driver-0-abcde-root")
    await cluster.play("demo")
  }
  await until(() => isOver() && cluster.condition("demo", "Progressing").startsWith("False"))
  // A hook that was interrupted is the only reason for another end.
  if (hasRun) expect(cluster.status("demo").state).toBe("Finished")
  else expect(cluster.message("demo", "Ready")).toContain("it was interrupted")
  expect(cluster.created("batch/v1.Job", "sk-demo-driver")).toBe(hasRun ? 1 : 0)
  expect(await cluster.left()).toEqual(hasRun ? ["Job sk-demo-driver", "Pod", "Simulation demo"] : ["Simulation demo"])
  await cluster.delete("demo")
  await until(() => cluster.simulation("demo") === undefined)
  expect(await cluster.left()).toEqual([])
  const words = readFileSync(file, "utf8").split("\n").slice(0, -1)
  expect(words).toEqual([...new Set(words)])
  mortal.close()
  return mortal.writes
}

/** Of a life without a crash; more than there are do no harm, fewer fail the first test. */
const writes = 40

test("a life without a crash has no more writes than are tried below", async () => {
  expect(await live(Number.POSITIVE_INFINITY, true)).toBeLessThanOrEqual(writes)
})

describe("a controller that dies", () => {
  // Of two neighbours one reaches the server and one is lost: both of each would double the time. An ordinary run takes every third, each time from another on.
  const [step, from] = isThorough() ? [1, 0] : [3, Math.floor(Math.random() * 3)]
  const tried = Array.from({ length: writes }, (_, index) => index).filter((index) => index % step === from)
  test.each(tried)(
    "after %i writes is continued by the next one",
    async (before) => {
      await live(before, before % 2 === 0)
    },
    patient(30_000),
  )
})
