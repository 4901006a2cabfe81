/** The store of an address on the command line. */
import { type BlobStore, openStore, readStorePlace } from "../../blob/index.ts"

/** A sentence: why it is no address. Rejects with a TargetError. */
export const opened = async (address: string): Promise<BlobStore | string> => {
  const reading = readStorePlace(address)
  return reading.tag === "refused" ? reading.message : await openStore(reading.place)
}
