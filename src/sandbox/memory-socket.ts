/**
 * HTTP connections to a sandbox in the same process without the network: bytes pass in turns of the event loop, in the same order each time.
 */
import type { Duplex } from "node:stream"
import type { OpenSocket } from "../kube/http/connect.ts"

/** Opens connections to that server, whatever the target says. */
export const throughMemory =
  (server: { connect(): Duplex }): OpenSocket =>
  (target, _connectTimeoutMs, _timers, events) => {
    const stream = server.connect()
    let isClosed = false
    const fail = (message: string): void => {
      if (isClosed) return
      isClosed = true
      stream.destroy()
      events.failed({ tag: "connection", code: "ECONNRESET", message: `${target.tunnelAuthority}: ${message}` })
    }
    stream.on("data", (chunk: Buffer) => {
      if (!isClosed && !events.bytes(chunk, chunk.length)) stream.pause()
    })
    stream.on("end", () => {
      if (!isClosed) events.inputEnded()
    })
    stream.on("error", (error) => fail(error.message))
    stream.on("close", () => fail("the connection was closed"))
    const socket = {
      write: (bytes: string | Uint8Array) => stream.write(bytes),
      resume: () => stream.resume(),
      // Memory keeps no process alive.
      ref: () => stream,
      unref: () => stream,
    }
    queueMicrotask(() => {
      if (!isClosed) events.ready(socket as unknown as Parameters<typeof events.ready>[0])
    })
    return {
      destroy: () => {
        isClosed = true
        stream.destroy()
      },
    }
  }
