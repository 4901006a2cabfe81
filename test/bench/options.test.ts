import { describe, expect, test } from "vitest"
import { describeWorkload, generatorOptionsOf, kindsOf } from "../../bench/load/workload.ts"
import { optionsNotTaken, optionsTaken, parseOptions } from "../../bench/options.ts"

describe("the command line", () => {
  test("names no scenario and asks for nothing by default", () => {
    const options = parseOptions([])
    expect(options.names).toEqual([])
    expect(options.workload).toEqual({})
    expect([options.events, options.rounds, options.peer]).toEqual([undefined, undefined, undefined])
    expect([options.isQuick, options.isJson, options.isProfiled, options.isList, options.isCalibration]).toEqual(
      Array.from({ length: 5 }, () => false),
    )
  })

  test("takes names, numbers, and a command with blanks in it", () => {
    const options = parseOptions([
      "ingest",
      "kinds",
      "--rounds",
      "7",
      "--events=200",
      "--peer",
      "sk-tracer -c x",
      "--quick",
    ])
    expect(options.names).toEqual(["ingest", "kinds"])
    expect([options.rounds, options.events, options.peer, options.isQuick]).toEqual([7, 200, "sk-tracer -c x", true])
  })

  test("reads a workload: percentages as shares, k as a thousand", () => {
    const args = "--rate 20 --heartbeats 12.5% --object-size 500k --kinds 32 --objects 5 --pods 0".split(" ")
    expect(parseOptions(args).workload).toEqual({
      rate: 20,
      heartbeatShare: 0.125,
      objectBytes: 500_000,
      kinds: 32,
      objects: 5,
      pods: 0,
    })
    expect(parseOptions(["--object-size", "1000"]).workload).toEqual({ objectBytes: 1000 })
    expect(parseOptions(["--heartbeats", "100"]).workload).toEqual({ heartbeatShare: 1 })
  })

  test.each([
    ["--rate 0", "--rate"],
    ["--rounds 1.5", "--rounds"],
    ["--events ten", "--events"],
    ["--events 1e3", "--events"],
    ["--heartbeats 101", "--heartbeats"],
    ["--heartbeats some", "--heartbeats"],
    ["--object-size 999", "--object-size"],
    ["--object-size 501k", "--object-size"],
    ["--object-size 2M", "--object-size"],
    ["--kinds 161", "--kinds"],
    ["--speed 3", "--speed"],
  ])("refuses %s and names the option", (line, option) => {
    expect(() => parseOptions(line.split(" "))).toThrow(option)
  })

  test("refuses a peer without a command", () => {
    expect(() => parseOptions(["--peer", " "])).toThrow("--peer")
  })

  test("knows by their written names which options a scenario does not take", () => {
    const workload = { rate: 20, objectBytes: 2000, pods: 3 }
    expect(optionsNotTaken(workload, ["rate", "pods"])).toEqual(["--object-size"])
    expect(optionsTaken(workload, ["rate", "kinds"])).toEqual({ rate: 20 })
  })
})

describe("a workload", () => {
  test("is the usual one of 1,000 objects where nothing is said", () => {
    expect(generatorOptionsOf({})).toEqual({ listed: { Deployment: 1000, ReplicaSet: 1000 }, furtherKinds: 0 })
    expect(describeWorkload({})).toBe("")
  })

  test("has fewer objects when they are large, unless a number is given", () => {
    expect(generatorOptionsOf({ objectBytes: 500_000 }).listed).toEqual({ Deployment: 128, ReplicaSet: 128 })
    expect(generatorOptionsOf({ objectBytes: 500_000, objects: 300 }).listed?.Deployment).toBe(300)
  })

  test("has the base kinds first and custom resources on top of them", () => {
    expect(kindsOf({ kinds: 2 }).map(({ kind }) => kind)).toEqual(["Deployment", "ReplicaSet"])
    expect(kindsOf({ kinds: 5 }).map(({ kind }) => kind)).toEqual(["Deployment", "ReplicaSet", "Pod", "Kind1", "Kind2"])
    expect(generatorOptionsOf({ kinds: 5 }).furtherKinds).toBe(2)
    expect(generatorOptionsOf({ kinds: 1 }).furtherKinds).toBe(0)
  })

  test("is described by what differs", () => {
    expect(describeWorkload({ rate: 20_000, heartbeatShare: 0.25 })).toBe("20,000 events/s, 25 % heartbeats")
  })
})
