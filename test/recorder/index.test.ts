/** What a program that embeds the recorder imports: every name exists, and settings can be written with nothing else. */
import { expect, expectTypeOf, test } from "vitest"
import type {
  AccessSettings,
  AllowedPlace,
  ApiEndpoint,
  CredentialsError,
  EndpointSource,
  ExportJob,
  ExportLimits,
  ExportReader,
  ExportRefused,
  KindState,
  KindStatus,
  NamespaceState,
  Reconfiguration,
  RecorderActors,
  RecorderActorsOptions,
  RecorderClose,
  RecorderConfiguration,
  RecorderNotice,
  RecorderSettings,
  RecorderSummary,
  RunningExport,
  RunningRecorder,
  StoreUnavailable,
  TrackedKind,
  WatcherReport,
  WorkerRole,
} from "../../src/library/recorder.ts"
import * as kubereel from "../../src/library/recorder.ts"

test("the module exports the intended names, and nothing by accident", () => {
  expect(Object.keys(kubereel).sort()).toEqual([
    "AnonymousRefused",
    "CertificateFileError",
    "ConfigurationInvalidError",
    "ConfigurationUnreadableError",
    "ListenError",
    "RecorderError",
    "RecordingGone",
    "RedactionKeyError",
    "TokenFileError",
    "defaultExportLimits",
    "defaultWatchPolicy",
    "isCredentialsError",
    "readAllowList",
    "startRecorder",
    "startRecorderActors",
    "summarise",
  ])
})

test("all settings of a recorder can be written", () => {
  const access: AccessSettings = { auth: "token", tokenFile: "/etc/kubereel/tokens" }
  const reading = kubereel.readAllowList(["s3://traces/team-a"])
  const allowedTargets: ReadonlyArray<AllowedPlace> = reading.tag === "allow-list" ? reading.places : []
  const exportLimits: ExportLimits = { ...kubereel.defaultExportLimits, bytes: 1e9 }
  const settings: RecorderSettings = {
    config: "tracer.yml",
    kubeconfig: undefined,
    context: undefined,
    port: 0,
    bind: "127.0.0.1",
    dataDir: undefined,
    namespaces: [],
    secretsInPlainText: false,
    fsync: "interval",
    reportEvents: false,
    version: "1.0.0",
    access,
    allowedTargets,
    exportLimits,
    policy: kubereel.defaultWatchPolicy,
  }
  expect(settings.allowedTargets).toEqual([{ provider: "s3", host: undefined, bucket: "traces", key: "team-a" }])
})

test("the types of parameters, results and errors are exported", () => {
  expectTypeOf<RecorderSettings["access"]>().toEqualTypeOf<AccessSettings | undefined>()
  expectTypeOf<RecorderSummary["incomplete"]>().toEqualTypeOf<ReadonlyArray<KindStatus>>()
  expectTypeOf<KindStatus["state"]>().toEqualTypeOf<KindState>()
  expectTypeOf<KindStatus["namespaces"]>().toEqualTypeOf<ReadonlyArray<NamespaceState>>()
  expectTypeOf<RunningRecorder["configuration"]>().toEqualTypeOf<RecorderConfiguration>()
  expectTypeOf<RecorderConfiguration["kinds"][number]>().toMatchTypeOf<TrackedKind>()
  expectTypeOf<RecorderActorsOptions["endpoints"]>().toEqualTypeOf<EndpointSource>()
  expectTypeOf<NonNullable<RecorderActorsOptions["entry"]>>().parameter(0).toEqualTypeOf<WorkerRole>()
  expectTypeOf<ReturnType<EndpointSource["endpoint"]>>().resolves.toEqualTypeOf<ApiEndpoint>()
  expectTypeOf<Extract<RecorderNotice, { type: "kind" }>["report"]>().toEqualTypeOf<WatcherReport>()
  expectTypeOf<RecorderActors["reconfigure"]>().returns.resolves.toEqualTypeOf<Reconfiguration>()
  expectTypeOf<ReturnType<RecorderActors["closed"]>>().toEqualTypeOf<RecorderClose | undefined>()
  expectTypeOf<Parameters<RecorderActors["exports"]["start"]>>().toEqualTypeOf<[ExportJob, ExportReader]>()
  expectTypeOf<RunningExport["cancel"]>().toBeFunction()
  expectTypeOf<ExportRefused["fault"]>().toEqualTypeOf<"request" | "recording" | "busy">()
  expectTypeOf<StoreUnavailable["message"]>().toBeString()
  expectTypeOf<CredentialsError["_tag"]>().toMatchTypeOf<string>()
})
