/** An Azure blob, read in ranges. */
import type * as Azure from "@azure/storage-blob"
import { connectAzure } from "./azure-account.ts"
import type { RangeSource } from "./open-source.ts"
import { type ImportPackage, loadSdk } from "./optional-package.ts"
import type { StoreAddress } from "./target-address.ts"

/** Requests the blob's properties, which name its present version. */
export const openAzureSource = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const sdk = await loadSdk<typeof Azure>(importing, "@azure/storage-blob", address)
  const service = await connectAzure(sdk, address, environment, importing)
  const blob = service.getContainerClient(address.bucket).getBlobClient(address.key)
  const { contentLength = 0, etag } = await blob.getProperties()
  const conditions = etag === undefined ? {} : { ifMatch: etag }
  return {
    size: contentLength,
    read: (offset, length, abortSignal) => blob.downloadToBuffer(offset, length, { conditions, abortSignal }),
    close: () => undefined,
  }
}
