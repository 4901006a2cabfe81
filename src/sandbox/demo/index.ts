/** The scripted workload that `reel sandbox --workload demo` and `npm start` show. */
export { cleanUpDemo, type DemoStep, demoLengthMs, demoSteps, playDemo } from "./demo-workload.ts"
