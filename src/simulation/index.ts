/**
 * Replays: a trace into a cluster, on time, with a report of how close it came; Simulation resources, their controller and driver.
 *
 * Guarantee: writes come in an order that the cluster accepts and never before they are due; what was created is removed, also after a crash; the report
 * names what was left out and why. Any cluster will do: it knows no sandbox.
 */

export { simulationDefinitions } from "./api/definitions.ts"
export { nameOfKind, simulationKind, simulationRootKind } from "./api/derived-names.ts"
export {
  type Simulation,
  SimulationHooks,
  type SimulationMetrics,
  traceDurationMs,
  traceDurationRule,
} from "./api/simulation.ts"
export type { RepetitionReport } from "./api/status.ts"
export {
  bestOf,
  type Column,
  cellsOf,
  columnsOf,
  comparedTime,
  compareReports,
  firstRuns,
  headOf,
  type Row,
  type RowGroup,
  type Value,
} from "./comparison/compare-reports.ts"
export { differentTrace, NotAReport, type ReadReport, readReport } from "./comparison/compared-report.ts"
export { driverRole } from "./controller/driver-job.ts"
export { HookRuns } from "./controller/hook-runs.ts"
export { simulationController, startSimulationController } from "./controller/start-controller.ts"
export { driveSimulation } from "./driver/drive-simulation.ts"
export { DriverFailure, type DriverSetting, type DriverTrace, type ReportStore } from "./driver/driver-setting.ts"
export { isUndeclaredField } from "./driver/driver-status.ts"
export type { WebhookIdentity } from "./driver/driver-webhook.ts"
export { Fidelity } from "./fidelity/fidelity.ts"
export { describeDifference } from "./fidelity/object-details.ts"
export { OutputLines } from "./hooks/run-phase.ts"
export { allCustom } from "./objects/not-replayed.ts"
export { virtualNodeTaint } from "./objects/pod-templates.ts"
export { comparisonPage, mostReports } from "./page/comparison-page.ts"
export { reportPage } from "./page/report-page.ts"
export { followRecordedLives } from "./pods/followed-pods.ts"
export { LifeScout, PassingLives } from "./pods/life-source.ts"
export { forecastReplay, type ReplayForecast, refuseLacking } from "./replay/forecast.ts"
export { Repetitions, type RepetitionsOptions } from "./replay/repetitions.ts"
export type { ReplayOptions, ReplayProgress } from "./replay/replay-options.ts"
export type { OutsideTrace, RecordedCluster, ReplayExists, TargetLacks, TargetUnusable } from "./replay/replay-root.ts"
export { type ReplaySurvey, surveyReplay } from "./replay/replay-survey.ts"
export { type ReplayWindow, type TraceChange, type TracePart, traceChanges } from "./replay/trace-changes.ts"
export type { Both, ExtraObject, FidelityReport, FidelityUnknown, PodFidelity } from "./report/fidelity-report.ts"
export type { Cause, OutcomeCounts, RepetitionsReport, ReplayReport, Spread } from "./report/replay-report.ts"
export { type Speed, speedLimits } from "./schedule/replay-clock.ts"
export { type NoRecording, recordedDirectory } from "./source/recorded-directory.ts"
export { cleanUp, RemovalIncomplete, RemovalUnchecked } from "./target/clean-up.ts"
export { isFieldConflict } from "./target/target-cluster.ts"
export { registeredWebhook } from "./webhook/pod-webhook.ts"
