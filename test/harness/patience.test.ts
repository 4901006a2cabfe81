import { describe, expect, test } from "vitest"
import { patience, patienceVariable, slownessVariable } from "./patience.ts"
import { slownessOf } from "./slowness.ts"

describe("the factor of time limits", () => {
  test("grows with the load, and is at least twice the slowness of the machine", () => {
    expect(patience({ [slownessVariable]: "1" }, 0)).toBe(2)
    expect(patience({ [slownessVariable]: "1" }, 1000)).toBe(10)
    expect(patience({ [slownessVariable]: "3.5" }, 0)).toBe(7)
    expect(patience({ [slownessVariable]: "8" }, 1000)).toBe(16)
  })

  test("is the given one if one is given, and nothing is measured then", () => {
    const environment = { [patienceVariable]: "1.5" }
    expect(patience(environment, 1000)).toBe(1.5)
    expect(environment).not.toHaveProperty(slownessVariable)
    expect(() => patience({ [patienceVariable]: "0" })).toThrow("KUBEREEL_TEST_PATIENCE=0: it must be a number of at")
    expect(() => patience({ [slownessVariable]: "fast" })).toThrow("KUBEREEL_TEST_SLOWNESS=fast: it must be")
  })

  test("is measured once, for all processes that inherit the environment", () => {
    const environment: NodeJS.ProcessEnv = {}
    const first = patience(environment, 0)
    expect(Number(environment[slownessVariable])).toBeGreaterThanOrEqual(1)
    expect(patience(environment, 0)).toBe(first)
  })
})

test("a machine is as slow as the median of what it took, never faster than usual, and at most ten times slower", () => {
  expect(slownessOf([20, 30, 40])).toBe(1)
  expect(slownessOf([120, 9000, 130])).toBe(1.1)
  expect(slownessOf([480, 470, 3000])).toBe(4)
  expect(slownessOf([9000, 9000, 9000])).toBe(10)
})
