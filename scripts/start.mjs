import { join } from 'node:path'
import { endAs, run } from './child.mjs'
import { environment, main, prepare, root } from './prepare.mjs'

// npm start: installs what is missing, builds what is stale, and runs the service on the pinned Node.
await main(async () => {
  const node = await prepare()
  const server = join(root, 'server', 'main.ts')
  endAs(await run(node, [server, ...process.argv.slice(2)], { apart: true, env: environment() }))
})
