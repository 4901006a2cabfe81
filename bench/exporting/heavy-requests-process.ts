/**
 * A client that sends a recorder the heaviest requests of one sort, one after another on several connections, in its own process.
 *
 * node bench/exporting/heavy-requests-process.ts SERVER SORT
 *
 * Says `{"sending": true}` with the first response. Standard input takes `{"stop": true}`, which is followed by `{"statuses": {"200": 12, …}}`. Ends when standard
 * input closes.
 */
import { request } from "node:http"
import { setPriority } from "node:os"
import { createInterface } from "node:readline"
import { type HeavyRequests, heavyRequests } from "./heavy-requests.ts"

// It takes the place of another machine, so it must not take CPU from the recorder on these two cores.
setPriority(10)

const [server = "", sort = ""] = process.argv.slice(2)
const heavy: HeavyRequests | undefined = heavyRequests.find(({ name }) => name === sort)
if (heavy === undefined) throw new Error(`no sort of requests ${JSON.stringify(sort)}`)

const body = Buffer.from(heavy.body(Math.floor(Date.now() / 1000)))
const statuses: Record<string, number> = {}
let isStopped = false

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Sends one request and reads its response. */
const send = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(`${server}/export`, { method: "POST" }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0))
    })
    sent.on("error", reject)
    sent.end(body)
    if (heavy.leavesAfterMs === undefined) return
    setTimeout(() => {
      sent.destroy()
      resolve(0)
    }, heavy.leavesAfterMs)
  })

const connection = async (): Promise<void> => {
  while (!isStopped) {
    const status = await send()
    if (Object.keys(statuses).length === 0) say({ sending: true })
    statuses[status] = (statuses[status] ?? 0) + 1
  }
}

createInterface(process.stdin)
  .on("line", () => {
    isStopped = true
    say({ statuses })
  })
  .on("close", () => process.exit(0))
await Promise.all(Array.from({ length: heavy.connections }, connection))
