import { vi } from "vitest"
import { patient } from "./patience.ts"

/** Asks again and again until nothing is thrown; then returns what was returned. The last error once that has taken too long. */
export const eventually = <Value>(found: () => Value | Promise<Value>): Promise<Value> =>
  vi.waitFor(found, { timeout: patient(10_000) }) as Promise<Value>
