/**
 * client-node's legacy auth providers, as a bundle of their own (`dist/auth-providers.js`) that is loaded for the few users who have one.
 *
 * client-node's root and its `config` module load every API type, 84 MB of memory; what these three classes need of it is a part of
 * `config` that a bundler takes out. So an installed package has no copy of client-node, which is 62 MB on disk with its dependencies.
 */
export { AzureAuth } from "@kubernetes/client-node/dist/azure_auth.js"
export { GoogleCloudPlatformAuth } from "@kubernetes/client-node/dist/gcp_auth.js"
export { OpenIDConnectAuth } from "@kubernetes/client-node/dist/oidc_auth.js"
