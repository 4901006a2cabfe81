/** `reel replay` when the cluster goes away for good: Ctrl-C ends what waits for it, a second one what would remove something there. */
import { afterEach, beforeEach, expect, test } from "vitest"
import type { ReplayState } from "../../../src/cli/replay/control/control-state.ts"
import { patient } from "../../harness/patience.ts"
import { until, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { event, header, ndjsonOf } from "../../simulation/trace-items.ts"

/** A ConfigMap at the start, and two seconds later something of a kind that the target was not asked about before. */
const trace = ndjsonOf([
  header(3_600_000, { kinds: ["v1.ConfigMap", "v1.Pod", "batch/v1.CronJob"] }),
  event(0, "v1.ConfigMap", "a", {}),
  event(2000, "batch/v1.CronJob", "a", {}),
])

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  place.write("trace.ndjson", trace)
})
afterEach(() => place.close())

// Requests are repeated for half a minute and more, which the limit does not allow.
test("two interruptions end it without waiting for repeated requests", { timeout: patient(20_000) }, async () => {
  const kubeconfig = place.path("kubeconfig")
  const sandbox = place.reel("sandbox", "--listen", "0", "--nodes", "1", "--kubeconfig", kubeconfig)
  await sandbox.says(/http:\/\/127\.0\.0\.1:\d+/)
  const replay = place.reel(
    "replay",
    place.path("trace.ndjson"),
    "--kubeconfig",
    kubeconfig,
    "--control",
    "0",
    "--partial",
  )
  const [, url = ""] = await replay.says(/control and metrics: (http:\/\/127\.0\.0\.1:\d+)\/replay/)
  const state = async (): Promise<ReplayState> => (await (await fetch(`${url}/replay`)).json()) as ReplayState
  await until(
    async () => (await state()).phase === "replaying",
    () => "the replay to begin",
  )
  await sandbox.kill()
  await until(
    async () => (await state()).pending > 0,
    () => "a write that gets no response",
  )
  replay.child.kill("SIGINT")
  await replay.says(/interrupted: removing what was created/)
  replay.child.kill("SIGINT")
  expect((await replay.ended).code).toBe(130)
  expect(replay.output).toMatch(/^skipped +1 batch\/v1\.CronJob: the replay ended before the response$/m)
  expect(replay.output).not.toMatch(/^refused/m)
  expect(replay.log).toMatch(/not everything was removed: .*try again with reel replay --clean/)
})
