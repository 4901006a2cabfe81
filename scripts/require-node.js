/**
 * Stops an old Node with one line that states what to do, before it fails on a TypeScript file.
 *
 * Plain JavaScript without imports, so that any Node can run it. npm puts node_modules/.bin first on the PATH of its
 * scripts, and the development dependency `node` puts Node 26 there, whatever Node the machine has.
 */
if (Number.parseInt(process.versions.node, 10) < 26) {
  console.error(
    `kubereel is developed on Node 26 and this is ${process.version}: run "npm ci", then npm's commands (npm start, npm test, npx reel), which use the Node 26 it brought. If this line stays, run "npm ci --ignore-scripts=false".`,
  )
  process.exit(2)
}
