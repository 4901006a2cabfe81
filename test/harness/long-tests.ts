/**
 * The long tests, `npm run test:long`, longest first: files of which each takes more than 5 s of CPU, because it starts recorders, replays and hosts as
 * processes, compiles guests, or reads whole pages of commands. `npm test` leaves them out, so that it takes less than three minutes on two
 * cores; `.ci/run` runs both. These take 900 s of CPU, a quarter of it the first five (2026-11-30).
 */
import { existsSync } from "node:fs"
import { join, relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Paths below the project's root. */
export const longTests: ReadonlyArray<string> = [
  "test/replicas/replica-kills.test.ts",
  "test/docs/pages.test.ts",
  "test/recorder/recorded/retention-kills.test.ts",
  "test/examples/host/simplepod.test.ts",
  "test/simulation/fidelity/sabotage.test.ts",
  "test/recorder/recorded/shards.test.ts",
  "test/bench/measuring/live-run.test.ts",
  "test/host/module-host.test.ts",
  "test/k8s/pod.test.ts",
  "test/recorder/late/bad-times.test.ts",
  "test/recorder/recorder/bad-server.test.ts",
  "test/recorder/recorder/device.test.ts",
  "test/archive/damage/flipped-bytes.test.ts",
  "test/recorder/recorder/connecting.test.ts",
  "test/recorder/recorded/archived-to-failing-store.test.ts",
  "test/recorder/recorder/standby.test.ts",
  "test/recorder/late/outages.test.ts",
  "test/cli/driver/run-driver.test.ts",
  "test/recorder/recorded/archive-kills.test.ts",
  "test/recorder/recorder/bad-setup.test.ts",
  "test/simulation/fidelity/fidelity.test.ts",
  "test/recorder/recorded/merged-blocks.test.ts",
  "test/recorder/recorded/namespaces.test.ts",
  "test/recorder/recorder/every-kind.test.ts",
  "test/recorder/recorded/reload.test.ts",
  "test/archive/retention/retention-model.test.ts",
  "test/recorder/recorder/signals-and-streams.test.ts",
  "test/docs/embed.test.ts",
  "test/recorder/recorder/exports.test.ts",
  "test/recorder/recorder/full-disk-limits.test.ts",
  "test/recorder/recorded/pod-lives.test.ts",
  "test/recorder/export/coverage.test.ts",
  "test/examples/vitest/with-cluster.test.ts",
  "test/host/scripts/script-host.test.ts",
  "test/recorder/recorder/failing-disk.test.ts",
  "test/cli/replay.test.ts",
  "test/cli/export-offline.test.ts",
  "test/recorder/recorded/kills.test.ts",
  "test/cli/replay/replay-control.test.ts",
  "test/simulation/replay/replay.test.ts",
  "test/recorder/redaction/planted-secrets.test.ts",
  "test/cli/convert-mutants.test.ts",
  "test/recorder/recorded/owner-kills.test.ts",
  "test/cli/replay/replay-sources.test.ts",
  "test/actors/exporter/exporter.test.ts",
  "test/recorder/recorder/disk.test.ts",
  "test/recorder/recorded/look-ups.test.ts",
  "test/recorder/recorded/process-kills.test.ts",
  "test/cli/host-replay.test.ts",
  "test/recorder/recorder/disk-and-restarts.test.ts",
  "test/host/guest/languages/assemblyscript-guest.test.ts",
  "test/simulation/controller/life.test.ts",
  "test/sandbox/request-mutants.test.ts",
  "test/cli/host-killed.test.ts",
  "test/host/dispatcher/no-change-missed.test.ts",
  "test/simulation/controller/deletion.test.ts",
  "test/simulation/replay/repetitions.test.ts",
  "test/archive/retention/retention-killed.test.ts",
  "test/host/dispatcher/deletions-over-crashes.test.ts",
  "test/host/dispatcher/examples.test.ts",
  "test/host/guest/languages/go-guest.test.ts",
]

/**
 * Runs the given files (paths below the project's root) in their order, before all others, so that no processor waits for the longest of them at the end;
 * Vitest otherwise goes by the size of files, which says nothing about their time. Throws if a file of the list does not exist.
 */
export const longestFirst = (files: ReadonlyArray<string>): typeof BaseSequencer => {
  const places = new Map(files.map((file, place) => [file, place]))
  return class extends BaseSequencer {
    override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
      const { root } = this.ctx.config
      for (const file of files) if (!existsSync(join(root, file))) throw new Error(`the long test ${file} is missing`)
      const place = ({ moduleId }: TestSpecification): number => places.get(relative(root, moduleId)) ?? files.length
      return (await super.sort(specifications)).sort((one, other) => place(one) - place(other))
    }
  }
}
