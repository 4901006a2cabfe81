/**
 * client-node's legacy auth providers, as a bundle of their own (`dist/auth-providers.js`): client-node's root and
 * its `config` module load every API type, 84 MB of memory.
 */
export { AzureAuth } from "@kubernetes/client-node/dist/azure_auth.js"
export { GoogleCloudPlatformAuth } from "@kubernetes/client-node/dist/gcp_auth.js"
export { OpenIDConnectAuth } from "@kubernetes/client-node/dist/oidc_auth.js"
