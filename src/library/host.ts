/** Controllers in TypeScript, as `kubereel/host`: see src/host/controllers.ts. */
export * from "../host/controllers.ts"
