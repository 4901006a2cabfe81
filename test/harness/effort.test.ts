import { describe, expect, test } from "vitest"
import { alike, isThorough, load, rounds, thoroughVariable } from "./effort.ts"
import { slownessVariable } from "./patience.ts"

describe("the rounds that a run of the tests takes", () => {
  test("are a quarter, and at least one", () => {
    expect([1, 2, 4, 20, 1000].map((all) => rounds(all, {}))).toEqual([1, 1, 1, 5, 250])
    expect(isThorough({ [thoroughVariable]: "" })).toBe(false)
  })

  test("are all in a thorough run", () => {
    const environment = { [thoroughVariable]: "1" }
    expect([1, 20, 1000].map((all) => rounds(all, environment))).toEqual([1, 20, 1000])
    expect(isThorough(environment)).toBe(true)
  })

  test("are one of cases that are alike, or all in a thorough run", () => {
    expect(alike([1, 2, 3], {})).toEqual([1])
    expect(alike([1, 2, 3], { [thoroughVariable]: "1" })).toEqual([1, 2, 3])
  })

  test("make a load that a slow machine can bear", () => {
    expect(load(400, { [slownessVariable]: "1" })).toBe(100)
    expect(load(400, { [slownessVariable]: "4" })).toBe(25)
    expect(load(400, { [slownessVariable]: "2", [thoroughVariable]: "1" })).toBe(200)
  })
})
