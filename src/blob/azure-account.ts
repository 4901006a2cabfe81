/**
 * The storage account of an Azure address, and the credentials for it. In this order: a connection string
 * (`AZURE_STORAGE_CONNECTION_STRING`, which also names endpoints such as an emulator's), the account's key, a shared access signature, and
 * what Azure's default chain finds (workload identity, managed identity, `az login`). Both spellings of the variables are read, Azure's
 * (`AZURE_STORAGE_ACCOUNT`, `_KEY`) and SimKube's (`AZURE_STORAGE_ACCOUNT_NAME`, `_ACCOUNT_KEY`).
 *
 * A secret is used only for the account it is configured for, never for another account that a URL names.
 */
import type * as Azure from "@azure/storage-blob"
import { type ImportPackage, loadSdk } from "./optional-package.ts"
import type { StoreAddress } from "./target-address.ts"
import { targetError } from "./target-error.ts"

/** The part of @azure/identity that is used here. */
interface IdentitySdk {
  readonly DefaultAzureCredential: new () => Azure.BlobServiceClient["credential"]
}

const pipeline: Azure.StoragePipelineOptions = {
  retryOptions: { maxTries: 4, retryDelayInMs: 250, maxRetryDelayInMs: 4000 },
}

/** @throws TargetError `credentials` if no account is named, `package-missing` if only @azure/identity could help */
export const connectAzure = async (
  sdk: typeof Azure,
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<Azure.BlobServiceClient> => {
  const wanted = address.host?.split(".", 1)[0]
  const connectionString = environment.AZURE_STORAGE_CONNECTION_STRING
  if (connectionString) {
    const service = fromConnectionString(sdk, address, connectionString)
    if (wanted === undefined || service.accountName === wanted) return service
  }
  const named = environment.AZURE_STORAGE_ACCOUNT_NAME || environment.AZURE_STORAGE_ACCOUNT
  const account = wanted ?? named
  if (!account) {
    const reason = "no storage account is set; set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_NAME"
    throw targetError(address, "credentials", reason)
  }
  const url = `https://${account}.blob.core.windows.net`
  if (account === named) {
    const key = environment.AZURE_STORAGE_ACCOUNT_KEY || environment.AZURE_STORAGE_KEY
    if (key) return new sdk.BlobServiceClient(url, new sdk.StorageSharedKeyCredential(account, key), pipeline)
    const signature = environment.AZURE_STORAGE_SAS_TOKEN
    if (signature) return new sdk.BlobServiceClient(`${url}?${signature.replace(/^\?/, "")}`, undefined, pipeline)
  }
  const identity = await loadSdk<IdentitySdk>(importing, "@azure/identity", address)
  return new sdk.BlobServiceClient(url, new identity.DefaultAzureCredential(), pipeline)
}

const fromConnectionString = (sdk: typeof Azure, address: StoreAddress, text: string): Azure.BlobServiceClient => {
  try {
    return sdk.BlobServiceClient.fromConnectionString(text, pipeline)
  } catch {
    // The SDK's message quotes the string, which is a secret.
    throw targetError(address, "credentials", "AZURE_STORAGE_CONNECTION_STRING is not a connection string")
  }
}
