import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { CliHarness } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

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

  it('contains code and types of all its exports', async () => {
    for (const { types, default: code } of Object.values<{ types: string; default: string }>(exports)) {
      assert.ok(existsSync(join(installed, types)), types)
      assert.ok(Object.keys(await import(join(installed, code))).length > 0, code)
    }
  })

  for (const node of new Set([process.execPath, installedNode()])) {
    const nodeVersion = execFileSync(node, ['--version']).toString().trim()

    it(`runs on Node ${nodeVersion} with nothing else installed`, async () => {
      assert.deepEqual(await run(node, ['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
    })

    it(`publishes on Node ${nodeVersion}`, async () => {
      await using server = await FakeServer.start()
      using cli = new CliHarness()
      cli.write({ 'index.html': '<h1>hi</h1>', 'large.bin': Buffer.alloc(3_000_000, 'x') })
      const { code, stdout } = await run(node, ['publish', '--server', server.url], { cli })
      assert.equal(code, 0)
      assert.equal(stdout, 'http://site-1.sites.test/\n')
      assert.equal(server.live('site-1').get('large.bin')!.length, 3_000_000)
    })

    it(`stops cleanly at Ctrl-C on Node ${nodeVersion}`, async () => {
      await using server = await FakeServer.start()
      using cli = new CliHarness()
      cli.write({ 'index.html': '<h1>hi</h1>' })
      const stop = new AbortController()
      server.intercept = ({ path }) => {
        if (!path.includes('/_upload/')) return false
        stop.abort()
        return true
      }
      const { code, stdout, stderr } = await run(node, ['publish', '--server', server.url], { cli, stop })
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.match(stderr, /Run the same command again: it goes on where it was/)
    })
  }

  interface Setting {
    cli?: CliHarness
    /** Sends SIGINT on abort. */
    stop?: AbortController
  }

  async function run(node: string, args: string[], { cli, stop }: Setting = {}) {
    const child = spawn(node, [join(installed, 'bin/slipway.js'), ...args], {
      cwd: cli?.cwd ?? installed,
      env: { PATH: process.env.PATH, HOME: cli?.home ?? installed },
    })
    stop?.signal.addEventListener('abort', () => child.kill('SIGINT'))
    const [stdout, stderr] = [collected(child.stdout), collected(child.stderr)]
    const code = await new Promise((done) => child.on('close', done))
    return { code, stdout: stdout(), stderr: stderr() }
  }
})

describe('the SDK', () => {
  it('imports nothing of Node, so that it runs in a browser', () => {
    assert.deepEqual([...importsFrom(join(root, 'client/sdk/slipway.ts'))].filter(isForeign), [])
  })
  it('and the program import no packages', () => {
    const foreign = [...importsFrom(join(root, 'client/cli/main.ts'))].filter(isForeign)
    assert.deepEqual(
      foreign.filter((name) => !name.startsWith('node:')),
      [],
    )
  })
})

/** The Node that is installed on this machine, which may be older than the pinned one. */
function installedNode(): string {
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

/** All transitive imports of a source file. */
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
