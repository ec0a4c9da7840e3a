import { join } from 'node:path'
import { endAs, run } from './child.mjs'
import { environment, prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './unprepared.mjs'

const withParent = new URL('with-parent.mjs', import.meta.url).href

// npm start: installs what is missing, builds what is stale, and runs the service on the pinned Node.
await main(async () => {
  const node = await prepare()
  const args = [
    '--import',
    withParent,
    join(root, 'server', 'bin', 'slipway-server.js'),
    ...process.argv.slice(2),
  ]
  endAs(await run(node, args, { apart: true, env: environment() }))
})
