/** docs/reference/simulation-api.md has the fields and rules of the definition. After an intended change, the option -u writes them. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { columnRows, ruleRows, simulationSchema } from "./definition.ts"
import { fieldRows } from "./field-table.ts"

const page = fileURLToPath(new URL("../../../docs/reference/simulation-api.md", import.meta.url))

test("the reference has every field, column and rule of the definition", async () => {
  const { spec = {}, status = {} } = simulationSchema.properties ?? {}
  const tables: Readonly<Record<string, ReadonlyArray<string>>> = {
    spec: [
      "| field | type | required, or default | meaning |",
      "| --- | --- | --- | --- |",
      ...fieldRows(spec, "spec"),
    ],
    status: ["| field | type | required | meaning |", "| --- | --- | --- | --- |", ...fieldRows(status, "status")],
    columns: ["| column | from | meaning |", "| --- | --- | --- |", ...columnRows()],
    rules: ["| field | rule |", "| --- | --- |", ...ruleRows()],
  }
  let text = await readFile(page, "utf8")
  for (const [name, rows] of Object.entries(tables)) {
    const [begin, end] = [`<!-- ${name}: made by test/simulation/api/reference.test.ts -->\n`, "<!-- end -->"]
    const start = text.indexOf(begin) + begin.length
    expect(start).toBeGreaterThan(begin.length)
    text = `${text.slice(0, start)}\n${rows.join("\n")}\n\n${text.slice(text.indexOf(end, start))}`
  }
  await expect(text).toMatchFileSnapshot(page)
})
