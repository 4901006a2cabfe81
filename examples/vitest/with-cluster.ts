/**
 * Tests with a cluster of their own. A test that fails gets a page attached that shows what happened in its cluster:
 *
 * ```ts
 * test("a Deployment gets its pods", withCluster(async ({ sandbox }) => { … }))
 * ```
 *
 * Copy this file into your project and change what it records.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type Recorder, startRecorder } from "kubereel"
import { LocalCluster } from "kubereel/sandbox"
import { htmlReport } from "kubereel/trace"
import type { TestContext } from "vitest"

/** What the page shows. Objects of other kinds are not recorded. */
const kinds = [
  "v1.Pod",
  "v1.ConfigMap",
  "v1.Service",
  "apps/v1.Deployment",
  "apps/v1.ReplicaSet",
  "apps/v1.StatefulSet",
  "batch/v1.Job",
]

/** Where pages are kept that vitest takes no more, because the test had already failed by its time limit. */
const kept = ".vitest/reports"

/** A test that gets a cluster, which is recorded from the start of the test to its end. */
export const withCluster =
  (body: (cluster: LocalCluster, context: TestContext) => Promise<void>) =>
  (context: TestContext): Promise<void> => {
    const run = runWithCluster(body, context)
    // Also after its time limit a test ends with its cluster closed and its page written.
    context.onTestFinished(() => run.catch(() => undefined))
    return run
  }

const runWithCluster = async (
  body: (cluster: LocalCluster, context: TestContext) => Promise<void>,
  context: TestContext,
): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), "cluster-of-a-test-"))
  try {
    await using cluster = await LocalCluster.start({ nodes: 2 })
    await using recorder = await startRecorder({
      kinds,
      server: cluster.sandbox.endpoint,
      directory: join(folder, "recording"),
      log: quiet,
    })
    await recorder.ready()
    try {
      await Promise.race([body(cluster, context), timeLimit(context.signal)])
    } catch (error) {
      // Here and not in a hook: once a test has failed, vitest takes no annotations for it.
      await attachReport(recorder, folder, context, error)
      throw error
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Rejects when the test is over. */
const timeLimit = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
  })

/** Attaches the page, and adds its path to the message of the failure, which every reporter prints. */
const attachReport = async (
  recorder: Recorder,
  folder: string,
  { annotate, signal, task }: TestContext,
  error: unknown,
): Promise<void> => {
  try {
    const [trace, page] = [join(folder, "trace.ndjson"), join(folder, "report.html")]
    await recorder.commit()
    await recorder.export(trace)
    await writeFile(page, await htmlReport(await readFile(trace), { title: task.name }))
    if (signal.aborted) {
      const path = resolve(kept, `${task.id}.html`)
      await mkdir(kept, { recursive: true })
      await copyFile(page, path)
      console.error(`What happened in the cluster of "${task.name}": ${path}`)
      return
    }
    // vitest copies the file to its folder of attachments (`attachmentsDir`, by default .vitest/attachments).
    const { attachment } = await annotate("What happened in the cluster", { contentType: "text/html", path: page })
    if (error instanceof Error && attachment?.path !== undefined)
      error.message += `\n\nWhat happened in the cluster: ${attachment.path}`
  } catch (problem) {
    // The failure of the test is what matters.
    console.error(`There is no report for "${task.name}":`, problem)
  }
}

const nothing = (): void => undefined
const quiet = { error: console.error, warn: nothing, info: nothing, debug: nothing }
