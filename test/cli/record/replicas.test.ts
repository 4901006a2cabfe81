/** The command line of a replica, and what it makes of it for the recorders of its shards. */
import { expect, test } from "vitest"
import { shardWords } from "../../../src/cli/record/run-replicas.ts"
import { recordCommand } from "../../../src/cli/record.ts"
import { capturedTerminal } from "../captured-terminal.ts"

const whole = [
  ...["--replicas-lease", "kubereel/huge", "--archive-to", "s3://recordings/huge", "--data-dir", "/data"],
  ...["--redact-key-file", "/key"],
]

test.each([
  [["--lease", "a/b"], /--lease cannot be combined with --replicas-lease, which serves health and metrics only/],
  [["--shard", "0/4"], /--shard cannot be combined/],
  [["--tls-cert", "a", "--tls-key", "b"], /--tls-cert cannot be combined/],
  [["--auth", "kubernetes"], /options of access cannot be combined/],
  [["--shards", "0"], /--shards "0": must be a number from 1 to 1000/],
  [["--replica-name", "A_b"], /--replica-name "A_b": must be of lower-case letters/],
  [["--all", "--config", "tracer.yml"], /--all cannot be combined with --config/],
])("%s is refused", async (words, reason) => {
  const terminal = capturedTerminal()
  expect(await recordCommand().run([...whole, ...words], terminal)).toBe(2)
  expect(terminal.standardError.text()).toMatch(reason)
})

test.each([
  ["--archive-to", /--replicas-lease requires --archive-to and --data-dir/],
  ["--data-dir", /--replicas-lease requires --archive-to and --data-dir/],
  ["--redact-key-file", /--replicas-lease requires --redact-key-file/],
])("without %s it is refused", async (option, reason) => {
  const terminal = capturedTerminal()
  const at = whole.indexOf(option)
  expect(await recordCommand().run(whole.toSpliced(at, 2), terminal)).toBe(2)
  expect(terminal.standardError.text()).toMatch(reason)
})

test("a recorder of a shard gets the same words, without the replica's own, and its shard behind them", () => {
  const argv = [...whole, "--shards", "4", "--replica-name=a", "--split", "pods", "--listen", "0.0.0.0:7777", "-v"]
  const lease = { namespace: "kubereel", name: "huge", durationMs: 15_000 }
  expect(shardWords(argv, { lease, dataDir: "/data" }, { shard: 2, shards: 4 })).toEqual([
    ...["record", "--archive-to", "s3://recordings/huge", "--data-dir", "/data", "--redact-key-file", "/key"],
    ...["--split", "pods", "--listen", "0.0.0.0:7777", "-v"],
    ...["--shard=2/4", "--lease=kubereel/huge-shard-2", "--data-dir=/data/shard-2", "--listen=127.0.0.1:0"],
  ])
})
