/** Where a simulation reads its trace and writes its reports: the addresses that the API server accepts. */
import type { Rule } from "./fields.ts"

/**
 * SimKube's storage addresses (docs/facts/simkube.md#storage-addresses) without those that cannot work in a pod: relative paths, because the working
 * directory is the image's, and `memory:`, which is always empty. A path without `file:` works here, unlike in SimKube (W-55).
 */
const traceForms = [
  "/.*[^/]",
  "file:(//(localhost)?)?/.*[^/]",
  "(s3a?|gs|azure|adl|abfss?|az)://[^/]+/.*[^/]",
  "https?://[^/]+/.*[^/]",
]

/** One reason for all refusals, so that it lists every form. */
export const traceAddressRule: Rule = {
  rule: `self.matches(r'^(${traceForms.join("|")})$')`,
  message:
    "must name a trace: /PATH, file:///PATH, s3://BUCKET/KEY, gs://BUCKET/KEY, azure://CONTAINER/KEY or https://HOST/PATH, without a slash at the end",
}

/** The addresses of object stores that exports accept, too (docs/reference/export-targets.md); here they name a folder. */
const reportForms = [
  "(s3a?|gs|azure|adl|abfss?)://[^/?#]+(/[^?#]*)?",
  String.raw`https://([^/?#]+\.)?s3[-.a-z0-9]*\.amazonaws\.com(\.cn)?/[^?#]+`,
  String.raw`https://[^/?#]+\.(r2\.cloudflarestorage\.com|(blob|dfs)\.core\.windows\.net)/[^?#]+`,
]

/** Refuses what is no address of an object store: a pod's files are gone when the driver ends. */
export const reportAddressRule: Rule = {
  rule: `self.matches(r'^(${reportForms.join("|")})$')`,
  message:
    "must be a folder in an object store: s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, azure://CONTAINER/FOLDER or the https address of one, without ? and #",
}

/** Characters of an address: S3's longest key and its bucket, or the longest path of Linux. */
export const longestAddress = 4096
