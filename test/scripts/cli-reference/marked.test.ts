import fc from "fast-check"
import { expect, test } from "vitest"
import { marked } from "../../../scripts/cli-reference/marked.ts"

test.each([
  ["an option with its value", "needs --token-file FILE here", "needs `--token-file FILE` here"],
  ["an option at the end of a clause", "with --keep, or --keep.", "with `--keep`, or `--keep`."],
  ["durations and sizes", "-10m, 1h30m or 10Gi", "`-10m`, `1h30m` or `10Gi`"],
  ["times stay", "03:12 or 2026-11-21T10:00:00Z", "03:12 or 2026-11-21T10:00:00Z"],
  ["selectors", "app=web,tier!=db and app=web,tier in (a,b)", "`app=web,tier!=db` and `app=web,tier in (a,b)`"],
  ["addresses", "s3://BUCKET/KEY (also gs:// and azure://)", "`s3://BUCKET/KEY` (also `gs://` and `azure://`)"],
  ["names with dots", "v1.Secret and .sktrace. Then", "`v1.Secret` and `.sktrace`. Then"],
  ["paths", "KUBECONFIG, ~/.kube/config or, in a pod", "KUBECONFIG, `~/.kube/config` or, in a pod"],
  ["defaults", "how fast (default 1)", "how fast (default `1`)"],
  ["pages", "docs/guides/replay.md says", "[guides/replay.md](../guides/replay.md) says"],
  ["characters of Markdown", "* and ? are [wildcards] | more <b>", "\\* and ? are \\[wildcards\\] \\| more \\<b\\>"],
])("%s", (_, text, expected) => {
  expect(marked(text, [])).toBe(expected)
})

test("given words become code where they are whole words, the longest first", () => {
  expect(marked("FILE, --auth none, FILE.zst, none of a FILE's nones", ["none", "FILE", "--auth none"])).toBe(
    "`FILE`, `--auth none`, `FILE.zst`, `none` of a FILE's nones",
  )
})

test("no text breaks the cell of a table, and none of its words gets lost", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), (text) => {
      const result = marked(text, ["FILE"])
      expect(result.replace(/\\\|/g, "")).not.toContain("|")
      expect(result.replace(/\\([\\`*_[\]<>|])/g, "$1").replaceAll("`", "")).toBe(text.replaceAll("`", ""))
    }),
  )
})
