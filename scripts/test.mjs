import { join } from 'node:path'
import { environment, prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './setup-error.mjs'
import { endAs, run } from './spawn.mjs'
import { installParts } from './test-dependencies.mjs'

// npm test: prepares like npm start, installs the Debian packages that tests need, then runs every check on the pinned
// Node. With --nightly also those of the tests named `*.nightly.test.ts`.
await main(async () => {
  const node = await prepare()
  await installParts({ nightly: process.argv.includes('--nightly') })
  const checks = join(root, 'scripts', 'run-checks.ts')
  endAs(await run(node, [checks, ...process.argv.slice(2)], { cwd: root, env: environment() }))
})
