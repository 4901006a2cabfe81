import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import {
  hasEnded,
  parseGroup,
  parsePss,
  parseQueues,
  parseSchedstat,
  parseStat,
  parseStatus,
} from "../../../bench/processes/process-files.ts"

const status = `Name:	node-MainThread
Umask:	0022
VmPeak:	 1234567 kB
VmHWM:	  233640 kB
VmRSS:	  220104 kB
RssAnon:	  160000 kB
RssFile:	   60100 kB
RssShmem:	       4 kB
Threads:	12
`

describe("a status file", () => {
  test("gives resident memory in bytes, and of what kind it is", () => {
    expect(parseStatus(status)).toEqual({
      resident: 220_104 * 1024,
      peak: 233_640 * 1024,
      anonymous: 160_000 * 1024,
      file: 60_100 * 1024,
      shared: 4 * 1024,
    })
  })

  test("of a process that has ended has no memory, and that is said", () => {
    expect(() => parseStatus("Name:	node\nState:	Z (zombie)\n")).toThrow("no VmRSS")
  })
})

test("a roll-up of mappings gives the proportional set size in bytes", () => {
  const rollup =
    "5580-7ffe ---p 00000000 00:00 0    [rollup]\nRss:       60336 kB\nPss:       41210 kB\nPss_Dirty:  9876 kB\n"
  expect(parsePss(rollup)).toBe(41_210 * 1024)
  expect(() => parsePss("Rss: 1 kB\n")).toThrow("no Pss")
})

describe("a stat file", () => {
  const rest = "S 1 1 1 0 -1 4194304 5000 0 1 0 123 45 0 0 20 0 12 0 999 1000 2000"

  test("gives user and system time in seconds", () => {
    expect(parseStat(`4711 (store.js) ${rest}\n`)).toEqual({ name: "store.js", seconds: 1.68 })
  })

  test("may have blanks and parentheses in the name", () => {
    expect(parseStat(`4711 (a) (b c) ${rest}`)).toEqual({ name: "a) (b c", seconds: 1.68 })
  })

  test("is told from another text", () => {
    expect(() => parseStat("")).toThrow("not a stat file")
    expect(() => parseStat("4711 (node)")).toThrow("not a stat file")
  })
})

describe("a schedstat file", () => {
  test("gives the time on a CPU and the time ready for one", () => {
    expect(parseSchedstat("2500000000 1250000000 77\n")).toEqual({ running: 2.5, waiting: 1.25 })
    expect(() => parseSchedstat("")).toThrow("not a schedstat file")
  })
})

describe.runIf(process.platform === "linux")("the kernel's own files", () => {
  test("are understood", () => {
    const memory = parseStatus(readFileSync("/proc/self/status", "utf8"))
    expect(memory.resident).toBeGreaterThan(20e6)
    expect(memory.anonymous + memory.file + memory.shared).toBe(memory.resident)
    const { seconds } = parseStat(readFileSync("/proc/self/stat", "utf8"))
    const { user, system } = process.cpuUsage()
    expect(Math.abs(seconds - (user + system) / 1e6)).toBeLessThan(1)
    expect(parseSchedstat(readFileSync("/proc/self/schedstat", "utf8")).running).toBeGreaterThan(0)
  })
})

describe("the group of a process", () => {
  test("is the third field behind its name, whatever the name", () => {
    expect(parseGroup("4711 (a) b (c)) S 1 4700 4700 0 -1 4194304")).toBe(4700)
    expect(() => parseGroup("nothing")).toThrow("not a stat file")
  })

  test("has members that have ended and are still listed", () => {
    expect(hasEnded("4711 (a) Z) S 1 4700 4700")).toBe(false)
    expect(hasEnded("4711 (a) b) Z 1 4700 4700")).toBe(true)
  })
})

describe("bytes on their way between a server and its clients", () => {
  const table = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1",
    "   1: 0100007F:1F90 0100007F:C001 01 00000100:00000007 00:00000000 00000000     0        0 2",
    "   2: 0100007F:C001 0100007F:1F90 01 00000009:00000010 00:00000000 00000000     0        0 3",
    "   3: 0100007F:C002 0100007F:0050 01 00000111:00000111 00:00000000 00000000     0        0 4",
    "",
  ].join("\n")

  test("are what the server has not sent and its clients have not read; what goes the other way is not counted", () => {
    expect(parseQueues(table, 8080)).toBe(0x100 + 0x10)
  })

  test("are none of a port that nobody uses", () => {
    expect(parseQueues(table, 8081)).toBe(0)
  })
})
