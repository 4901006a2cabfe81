import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, expect, test } from "vitest"
import { listeningPort, parseListening } from "../../../bench/processes/listening-port.ts"
import { patient } from "../../harness/patience.ts"

const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"

describe("the ports of /proc/<pid>/net/tcp", () => {
  test("are those of sockets that listen", () => {
    const text = [
      header,
      "   0: 0100007F:1E61 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0",
      "   1: 0100007F:1E61 0100007F:A2C4 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1",
      "",
    ].join("\n")
    expect([...parseListening(text)]).toEqual([["4711", 7777]])
  })
})

describe.runIf(process.platform === "linux")("the port of a process", () => {
  test("is found from outside; a process without one is an error", { timeout: patient(30_000) }, async () => {
    const program = `
      const server = require("node:net").createServer()
      server.listen(0, "127.0.0.1", () => console.log(server.address().port))
      process.stdin.on("data", () => server.close(() => console.log("closed")))`
    const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] })
    try {
      const [said] = (await once(child.stdout, "data")) as [Buffer]
      expect(listeningPort(child.pid ?? 0)).toBe(Number(said.toString()))
      child.stdin.write("close\n")
      await once(child.stdout, "data")
      expect(() => listeningPort(child.pid ?? 0)).toThrow("0 ports")
    } finally {
      child.kill()
      await once(child, "close")
    }
  })
})
