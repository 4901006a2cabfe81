import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { parseDriver } from "../../../src/cli/driver/driver-arguments.ts"

/** What SimKube's controller gives its driver (docs/facts/simkube.md). */
const simkube = [
  ...["--cert-path", "/usr/local/etc/ssl/tls.crt", "--key-path", "/usr/local/etc/ssl/tls.key"],
  ...["--trace-path", "s3://traces/demo.sktrace", "--sim-name", "demo", "--controller-ns", "simkube"],
]
const named = { DRIVER_NAME: "sk-demo-driver-0-abcde" }

describe("the arguments of a driver", () => {
  test("are those of SimKube's", () => {
    const request = Result.getOrThrow(parseDriver([...simkube, "-v", "info"], named))
    expect(request).toMatchObject({
      simulation: "demo",
      pod: "sk-demo-driver-0-abcde",
      repetition: 1,
      tracePath: "s3://traces/demo.sktrace",
      certPath: "/usr/local/etc/ssl/tls.crt",
      keyPath: "/usr/local/etc/ssl/tls.key",
      webhookPort: 8888,
    })
    expect(parseDriver([...simkube, "--verbosity", "sk_driver=debug"], named)).toEqual(Result.succeed(request))
  })

  test("are followed by spec.driver.args, and the completion index says which repetition it is", () => {
    const more = ["--admission-webhook-port", "9443", "--partial", "--settle", "2s", "--metrics-port", "9090"]
    const request = Result.getOrThrow(parseDriver([...simkube, ...more], { ...named, JOB_COMPLETION_INDEX: "4" }))
    expect(request).toMatchObject({
      webhookPort: 9443,
      isPartial: true,
      settleMs: 2000,
      metricsPort: 9090,
      repetition: 5,
    })
  })

  test.each([
    [["--sim-name", "demo"], named, "--controller-ns NAMESPACE is required"],
    [[...simkube, "--speed", "2"], named, "unknown option --speed"],
    [[...simkube, "--admission-webhook-port", "70000"], named, "must be a number from 0 to 65535"],
    [[...simkube, "--help"], named, "--help starts no driver"],
    [simkube, {}, "DRIVER_NAME must be the name of the driver's pod"],
    [simkube, { ...named, JOB_COMPLETION_INDEX: "-1" }, "JOB_COMPLETION_INDEX must be a number from 0 on"],
  ])("%j with %j are refused", (argv, environment, problem) => {
    const refused = parseDriver(argv, environment)
    expect(Result.isFailure(refused) && refused.failure).toContain(problem)
  })
})
