import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { parseSchedstat, parseStat, parseStatus } from "../../bench/process-files.ts"

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
