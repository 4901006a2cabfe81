/** `--archive-to` and `--archive-every`: where the recording is kept in an object store. */
import { readStorePlace } from "../../blob/index.ts"
import { type OptionValues, optional, type Reading, refused, value } from "../command-line/arguments.ts"
import { parseDuration } from "../command-line/instant.ts"
import { addressOfShard } from "./record-shard.ts"

/** The address as it was given, once it is known to be one. */
export const parseArchiveAddress = (given: string): Reading<string> => {
  const reading = readStorePlace(given)
  return reading.tag === "refused" ? refused(reading.reason) : value(given)
}

/** ms. */
const parseArchiveEvery = (given: string): Reading<number> => {
  const micros = parseDuration(given)
  return micros === undefined || micros < 1_000_000 || micros > 3_600_000_000
    ? refused("must be from 1s to 1h")
    : value(micros / 1000)
}

export const archiveOptions = {
  archiveTo: optional(
    "ADDRESS",
    "keep the recording in an object store too, as a stream of segments: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azure://CONTAINER/PREFIX, or a directory; a prefix for each cluster. A recorder with an empty --data-dir continues the stream that is there",
    parseArchiveAddress,
  ),
  archiveEvery: optional(
    "DURATION",
    "for --archive-to: how often what is new is written there, from 1s to 1h; default: 20s",
    parseArchiveEvery,
  ),
}

const defaultEveryMs = 20_000

type Given = OptionValues<typeof archiveOptions>
type Sharded = Parameters<typeof addressOfShard>[1]

/** The problem with the combination of options. */
export const archiveProblem = ({ archiveTo, archiveEvery }: Given): string | undefined =>
  archiveTo === undefined && archiveEvery !== undefined ? "--archive-every is for --archive-to" : undefined

export const archiveOf = ({ archiveTo, archiveEvery: everyMs = defaultEveryMs, shard }: Given & Sharded) =>
  archiveTo === undefined ? undefined : { address: addressOfShard(archiveTo, { shard }), everyMs }
