/** Subjects run as JavaScript, as programs of users do: loading TypeScript costs a process 15 MB that are not theirs. */
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { external } from "../../scripts/build.ts"

/**
 * Writes a program below dist/, from where it finds the same packages; answers its path.
 *
 * @param packages `imported`: packages stay imports, as in the programs of most users. `bundled`: everything is in the one file, minified, except for
 * the packages that the commands of `reel` import as well: piscina would not find its own worker, and every task would wait for ever.
 */
export const asJavaScript = async (script: URL, packages: "imported" | "bundled" = "imported"): Promise<string> => {
  const input = fileURLToPath(script)
  const name = input.replace(/^.*\/|\.ts$/g, "")
  const output = fileURLToPath(new URL(`../../dist/bench/${name}.js`, import.meta.url))
  const isPackage = (source: string): boolean => !/^[./]/.test(source)
  const bundler = await rolldown({
    input,
    platform: "node",
    external: packages === "imported" ? isPackage : [...external],
  })
  await bundler.write({ file: output, format: "esm", minify: packages === "bundled", codeSplitting: false })
  await bundler.close()
  return output
}
