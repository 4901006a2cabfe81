/** The store of an address on the command line. */
import { type BlobStore, openStore, readStorePlace } from "../../blob/index.ts"
import { Misasked } from "../command-line/exit-codes.ts"

/** Rejects with Misasked if it is no address, or a TargetError. */
export const opened = async (address: string): Promise<BlobStore> => {
  const reading = readStorePlace(address)
  if (reading.tag === "refused") throw new Misasked(reading.message)
  return await openStore(reading.place)
}
