import { join } from 'node:path'
import { environment, prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './setup-error.mjs'
import { endAs, run } from './spawn.mjs'

// npm run package: prepares like npm start, then builds the packages on the pinned Node.
await main(async () => {
  const node = await prepare()
  const script = join(root, 'scripts', 'package', 'main.ts')
  endAs(await run(node, [script, ...process.argv.slice(2)], { env: environment() }))
})
