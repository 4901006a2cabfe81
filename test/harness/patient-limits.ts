/**
 * Set-up of every test file of `npm test`: sets the time limit of tests without one of their own, according to the machine's load when the
 * file starts. No test waits on a wall clock; the slowest legitimate step is the start of workers.
 */
import { vi } from "vitest"
import { patient } from "./patience.ts"

vi.setConfig({ testTimeout: patient(15_000), hookTimeout: patient(30_000) })
