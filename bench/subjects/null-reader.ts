/**
 * The fastest reader there is: takes the bytes of one watch into one buffer and counts line feeds. What the machine, the
 * kernel and the generator can do at most; all other figures are read against it.
 *
 * Argument: the port. Spoken with as counting-subject.ts says.
 */
import { connect } from "node:net"
import { createInterface } from "node:readline"

const lineFeed = 10
/** Behind the chunk's size, the event's line, and the chunk. */
const lineFeedsPerEvent = 3

const buffer = Buffer.alloc(64 * 1024)
let isBody = false
let seen = 0
let until = Number.POSITIVE_INFINITY

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const check = (): void => {
  const taken = Math.floor(seen / lineFeedsPerEvent)
  if (taken < until) return
  until = Number.POSITIVE_INFINITY
  say({ taken })
}

const socket = connect({
  port: Number(process.argv[2]),
  host: "127.0.0.1",
  onread: {
    buffer,
    callback: (length) => {
      // The head comes by itself: no change is sent before `listed` was said.
      if (!isBody) {
        isBody = true
        say({ listed: true })
        return true
      }
      for (let at = buffer.indexOf(lineFeed); at >= 0 && at < length; at = buffer.indexOf(lineFeed, at + 1)) seen++
      check()
      return true
    },
  },
})
socket.on("close", () => process.exit(1))
socket.write("GET /apis/apps/v1/deployments?watch=1 HTTP/1.1\r\nHost: bench\r\n\r\n")

createInterface(process.stdin)
  .on("line", (line) => {
    until = (JSON.parse(line) as { until: number }).until
    check()
  })
  .on("close", () => process.exit(0))
