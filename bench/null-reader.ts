/**
 * The fastest reader there is: takes the bytes of one watch and counts its chunks' ends. What the machine, the kernel and
 * the generator can do at most; all other figures are read against it.
 *
 * Arguments: port, events. Prints {"events", "seconds", "cpuSeconds"} from the first byte of the changes to the last.
 */
import { connect } from "node:net"

const [port = "0", wanted = "0"] = process.argv.slice(2)
const events = Number(wanted)
const buffer = Buffer.alloc(64 * 1024)
let seen = 0
let started = 0
let cpu = process.cpuUsage()

const socket = connect({
  port: Number(port),
  host: "127.0.0.1",
  onread: {
    buffer,
    callback: (length: number) => {
      if (started === 0) {
        started = performance.now()
        cpu = process.cpuUsage()
      }
      let at = buffer.indexOf(10, 0)
      while (at >= 0 && at < length) {
        // Every chunk holds one line, and ends with a second line feed behind the framing.
        seen++
        at = buffer.indexOf(10, at + 1)
      }
      if (seen / 3 >= events) {
        const { user, system } = process.cpuUsage(cpu)
        const seconds = (performance.now() - started) / 1000
        console.log(JSON.stringify({ events, seconds, cpuSeconds: (user + system) / 1e6 }))
        process.exit(0)
      }
      return true
    }
  }
})
socket.write(`GET /apis/apps/v1/deployments?watch=1 HTTP/1.1\r\nHost: bench\r\n\r\n`)
