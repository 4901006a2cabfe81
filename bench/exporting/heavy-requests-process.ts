/**
 * A client that sends a recorder the heaviest requests of one sort, one after another on several connections, in its own process.
 *
 * node bench/exporting/heavy-requests-process.ts SERVER SORT
 *
 * Standard input takes `{"send": true}`, which is followed by `{"sending": true}` with the first response, and `{"send": false}`, which is followed by
 * `{"statuses": {"200": 12, …}, "cpuMs": …}` when all requests have ended: how many got which response since the start (0: the client has left), and what the
 * client cost. Ends when standard input closes.
 */
import { request } from "node:http"
import { createInterface } from "node:readline"
import { type HeavyRequests, heavyRequests } from "./heavy-requests.ts"

const [server = "", sort = ""] = process.argv.slice(2)
const heavy: HeavyRequests | undefined = heavyRequests.find(({ name }) => name === sort)
if (heavy === undefined) throw new Error(`no sort of requests ${JSON.stringify(sort)}`)

const body = Buffer.from(heavy.body(Math.floor(Date.now() / 1000)))
const statuses: Record<string, number> = {}
let isSending = false
let isFirst = true
/** µs of the start, which are no requests. */
let spentBefore: NodeJS.CpuUsage | undefined

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
  while (isSending) {
    const status = await send()
    if (isFirst) say({ sending: true })
    isFirst = false
    statuses[status] = (statuses[status] ?? 0) + 1
  }
}

let sending: Promise<unknown> = Promise.resolve()
createInterface(process.stdin)
  .on("line", async (line) => {
    isSending = (JSON.parse(line) as { readonly send: boolean }).send
    if (isSending) {
      isFirst = true
      spentBefore ??= process.cpuUsage()
      sending = Promise.all(Array.from({ length: heavy.connections }, connection))
      return
    }
    await sending
    const { user, system } = process.cpuUsage(spentBefore)
    say({ statuses, cpuMs: (user + system) / 1000 })
  })
  .on("close", () => process.exit(0))
