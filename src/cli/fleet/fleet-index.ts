/** `reel fleet index`: makes a DuckLake catalogue of facts. */
import { resolve } from "node:path"
import { openStore, readStorePlace } from "../../blob/index.ts"
import { factsIn, writeCatalog } from "../../facts/index.ts"
import { type OptionValues, optional, withDefault } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { type ExitCode, exitCodes } from "../command-line/exit-codes.ts"
import { formatCount } from "../terminal/quantities.ts"

export const indexOptions = {
  catalog: optional("FILE", "index: the catalogue, which is made anew each time; required"),
  extension: withDefault(
    "ducklake",
    "FILE",
    "index: DuckDB's extension ducklake; default: the one that INSTALL ducklake has put into DuckDB's directory",
  ),
}

/** `importing`: see {@link writeCatalog}. A sentence: what is wrong with the command line. */
export const index = async (
  { catalog, extension }: OptionValues<typeof indexOptions>,
  terminal: CommandTerminal,
  address: string,
  importing?: (name: string) => Promise<unknown>,
): Promise<ExitCode | string> => {
  if (catalog === undefined) return "say where the catalogue is to be, with --catalog"
  const reading = readStorePlace(address)
  if (reading.tag === "refused") return reading.message
  const { provider, bucket } = reading.place
  if (provider !== "file")
    return "index reads facts in a directory; docs/guides/query.md has statements for object stores"
  const directory = resolve(bucket)
  using store = await openStore(reading.place)
  const objects = await factsIn(store, { from: 0, to: Number.MAX_SAFE_INTEGER, clusters: [] })
  const files = objects.map(({ key }) => resolve(directory, key))
  await writeCatalog(files, { path: resolve(catalog), directory, extension }, importing && { importing })
  terminal.standardOutput.write(`${formatCount(files.length, "file")} in ${catalog}\n`)
  return exitCodes.ok
}
