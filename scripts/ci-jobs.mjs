import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { prepare } from './prepare.mjs'
import { root } from './root.mjs'
import { main } from './setup-error.mjs'
import { run } from './spawn.mjs'

// `npm run ci-jobs`: installs and builds a clone of the last commit, and runs the tests of jobs that publish with the client of
// a service, from an empty npm cache, on the oldest Node that both support and on the current one. Installs both from
// the registry into a temporary folder.

/** Each Node with an npm that supports it. */
const VERSIONS = [
  { node: '18.18.0', npm: 10 },
  { node: '26', npm: 11 },
]

const TESTS = ['gitlab', 'client-package'].map((name) => `test/journeys/${name}.test.ts`)

await main(async () => {
  const node = await prepare()
  for (const versions of VERSIONS) {
    const folder = mkdtempSync(join(tmpdir(), 'slipway-node-'))
    try {
      await runTests(node, versions, folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
})

/**
 * @param {string} testNode
 * @param {{ node: string, npm: number }} versions
 * @param {string} folder
 */
async function runTests(testNode, { node, npm }, folder) {
  const packages = [`node-${process.platform}-${process.arch}@${node}`, `npm@${npm}`]
  await mustSucceed('npm', ['install', '--silent', '--prefix', folder, ...packages])
  const PATH = [join(folder, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH, TEST_VARIANTS: 'all' }
  await mustSucceed('node', ['--version'], env)
  const clone = join(folder, 'clone')
  await mustSucceed('git', ['clone', '--quiet', root, clone])
  await mustSucceed('npm', ['start', '--', '--help'], env, clone)
  await mustSucceed(testNode, ['--test', ...TESTS], env)
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @param {string} [cwd]
 */
async function mustSucceed(command, args, env = process.env, cwd = root) {
  const { code } = await run(command, args, { cwd, env })
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with ${code}`)
}
