import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Carried, type Carrier, Exchange } from "../../../src/kube/http/exchange.ts"
import { rounds } from "../../harness/effort.ts"
import { RecordedResponse } from "./recorded-response.ts"

/** A simulated connection: the test decides what it receives. */
class Wire implements Carrier {
  readonly hasServed: boolean
  isReading = true
  isDestroyed = false
  carried: Carried | undefined

  constructor(hasServed = false) {
    this.hasServed = hasServed
  }

  carry(carried: Carried): void {
    this.carried = carried
  }

  resumeReading(): void {
    this.isReading = true
  }

  destroy(): void {
    this.isDestroyed = true
    this.carried = undefined
  }

  /** Bytes come in the one buffer that every read reuses. */
  receive(text: string): void {
    const length = this.#buffer.write(text, "latin1")
    if (this.carried?.receive(this.#buffer, length) === false) this.isReading = false
    this.#buffer.fill("#")
  }
  readonly #buffer = Buffer.alloc(4096)
}

const start = (wire = new Wire()) => {
  const fresh: Wire[] = []
  const released: boolean[] = []
  const response = new RecordedResponse()
  const connect = (): Wire => {
    const another = new Wire()
    fresh.push(another)
    return another
  }
  const owner = { released: (_exchange: unknown, _wire: unknown, isReusable: boolean) => released.push(isReusable) }
  const exchange = new Exchange<Wire>(owner, connect, "GET", true, response, undefined)
  exchange.start(wire)
  return { wire, fresh, released, response, exchange }
}

const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe("an exchange", () => {
  test("delivers every byte once and in order, however it is read, paused and resumed", async () => {
    type Step = { readonly read: number } | "pause" | "resume" | "settle"
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 3, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 40 }) }) },
      fc.constantFrom<Step>("pause", "resume", "settle"),
    )
    const bytes = head + Array.from({ length: 20 }, (_, index) => chunk(`<${index}>`)).join("")
    await fc.assert(
      fc.asyncProperty(fc.array(step), fc.nat(4), fc.boolean(), async (steps, pauseEvery, resumesAtOnce) => {
        const { wire, response, exchange } = start()
        let ranges = 0
        let isPaused = false
        const pause = (value: boolean): void => {
          isPaused = value
          if (value) exchange.pause()
          else exchange.resume()
        }
        response.onData = () => {
          expect(isPaused, "data while paused").toBe(false)
          if (pauseEvery === 0 || ++ranges % pauseEvery !== 0) return
          pause(true)
        }
        // TLS keeps delivering what its records hold, even when told to stop.
        let at = 0
        for (const each of steps) {
          if (each === "pause") pause(true)
          else if (each === "resume") pause(false)
          else if (each === "settle") await settled()
          else {
            wire.receive(bytes.slice(at, at + each.read))
            at += each.read
            if (resumesAtOnce) pause(false)
          }
        }
        response.onData = undefined
        pause(false)
        await settled()
        wire.receive(bytes.slice(at))
        await settled()
        expect(response.body).toBe(Array.from({ length: 20 }, (_, index) => `<${index}>`).join(""))
        expect(wire.isReading).toBe(true)
        wire.receive("0\r\n\r\n")
        expect(await response.ended).toEqual({ tag: "complete" })
      }),
      { numRuns: rounds(200) },
    )
  })

  test("reports the end of the connection after what a pause kept", async () => {
    const { wire, response, exchange } = start()
    response.onData = () => exchange.pause()
    wire.receive(head + chunk("a") + chunk("b"))
    wire.carried?.inputEnded()
    wire.carried?.failed({ tag: "connection", code: "ECONNRESET", message: "later" })
    await settled()
    expect(response.body).toBe("a")
    response.onData = undefined
    exchange.resume()
    expect(await response.ended).toEqual({ tag: "truncated" })
    expect(response.body).toBe("ab")
  })

  test("reports it at once when nothing was kept, paused or not", async () => {
    const { wire, response, exchange } = start()
    wire.receive(head + chunk("a"))
    exchange.pause()
    wire.carried?.inputEnded()
    expect(await response.ended).toEqual({ tag: "truncated" })
  })

  test("stops reading within the read in which it is paused", () => {
    const { wire, exchange, response } = start()
    response.onData = () => exchange.pause()
    wire.receive(head + chunk("a"))
    expect(wire.isReading).toBe(false)
  })

  test("keeps no more than one read after a pause, and stops reading", () => {
    const { wire, exchange, response } = start()
    wire.receive(head)
    exchange.pause()
    wire.receive(chunk("kept"))
    expect(wire.isReading).toBe(false)
    expect(response.body).toBe("")
    expect(exchange.bytesReceived).toBe(head.length + chunk("kept").length)
  })

  test("reports the end of each read, but not after its own end", () => {
    const { wire, response } = start()
    wire.receive(head)
    wire.receive(chunk("a") + chunk("b"))
    wire.receive("1\r\n")
    wire.receive("c\r\n0\r\n\r\n")
    expect(response.calls).toEqual(["head", "data", "readDone", "data", "readDone", "end"])
  })

  test("is repeated on a new connection only if the old one had served and no byte had arrived", async () => {
    const reset = { tag: "connection", code: "ECONNRESET", message: "reset" } as const
    const first = start(new Wire(false))
    first.wire.carried?.failed(reset)
    expect(await first.response.ended).toEqual(reset)

    const reused = start(new Wire(true))
    reused.wire.carried?.failed(reset)
    expect(reused.response.calls).toEqual([])
    expect(reused.wire.isDestroyed).toBe(true)
    reused.fresh[0]?.carried?.failed(reset)
    expect(await reused.response.ended).toEqual(reset)
    expect(reused.fresh).toHaveLength(1)

    const begun = start(new Wire(true))
    begun.wire.receive("H")
    begun.wire.carried?.failed(reset)
    expect(await begun.response.ended).toEqual(reset)
    expect(begun.fresh).toEqual([])
  })

  test("returns a connection for reuse only after a complete response", async () => {
    const whole = start()
    whole.wire.receive(`${head}0\r\n\r\n`)
    expect(whole.released).toEqual([true])
    expect(whole.wire.isDestroyed).toBe(false)
    const aborted = start()
    aborted.wire.receive(head)
    aborted.exchange.abort()
    expect(aborted.released).toEqual([false])
    expect(aborted.wire.isDestroyed).toBe(true)
    await aborted.response.ended
  })
})
