/**
 * Set-up of every test file of `npm test`: how long a test without a limit of its own may take, by how busy the machine is when the
 * file begins. No test waits on a wall clock; the slowest lawful thing is the start of workers.
 */
import { vi } from "vitest"
import { patient } from "./patience.ts"

vi.setConfig({ testTimeout: patient(15_000), hookTimeout: patient(30_000) })
