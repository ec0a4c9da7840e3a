import { join } from 'node:path'
import { endAs, run } from './child.mjs'
import { environment, prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './unprepared.mjs'

// npm start: installs what is missing, builds what is stale, and runs the service on the pinned Node.

const service = join(root, 'server', 'bin', 'slipway-server.js')
const withParent = new URL('with-parent.mjs', import.meta.url).href

endWithNpm()
await main(async () => {
  const node = await prepare()
  const args = ['--import', withParent, service, ...process.argv.slice(2)]
  endAs(await run(node, args, { apart: true, env: environment() }))
})

/** An npm that is killed cannot forward the signal, and an orphaned service would keep the port. */
function endWithNpm() {
  const npm = process.ppid
  const look = () => process.ppid !== npm && process.kill(process.pid, 'SIGTERM')
  if (process.env.npm_lifecycle_event) setInterval(look, 500).unref()
}
