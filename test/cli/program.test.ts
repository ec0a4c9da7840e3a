import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { CliHarness } from './desk.ts'
import { FakeServer } from './peer.ts'

const root = resolve(import.meta.dirname, '../..')

describe('the installed program', () => {
  const installed = mkdtempSync(join(tmpdir(), 'slipway-installed-'))
  after(() => rmSync(installed, { recursive: true, force: true }))
  for (const part of ['bin', 'package.json']) {
    cpSync(join(root, 'client', part), join(installed, part), { recursive: true })
  }
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const build = [
    '-p',
    join(root, 'client/tsconfig.build.json'),
    '--outDir',
    join(installed, 'dist'),
    '--noCheck',
  ]
  execFileSync(process.execPath, [tsc, ...build])

  const { version, exports } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'))

  it('has the code and the types of everything that it exports', async () => {
    for (const { types, default: code } of Object.values<{ types: string; default: string }>(exports)) {
      assert.ok(existsSync(join(installed, types)), types)
      assert.ok(Object.keys(await import(join(installed, code))).length > 0, code)
    }
  })

  for (const node of new Set([process.execPath, machinesNode()])) {
    const itsVersion = execFileSync(node, ['--version']).toString().trim()

    it(`runs on Node ${itsVersion} with nothing else installed`, async () => {
      assert.deepEqual(await run(node, ['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
    })

    it(`publishes on Node ${itsVersion}`, async () => {
      await using peer = await FakeServer.start()
      using desk = new CliHarness()
      desk.write({ 'index.html': '<h1>hi</h1>', 'large.bin': Buffer.alloc(3_000_000, 'x') })
      const { code, stdout } = await run(node, ['publish', '--server', peer.url], { desk })
      assert.equal(code, 0)
      assert.equal(stdout, 'http://site-1.sites.test/\n')
      assert.equal(peer.live('site-1').get('large.bin')!.length, 3_000_000)
    })

    it(`stops in good order at Ctrl-C on Node ${itsVersion}`, async () => {
      await using peer = await FakeServer.start()
      using desk = new CliHarness()
      desk.write({ 'index.html': '<h1>hi</h1>' })
      const stop = new AbortController()
      peer.misbehave = ({ path }) => {
        if (!path.includes('/_upload/')) return false
        stop.abort()
        return true
      }
      const { code, stdout, stderr } = await run(node, ['publish', '--server', peer.url], { desk, stop })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.match(stderr, /Run the same command again: it goes on where it was/)
    })
  }

  interface Setting {
    desk?: CliHarness
    /** Sends SIGINT when it aborts. */
    stop?: AbortController
  }

  async function run(node: string, args: string[], { desk, stop }: Setting = {}) {
    const child = spawn(node, [join(installed, 'bin/slipway.js'), ...args], {
      cwd: desk?.cwd ?? installed,
      env: { PATH: process.env.PATH, HOME: desk?.home ?? installed },
    })
    stop?.signal.addEventListener('abort', () => child.kill('SIGINT'))
    const [stdout, stderr] = [collected(child.stdout), collected(child.stderr)]
    const code = await new Promise((done) => child.on('close', done))
    return { code, stdout: stdout(), stderr: stderr() }
  }
})

describe('the SDK', () => {
  it('has nothing of Node in it, so that it runs in a browser', () => {
    assert.deepEqual([...importsFrom(join(root, 'client/sdk/slipway.ts'))].filter(isForeign), [])
  })
  it('and the program needs no package', () => {
    const foreign = [...importsFrom(join(root, 'client/cli/main.ts'))].filter(isForeign)
    assert.deepEqual(
      foreign.filter((name) => !name.startsWith('node:')),
      [],
    )
  })
})

/** The Node that a person on this machine would run, which may be older than the pinned one. */
function machinesNode(): string {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
  try {
    const env = { PATH: folders.join(delimiter) }
    return execFileSync('node', ['-p', 'process.execPath'], { env }).toString().trim()
  } catch {
    return process.execPath
  }
}

function collected(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** Everything that a source file imports, and what that imports in turn. */
function importsFrom(file: string, found = new Set<string>()): Set<string> {
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)) {
    const target = name!.startsWith('.') ? join(dirname(file), name!) : name!
    if (found.has(target)) continue
    found.add(target)
    if (name!.startsWith('.')) importsFrom(target, found)
  }
  return found
}

function isForeign(name: string): boolean {
  return !name.startsWith('/')
}
