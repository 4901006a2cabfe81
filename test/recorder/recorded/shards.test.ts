/** Four recorders share a cluster: one kind is split, each other kind is of one of them. Together they have each change once. */
import { expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { load } from "../../harness/effort.ts"
import { patient } from "../../harness/patience.ts"
import { type ExportedLine, everything, type RecorderProcess, Workplace } from "../recorder/recorder-command.ts"
import { ledgerOf } from "./recorded-sandbox.ts"
import { Workload } from "./workload.ts"

const gvks = ["apps/v1.Deployment", "batch/v1.Job", "v1.ConfigMap", "v1.Service", "v1.ServiceAccount"]
const kinds = Object.fromEntries(gvks.map((gvk) => [gvk, "{detect: all}"]))
const seed = Number(process.env.KUBEREEL_TEST_SEED ?? Date.now() % 1_000_000)
const count = 4

test.each([true, false])(
  "four shards have each change once, also if one is killed and started again (a server that filters: %s)",
  {
    timeout: patient(180_000),
  },
  async (filtersByShard) => {
    await using place = new Workplace()
    const sandbox = await Sandbox.start({ filtersByShard, bookmarkInterval: 500 })
    const record = (index: number, more = ["--shard", `${index}/${count}`, "--split", "cm"]): RecorderProcess =>
      place.record({
        cluster: { server: sandbox.url },
        kinds,
        name: String(index),
        dataDir: place.path(`shard-${index}`),
        more,
      })
    try {
      const workload = new Workload(sandbox, gvks, seed)
      const recorders = Array.from({ length: count }, (_, index) => record(index))
      for (const recorder of recorders) await recorder.ready(30_000)
      workload.start(load(400))
      await workload.moment(1500)
      await recorders[2]?.kill()
      await workload.moment(1500)
      recorders[2] = record(2)
      await recorders[2].ready(30_000)
      await workload.moment(1500)
      workload.stop()

      const wanted = gvks.flatMap((gvk) => ledgerOf(sandbox, gvk))
      const keyOf = ({
        gvk,
        action,
        name,
        resourceVersion,
      }: Pick<ExportedLine, "gvk" | "action" | "name" | "resourceVersion">): string =>
        `${gvk} ${action} ${name}@${resourceVersion}`
      // On a busy machine, an exporter may still be starting.
      for (const recorder of recorders)
        await recorder.until(
          async () => (await recorder.post(everything("ndjson"))).status === 200,
          "an export",
          60_000,
        )
      const recorded = async () => Promise.all(recorders.map((recorder) => recorder.exported()))
      let parts = await recorded()
      const [first = record(0)] = recorders
      await first.until(
        async () => {
          parts = await recorded()
          return parts.flat().length >= wanted.length
        },
        "the last changes",
        30_000,
      )
      expect(parts.flat().map(keyOf).toSorted()).toEqual(wanted.map(keyOf).toSorted())

      // One kind is in all of them, each other in one.
      const holders = (gvk: string): number => parts.filter((part) => part.some((line) => line.gvk === gvk)).length
      expect(gvks.map(holders)).toEqual(gvks.map((gvk) => (gvk === "v1.ConfigMap" ? count : 1)))
      for (const recorder of recorders) {
        const passedOver = await recorder.metric('kubereel_kind_elsewhere_total{kind="v1.ConfigMap"}')
        if (filtersByShard) expect(passedOver).toBe(0)
        else expect(passedOver).toBeGreaterThan(0)
        expect((await recorder.get("/v1/kinds")).text).toMatch(/all namespaces; shard [0-3]\/4 by uid/)
        expect(await recorder.kind("v1.ConfigMap")).toMatch(/^v1.ConfigMap watching: .*; shard [0-3]\/4 by uid$/)
      }
      for (const recorder of recorders) expect(await recorder.stop()).toMatchObject({ code: 0 })

      // A directory stays that of its shard.
      for (const more of [["--shard", `1/${count + 1}`, "--split", "cm"], []]) {
        const other = record(1, more)
        expect(await other.ended).toMatchObject({ code: exitCodes.usage })
        expect(other.log).toContain(
          `is of shard 1/4 and cannot be continued as ${more.length === 0 ? "a whole cluster" : "shard 1/5"}`,
        )
      }
    } finally {
      await sandbox.close()
    }
  },
)
