/** Metrics of several recorders as one text. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { formatMetrics, type Metric } from "../../src/recorder/index.ts"
import { shardMetrics } from "../../src/replicas/shard-metrics.ts"
import { parsePrometheusText } from "../recorder/recorder/prometheus-text.ts"

const anyName = fc.stringMatching(/^kubereel_[a-z]{1,6}$/)
const anyLabels = fc.dictionary(fc.stringMatching(/^l[a-z]{0,3}$/), fc.string({ unit: "binary", maxLength: 8 }), {
  maxKeys: 2,
})
const anyMetrics: fc.Arbitrary<ReadonlyArray<Metric>> = fc.uniqueArray(
  fc.record({
    name: anyName,
    help: fc.constantFrom("Some.", "With \\ and \n in it."),
    type: fc.constant("gauge" as const),
    samples: fc.uniqueArray(fc.record({ labels: anyLabels, value: fc.oneof(fc.double(), fc.integer()) }), {
      selector: ({ labels }) => JSON.stringify(Object.entries(labels).sort()),
      minLength: 1,
      maxLength: 3,
    }),
  }),
  { selector: ({ name }) => name, maxLength: 5 },
)

test("each sample of each shard is there once, with its labels and that of its shard, in a text that a scraper reads", () => {
  fc.assert(
    fc.property(fc.array(anyMetrics, { minLength: 1, maxLength: 4 }), (all) => {
      const text = shardMetrics(all.map((metrics, shard) => ({ shard, text: formatMetrics(metrics) })))
      const wanted = all.flatMap((metrics, shard) =>
        metrics.flatMap(({ name, samples }) =>
          samples.map(({ labels, value }) => ({
            name,
            labels: { ...labels, shard: String(shard) },
            value: Number(String(value)),
          })),
        ),
      )
      const sorted = (samples: ReadonlyArray<object>) =>
        samples
          .map((each) =>
            JSON.stringify(each, (_, value) =>
              value !== null && typeof value === "object" && !Array.isArray(value)
                ? Object.fromEntries(Object.entries(value).sort())
                : value,
            ),
          )
          .sort()
      expect(sorted(text === "" ? [] : parsePrometheusText(text))).toEqual(sorted(wanted))
    }),
  )
})

test("a metric that two shards have has one help, one type and all samples together", () => {
  const text = (value: number) => `# HELP kubereel_ready Is.\n# TYPE kubereel_ready gauge\nkubereel_ready ${value}\n`
  expect(
    shardMetrics([
      { shard: 0, text: text(1) },
      { shard: 2, text: text(0) },
    ]),
  ).toBe(
    '# HELP kubereel_ready Is.\n# TYPE kubereel_ready gauge\nkubereel_ready{shard="0"} 1\nkubereel_ready{shard="2"} 0\n',
  )
})
