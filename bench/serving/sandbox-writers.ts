/**
 * Clients that write as fast as responses arrive: a number of connections that stay open, each with one request at a time (no pipelining).
 * Requests are made with as little work as possible, because the server shares the machine with them.
 *
 * Arguments: the port, the kind, the number of connections. Prints `{"open": true}`, then reads lines `{"writes": n}` and prints `{"done":
 * n, "bytes": b}` after n more responses with 200; b is the size of one response body in bytes. Ends with an error on any other response.
 */
import { connect, type Socket } from "node:net"
import { createInterface } from "node:readline"
import { objectPath, patchBody, type WrittenKind } from "./sandbox-writes.ts"

const [port = "", kind = "ConfigMap", connections = ""] = process.argv.slice(2)
const endOfHead = Buffer.from("\r\n\r\n")

/** Requests sent since the start: the number that each writes. */
let sent = 0
let goal = 0
let answered = 0
let bodyBytes = 0
let open = 0

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const fail = (reason: string): never => {
  process.stderr.write(`writers: ${reason}\n`)
  process.exit(1)
}

const requestOf = (change: number): string => {
  const body = patchBody(kind as WrittenKind, change)
  return (
    `PATCH ${objectPath(kind as WrittenKind, change)} HTTP/1.1\r\nHost: bench\r\nUser-Agent: writers\r\n` +
    `Content-Type: application/merge-patch+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

const idle: Array<() => void> = []

const begin = (): void => {
  const buffer = Buffer.alloc(64 * 1024)
  /** Bytes of the response still to come; `undefined` before its head. */
  let missing: number | undefined
  const next = (): void => {
    if (sent === goal) idle.push(next)
    else socket.write(requestOf(++sent))
  }
  const socket: Socket = connect({
    port: Number(port),
    host: "127.0.0.1",
    noDelay: true,
    onread: {
      buffer,
      callback: (length) => {
        missing = (missing ?? bytesOfAnswer(buffer, length)) - length
        if (missing > 0) return true
        missing = undefined
        if (++answered === goal) say({ done: answered, bytes: bodyBytes })
        next()
        return true
      },
    },
  })
  socket.on("connect", () => {
    idle.push(next)
    if (++open === Number(connections)) say({ open: true })
  })
  socket.on("close", () => fail("a connection was closed"))
}

/** Head and body. The head comes in one piece. */
const bytesOfAnswer = (buffer: Buffer, length: number): number => {
  const end = buffer.indexOf(endOfHead)
  const head = buffer.toString("latin1", 0, end < 0 ? length : end)
  const [, bytes] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  if (end < 0 || bytes === undefined || !head.startsWith("HTTP/1.1 200 ")) {
    return fail(`an answer that is no success: ${buffer.toString("utf8", 0, length)}`)
  }
  bodyBytes = Number(bytes)
  return end + endOfHead.length + bodyBytes
}

for (let connection = 0; connection < Number(connections); connection++) begin()

createInterface(process.stdin)
  .on("line", (line) => {
    goal += (JSON.parse(line) as { writes: number }).writes
    for (const next of idle.splice(0)) next()
  })
  .on("close", () => process.exit(0))
