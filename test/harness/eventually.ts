import { vi } from "vitest"
import { patient } from "./patience.ts"

/** Repeats the call until it throws nothing; then returns its result. After too long, throws the last error. */
export const eventually = <Value>(found: () => Value | Promise<Value>): Promise<Value> =>
  vi.waitFor(found, { timeout: patient(10_000) }) as Promise<Value>
