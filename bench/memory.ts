import type { Scenario } from "./scenario.ts"
export const memory: Scenario = { name: "memory", description: "", run: async () => ({ measures: [], notes: [] }) }
