/** Waits until the stream of a recorder has all that happened in its cluster. */
import type { Sandbox } from "../../../src/sandbox/index.ts"
import type { RecorderProcess } from "../recorder/recorder-command.ts"
import { ledgerOf } from "./recorded-sandbox.ts"

interface Waiting {
  readonly kinds: ReadonlyArray<string>
  /** From the moment at which all is recorded, ms. Default 30 s. */
  readonly withinMs?: number
  /** What is recorded. Default: what the recorder exports, which rejects if it does not reply. */
  readonly exported?: RecorderProcess["exported"]
}

export const untilArchived = async (
  recorder: RecorderProcess,
  sandbox: Sandbox,
  { kinds, withinMs = 30_000, exported = () => recorder.exported() }: Waiting,
): Promise<void> => {
  const wanted = kinds.map((gvk) => ledgerOf(sandbox, gvk).at(-1)?.resourceVersion ?? "")
  const isThere = async (): Promise<boolean> => {
    const versions = new Set((await exported()).map(({ resourceVersion }) => resourceVersion))
    return wanted.every((version) => versions.has(version))
  }
  await recorder.until(isThere, "the last events", 30_000)
  const fromMs = performance.now()
  const isArchived = async (): Promise<boolean> =>
    ((await recorder.metric("kubereel_archive_lag_seconds")) ?? Number.POSITIVE_INFINITY) * 1000 <
    performance.now() - fromMs
  await recorder.until(isArchived, "everything to be archived", withinMs)
}
