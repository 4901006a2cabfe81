import { systemClock } from "../../../src/clock.ts"
import type { ModuleHostOptions } from "../../../src/host/host-options.ts"
import { ModuleHost } from "../../../src/host/module-host.ts"
import { startHostThread } from "../../../src/host/worker-entries.ts"
import type { Sandbox } from "../../../src/sandbox/index.ts"

/** A host on a sandbox, with one worker, whose modules may watch what they like. Close it. */
export const hostOn = (sandbox: Sandbox, options: Partial<ModuleHostOptions> = {}): ModuleHost => {
  const endpoints = { endpoint: async () => sandbox.endpoint, onUnauthorized: async () => undefined }
  return new ModuleHost({
    workers: 1,
    clock: systemClock,
    random: Math.random,
    checkWatch: async () => undefined,
    endpoints,
    identityOf: () => endpoints,
    version: "test",
    start: startHostThread,
    onLog: () => undefined,
    onNote: () => undefined,
    ...options,
  })
}
