import { join } from 'node:path'
import { environment, prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './setup-error.mjs'
import { endAs, run } from './spawn.mjs'

// npm start: installs what is missing, builds what is stale, and runs the service on the pinned Node.

const service = join(root, 'server', 'bin', 'slipway-server.js')
const exitWithParent = new URL('exit-with-parent.mjs', import.meta.url).href

endWithNpm()
await main(async () => {
  const node = await prepare()
  const args = ['--import', exitWithParent, service, ...process.argv.slice(2)]
  endAs(await run(node, args, { apart: true, env: environment() }))
})

/** An npm that is killed cannot forward the signal, and an orphaned service would keep the port. */
function endWithNpm() {
  const npm = process.ppid
  const checkParent = () => process.ppid !== npm && process.kill(process.pid, 'SIGTERM')
  if (process.env.npm_lifecycle_event) setInterval(checkParent, 500).unref()
}
