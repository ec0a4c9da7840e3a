import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'

// `npm start` in a temporary clone, with an npm without registry and a service that only prints its arguments.

const NPM = `
  import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
  appendFileSync('did', 'installed ')
  if (existsSync('no-network')) process.exit(7)
  mkdirSync('node_modules/.bin', { recursive: true })
  for (const [folder, name] of [['typescript', 'tsc'], ['vite', 'vite.js']]) {
    mkdirSync(\`node_modules/\${folder}/bin\`, { recursive: true })
    copyFileSync('builder.cjs', \`node_modules/\${folder}/bin/\${name}\`)
  }
  rmSync('node_modules/.bin/node', { force: true })
  symlinkSync(process.execPath, 'node_modules/.bin/node')
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const isNamed = (path, version) => process.argv.includes(path.slice('node_modules/'.length) + '@' + version)
  for (const [path, { version, optional }] of Object.entries(packages))
    if (optional && !isNamed(path, version)) delete packages[path]
  writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }))
`
const BUILDER = `
  const { appendFileSync, mkdirSync } = require('node:fs')
  const { basename } = require('node:path')
  appendFileSync('did', basename(process.argv[1]) + ' ')
  mkdirSync(process.argv[process.argv.indexOf('--outDir') + 1])
`
const REFERENCE = `
  import { appendFileSync, mkdirSync } from 'node:fs'
  appendFileSync('did', 'reference ')
  mkdirSync(process.argv[2])
`
const SERVICE = `
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      console.log(signal)
      process.exit(signal === 'SIGTERM' ? 4 : 5)
    })
  }
  console.log('ready', process.argv.slice(2).join(' '), process.env.UV_THREADPOOL_SIZE)
  if (process.argv[2] === 'stay') setInterval(() => {}, 2 ** 30)
  else process.exitCode = 3
`

/** Kysely, the dashboard and the command are bundled. */
const ALL_STEPS = ['installed', 'reference', 'tsc', 'vite.js', 'vite.js', 'vite.js']

// One clone for all tests: each leaves it prepared.
const clone = await freshClone()
after(() => rm(clone.folder, { recursive: true, force: true }))

test('two concurrent first starts install and build once, and both run; a later start only runs', async () => {
  const endings = await Promise.all([clone.start('an argument').ended(), clone.start('two').ended()])
  assert.deepEqual(endings, [
    { code: 3, signal: null, printed: 'ready an argument 16\n' },
    { code: 3, signal: null, printed: 'ready two 16\n' },
  ])
  assert.deepEqual(await clone.stepsDone(), ALL_STEPS)
  await clone.start().ended()
  assert.deepEqual(await clone.stepsDone(), [])
})

test('only changed parts are installed and built again', async () => {
  for (const [file, content, steps] of [
    ['protocol/format.ts', 'export type Other = 1', ['reference', 'tsc', 'vite.js', 'vite.js']],
    ['dashboard/main.tsx', 'export const page = 2', ['vite.js']],
    ['server/web/pages.ts', 'export const path = 2', ['reference']],
    ['scripts/kysely/vite.config.ts', 'export default 2', ['vite.js']],
  ] as const) {
    await writeFile(join(clone.folder, file), content)
    await clone.start().ended()
    assert.deepEqual(await clone.stepsDone(), steps)
  }
})

test('a start continues after a killed one left its lock', async () => {
  const dead = spawn('true')
  await once(dead, 'exit')
  await symlink(String(dead.pid), join(clone.folder, '.slipway', 'preparing'))
  await writeFile(join(clone.folder, 'dashboard', 'main.tsx'), 'export const page = 3')
  assert.equal((await clone.start().ended()).code, 3)
  assert.deepEqual(await clone.stepsDone(), ['vite.js'])
})

test('a failed installation prints a message and starts nothing, and the next build or start installs', async () => {
  await writeFile(join(clone.folder, 'package-lock.json'), lock('2.0.0'))
  await writeFile(join(clone.folder, 'no-network'), '')
  const start = clone.start()
  const [ending, output] = await Promise.all([start.ended(), text(start.child.stderr!)])
  assert.deepEqual(ending, { code: 1, signal: null, printed: '' })
  assert.match(output, /npm could not install the packages/)
  assert.doesNotMatch(output, /at .*prepare\.mjs/)
  assert.deepEqual(await clone.stepsDone(), ['installed'])
  await rm(join(clone.folder, 'no-network'))
  assert.equal((await clone.node('scripts/build-now.mjs').ended()).code, 0)
  assert.deepEqual(await clone.stepsDone(), ALL_STEPS)
})

