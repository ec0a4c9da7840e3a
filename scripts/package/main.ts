import { resolve } from 'node:path'
import { print } from '../print.mjs'
import { root } from '../root.mjs'
import { buildPackages } from './build-packages.ts'
import { testInstallation } from './test-installation.ts'

// After scripts/package.mjs: `npm run package [-- FOLDER]` builds the packages for x64 Linux, and their bill of materials, into FOLDER (`dist`).
// `npm run package -- test` installs them in a new Debian system, as root: see test-installation.ts.

const [argument = 'dist'] = process.argv.slice(2)
if (argument === 'test') await testInstallation(console.log)
else {
  const { deb, tarball, bill } = await buildPackages(resolve(root, argument), { report: print })
  console.log([deb, tarball, bill].join('\n'))
}
