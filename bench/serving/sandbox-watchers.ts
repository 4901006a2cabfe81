/**
 * Watchers that only count: as many connections as told, each a watch of the same path, each with its own count of events (null-reader.ts
 * is the same for one).
 *
 * Arguments: the port, the path, the number of watchers. Prints `{"listed": true}` when all have received their heads, then reads lines
 * `{"until": n}` and prints `{"taken": n}` when every watcher has seen n events.
 */
import { connect } from "node:net"
import { createInterface } from "node:readline"

const [port = "", path = "", watchers = ""] = process.argv.slice(2)
const lineFeed = 10
/** Behind the chunk's size, the event's line, and the chunk. */
const lineFeedsPerEvent = 3

/** Line feeds of each watcher. */
const seen = new Float64Array(Number(watchers))
let open = 0
let until = Number.POSITIVE_INFINITY

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const check = (): void => {
  const taken = Math.floor(Math.min(...seen) / lineFeedsPerEvent)
  if (taken < until) return
  until = Number.POSITIVE_INFINITY
  say({ taken })
}

for (let watcher = 0; watcher < seen.length; watcher++) {
  const buffer = Buffer.alloc(256 * 1024)
  let isBody = false
  const socket = connect({
    port: Number(port),
    host: "127.0.0.1",
    onread: {
      buffer,
      callback: (length) => {
        let from = 0
        if (!isBody) {
          isBody = true
          if (!buffer.toString("latin1", 0, length).startsWith("HTTP/1.1 200 ")) process.exit(1)
          // The head comes in one piece, perhaps with the beginning of the state behind it.
          from = buffer.indexOf("\r\n\r\n") + 4
          if (++open === seen.length) say({ listed: true })
        }
        let feeds = 0
        for (let at = buffer.indexOf(lineFeed, from); at >= 0 && at < length; at = buffer.indexOf(lineFeed, at + 1)) {
          feeds++
        }
        seen[watcher] = (seen[watcher] ?? 0) + feeds
        if (until !== Number.POSITIVE_INFINITY) check()
        return true
      },
    },
  })
  socket.on("close", () => process.exit(1))
  socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\n\r\n`)
}

createInterface(process.stdin)
  .on("line", (line) => {
    until = (JSON.parse(line) as { until: number }).until
    check()
  })
  .on("close", () => process.exit(0))