test('a program for this platform that npm leaves out because of its own Node is installed as well', async () => {
  const [os, cpu] = [[process.platform], [process.arch]]
  const program = { version: '3.0.0', integrity: 'sha512-of-program', optional: true }
  await writeFile(
    join(clone.folder, 'package-lock.json'),
    lock('2.0.0', {
      'node_modules/@a/program': { ...program, os, cpu },
      'node_modules/other-system': { ...program, os: ['other'], cpu },
      'node_modules/other-processor': { ...program, os, cpu: ['other'] },
      'node_modules/any-system': program,
    }),
  )
  assert.equal((await clone.start().ended()).code, 3)
  assert.deepEqual(await clone.stepsDone(), ['installed', ...ALL_STEPS])
  await clone.start().ended()
  assert.deepEqual(await clone.stepsDone(), [])
})

for (const [signal, code] of [
  ['SIGTERM', 4],
  ['SIGINT', 5],
] as const) {
  test(`${signal} is passed to the service, and the start exits with it`, async () => {
    const start = clone.start('stay')
    await once(start.child.stdout!, 'data')
    start.child.kill(signal)
    assert.deepEqual(await start.ended(), { code, signal: null, printed: `${signal}\n` })
  })
}

test('the service ends when its start is killed', async () => {
  const start = clone.start('stay')
  await once(start.child.stdout!, 'data')
  start.child.kill('SIGKILL')
  assert.deepEqual(await start.ended(), { code: null, signal: 'SIGKILL', printed: 'SIGTERM\n' })
})

test('the service ends when the npm that started it is killed', async () => {
  const npm = clone.node(
    '-e',
    `child_process.spawnSync(process.execPath, ['scripts/start.mjs', 'stay'], { stdio: 'inherit' })`,
  )
  await once(npm.child.stdout!, 'data')
  npm.child.kill('SIGKILL')
  assert.deepEqual(await npm.ended(), { code: null, signal: 'SIGKILL', printed: 'SIGTERM\n' })
})

async function freshClone() {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-start-'))
  const root = join(import.meta.dirname, '..')
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true })
  await cp(join(root, 'server', 'bin'), join(folder, 'server', 'bin'), { recursive: true })
  await cp(join(root, 'package.json'), join(folder, 'package.json'))
  const files = {
    'package-lock.json': lock('1.0.0'),
    'tsconfig.json': '{}',
    'client/tsconfig.build.json': '{}',
    'protocol/format.ts': 'export type One = 1',
    'server/main.ts': SERVICE,
    'server/web/pages.ts': 'export const path = 1',
    'scripts/pack-client.ts': '',
    'scripts/reference/main.ts': REFERENCE,
    'npm.mjs': NPM,
    'builder.cjs': BUILDER,
    'dashboard/main.tsx': 'export const page = 1',
  }
  const folders = ['client', 'dashboard', 'docs', 'packages/files', 'protocol', 'server/store', 'server/web']
  for (const name of folders) await mkdir(join(folder, name), { recursive: true })
  for (const [path, content] of Object.entries(files)) await writeFile(join(folder, path), content)
  return {
    folder,
    start: (...args: string[]) => runIn(folder, ['scripts/start.mjs', ...args]),
    node: (...args: string[]) => runIn(folder, args),
    /** The steps completed since the last call, sorted, because builds run in parallel. */
    async stepsDone() {
      const done = await readFile(join(folder, 'did'), 'utf8')
      await writeFile(join(folder, 'did'), '')
      return done.split(' ').filter(Boolean).sort()
    },
  }
}

/** Runs a Node program as npm runs a script. */
function runIn(folder: string, args: string[]) {
  const { UV_THREADPOOL_SIZE: _, ...outside } = process.env
  const npm = {
    npm_execpath: join(folder, 'npm.mjs'),
    npm_node_execpath: process.execPath,
    npm_lifecycle_event: 'start',
  }
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...outside, ...npm },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { child, ended: () => endOf(child) }
}

/** Waits for the exit of the start and for the end of its output. */
async function endOf(child: ChildProcess) {
  const [printed, [code, signal]] = await Promise.all([text(child.stdout!), once(child, 'exit')])
  return { code, signal, printed }
}

function lock(version: string, others: Record<string, object> = {}): string {
  const packages = { '': {}, 'node_modules/it': { version, integrity: 'sha512-of-it' }, ...others }
  return JSON.stringify({ packages })
}
