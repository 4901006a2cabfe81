/** `reel fleet facts` and `reel sql` of a stream in a directory: what they print, and what they refuse. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { fleetCommand } from "../../../src/cli/fleet.ts"
import { sqlCommand } from "../../../src/cli/sql.ts"
import { sample } from "../../archive/sample-recording.ts"
import { streamOf } from "../../facts/made-facts.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { until } from "../../runtime/until.ts"
import { capturedTerminal } from "../captured-terminal.ts"
import { ran } from "../commands-in.ts"

const fleet = (...words: ReadonlyArray<string>) => ran(fleetCommand(), words)
const sql = (...words: ReadonlyArray<string>) => ran(sqlCommand(), words)
const all = ["--since", "0"]

test("facts are made of a stream and asked, by the name of its folder or by another", async () => {
  const directory = sample()
  const bucket = await streamOf(directory, 20_000)
  const made = await fleet("facts", bucket, "--data-dir", directory, "--cluster", "prod")
  expect(made).toEqual({ code: exitCodes.ok, output: "facts of 5 segments: 360 changes\n", error: "" })
  const question = ["SELECT kind, count(*) AS n, max(changed) AS c FROM changes GROUP BY kind ORDER BY kind", ...all]
  const where = ["--data-dir", bucket]
  expect(await sql(...question, ...where)).toEqual({
    code: exitCodes.ok,
    output: `KIND           N   C
ConfigMap    120   ["data.second","data.filler"]
Pod          120   ["data.second","data.filler"]
ReplicaSet   120   ["data.second","data.filler"]
`,
    error: "",
  })
  const [json] = (await sql(...question, ...where, "-o", "json")).output.split("\n")
  expect(JSON.parse(json ?? "")).toEqual({ kind: "ConfigMap", n: 120, c: ["data.second", "data.filler"] })
  expect((await sql(...question, ...where, "-o", "csv")).output).toContain(
    'kind,n,c\nConfigMap,120,"[""data.second"",""data.filler""]"\n',
  )
  expect((await sql("FROM who", ...where, "--clusters", "other", "-o", "csv")).output).toBe(
    "cluster,who,kind,operation,changes,since,until\n",
  )
})

test("facts of a day are joined where there is a stream, and where there is none", async () => {
  const [directory, place] = [sample(), temporaryDirectory()]
  const bucket = await streamOf(directory, 20_000)
  const made = ["facts", bucket, "--data-dir", directory, "--cluster", "prod"]
  for (const to of [place, bucket]) {
    await fleet(...made, "--to", to)
    const question = ["SELECT count(*) AS n FROM changes", ...all, "--data-dir", to, "-o", "csv"]
    expect((await sql(...question)).output).toBe("n\n360\n")
    const { code, output } = await fleet("compact", to)
    expect([code, output]).toEqual([exitCodes.ok, expect.stringMatching(/^joined 4 files of facts into 1 file\n/)])
    expect(output.includes("nothing to compact")).toBe(to === bucket)
    expect((await sql(...question)).output).toBe("n\n360\n")
  }
  expect((await fleet("compact", temporaryDirectory())).code).toBe(exitCodes.failed)
})

test("CSV is made visible for a terminal, and equal names of columns get numbers in JSON", async () => {
  const directory = sample()
  const bucket = await streamOf(directory)
  await fleet("facts", bucket, "--data-dir", directory, "--cluster", "prod")
  const question = "SELECT chr(27) || '[31m' AS x, 1 AS x, 2 AS x_2, 3 AS x"
  const words = [question, "--data-dir", bucket, "-o"]
  const shown = await ran(sqlCommand(), [...words, "csv"], capturedTerminal({ output: { isTTY: true } }))
  expect(shown.output).not.toContain("\u001b")
  expect((await sql(...words, "csv")).output).toContain("\u001b[31m,1,2,3")
  const [json] = (await sql(...words, "json")).output.split("\n")
  expect(Object.values(JSON.parse(json ?? ""))).toEqual(["\u001b[31m", 1, 2, 3])
})

test("the name of a cluster is the whole last part of the address, or has to be given", async () => {
  const [directory, folder] = [sample(), temporaryDirectory()]
  const bucket = join(folder, "my histôry")
  mkdirSync(bucket)
  await streamOf(directory, undefined, bucket)
  const { code, error } = await fleet("facts", bucket, "--data-dir", directory)
  expect([code, error]).toEqual([exitCodes.usage, expect.stringMatching(/--cluster: .*my histôry.* cannot be one/)])
})

test("facts of several clusters share a place", async () => {
  const shared = temporaryDirectory()
  for (const cluster of ["a", "b"]) {
    const directory = sample()
    const bucket = await streamOf(directory)
    const { code } = await fleet("facts", bucket, "--data-dir", directory, "--cluster", cluster, "--to", shared)
    expect(code).toBe(exitCodes.ok)
  }
  const { output } = await sql(
    "SELECT DISTINCT cluster FROM changes ORDER BY ALL",
    ...all,
    "--data-dir",
    shared,
    "-o",
    "csv",
  )
  expect(output).toBe("cluster\na\nb\n")
})

test("without a data directory the stream itself is read", async () => {
  const bucket = await streamOf(sample(), 20_000)
  const terminal = capturedTerminal({ environment: { KUBEREEL_CACHE: temporaryDirectory() } })
  const made = await ran(fleetCommand(), ["facts", bucket, "--cluster", "prod"], terminal)
  expect(made).toMatchObject({ code: exitCodes.ok, output: "facts of 5 segments: 360 changes\n" })
})

test("with --watch it goes on until Ctrl-C", async () => {
  const directory = sample()
  const bucket = await streamOf(directory)
  const terminal = capturedTerminal()
  const ended = fleetCommand().run(["facts", bucket, "--data-dir", directory, "--cluster", "prod", "--watch"], terminal)
  const found = () => sql("SELECT count(*) AS n FROM changes", ...all, "--data-dir", bucket, "-o", "csv")
  let output = ""
  while (!output.includes("360")) ({ output } = await found())
  terminal.interrupt()
  expect(await ended).toBe(exitCodes.ok)
  await until(() => terminal.listeners() === 0)
})

test("a directory that is behind the stream is named, with exit code 3", async () => {
  const bucket = await streamOf(sample(), 20_000)
  const { code, error } = await fleet("facts", bucket, "--data-dir", sample(60), "--cluster", "prod")
  expect([code, error]).toEqual([exitCodes.incomplete, expect.stringMatching(/does not have segment \d+ yet/)])
})

test.each([
  [["prune", "x", "--data-dir", "x"], "is none of compact, status, facts, index"],
  [["facts", "x", "--data-dir", "x", "--cluster", "a/b"], "must consist of letters, digits"],
  [["facts", "ftp://x", "--data-dir", "x"], "is not supported"],
])("%j is refused", async (words, error) => {
  expect(await fleet(...words)).toMatchObject({ code: exitCodes.usage, error: expect.stringContaining(error) })
})

test("a question without a place, or one that DuckDB does not take, is refused in words", async () => {
  expect(await sql("FROM who")).toMatchObject({
    code: exitCodes.usage,
    error: expect.stringContaining("with --data-dir"),
  })
  const directory = sample()
  const bucket = await streamOf(directory)
  const none = await sql("FROM who", "--data-dir", bucket)
  expect(none).toMatchObject({ code: exitCodes.failed, error: expect.stringMatching(/has no facts\. Make facts with/) })
  await fleet("facts", bucket, "--data-dir", directory, "--cluster", "prod")
  const wrong = await sql("FROM whom", "--data-dir", bucket)
  expect(wrong).toMatchObject({ code: exitCodes.failed, error: expect.stringMatching(/Catalog Error: .*whom/) })
  const file = join(bucket, "stream.json")
  const nosy = await sql(`FROM read_text('${file}')`, "--data-dir", bucket)
  expect(nosy).toMatchObject({ code: exitCodes.failed, error: expect.stringContaining("disabled by configuration") })
})
