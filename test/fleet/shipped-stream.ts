/** A stream in a directory, of a recording that is made for it. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openStore } from "../../src/blob/index.ts"
import { shipAll } from "./shipping-recorder.ts"

/** `clusterUid`: its own, as mirrors keep ranges by the id of a stream. */
export const shippedStream = async (
  bucket: string,
  record: (directory: string) => void,
  clusterUid: string,
): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-shipped-"))
  record(directory)
  mkdirSync(bucket, { recursive: true })
  const store = await openStore({ provider: "file", host: undefined, region: undefined, bucket, key: "" })
  await shipAll(store, directory, 15_000, clusterUid)
  store.close()
  rmSync(directory, { recursive: true })
}
