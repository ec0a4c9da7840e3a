import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, describe, it, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { parseRecords } from '../../client/sdk/events.ts'
import { publishFolder } from '../../client/sdk/node.ts'
import { Slipway, type SlipwayOptions } from '../../client/sdk/slipway.ts'
import { selfSigned } from '../http2/self-signed.ts'
import { CliHarness } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

const root = resolve(import.meta.dirname, '../..')
const certificate = await selfSigned('slipway.test')

describe('the installed program', () => {
  const installed = mkdtempSync(join(tmpdir(), 'slipway-installed-'))
  after(() => rmSync(installed, { recursive: true, force: true }))
  for (const part of ['bin', 'dist', 'package.json']) {
    cpSync(join(root, 'client', part), join(installed, part), { recursive: true })
  }
  const { version, exports } = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'))

  it('contains code and types of all its exports', async () => {
    for (const { types, default: code } of Object.values<{ types: string; default: string }>(exports)) {
      assert.ok(existsSync(join(installed, types)), types)
      assert.ok(Object.keys(await import(join(installed, code))).length > 0, code)
    }
  })

  it('describes every method of its client to editors', () => {
    const types = readFileSync(join(installed, 'dist/client/sdk/slipway.d.ts'), 'utf8')
    const [, client = ''] = /^export declare class Slipway \{\n(.*?)^\}/ms.exec(types) ?? []
    const methods = [...client.matchAll(/(.*)\n {4}(\w+)\(/g)]
    assert.ok(methods.length >= 70, `${methods.length}`)
    const undescribed = methods.filter(([, before]) => !before!.endsWith('*/')).map(([, , name]) => name)
    assert.deepEqual(undescribed, [])
  })

  it('has a README, whose examples run as they are', async () => {
    const readme = readFileSync(join(root, 'client/README.md'), 'utf8')
    const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code!)
    assert.equal(examples.length, 3)
    await using server = await FakeServer.start()
    using cli = new CliHarness()
    cli.write({ 'dist/index.html': '<h1>hi</h1>', 'dist/.env': 'SECRET=1', 'dist/empty.txt': '' })
    mkdirSync(join(cli.cwd, 'node_modules'))
    symlinkSync(installed, join(cli.cwd, 'node_modules/slipway'))
    for (const [at, code] of examples.entries()) {
      const example = code.replace('http://localhost:8080', server.url).replace(", { slug: 'bakery' }", '')
      cli.write({ 'example.mjs': example })
      const child = spawn(process.execPath, ['example.mjs'], { cwd: cli.cwd })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      assert.equal(stderr, '')
      assert.match(stdout, /http:\/\/site-\d\.sites\.test\/|11 of 11 bytes/)
      if (at > 0) continue
      assert.match(stdout, /path: '\.env', reason: 'secret'/)
      assert.deepEqual([...server.live('site-1').keys()].sort(), ['empty.txt', 'index.html'])
    }
    using outside = new CliHarness()
    outside.write({ 'index.html': 'private' })
    rmSync(join(cli.cwd, 'dist'), { recursive: true })
    symlinkSync(outside.cwd, join(cli.cwd, 'dist'))
    const child = spawn(process.execPath, ['example.mjs'], { cwd: cli.cwd })
    assert.match(await text(child.stderr), /dist is a link to .*, which is outside the folder of the link/)
  })

  for (const node of new Set([process.execPath, installedNode()])) {
    const nodeVersion = execFileSync(node, ['--version']).toString().trim()

    it(`publishes on Node ${nodeVersion} with nothing else installed`, async () => {
      assert.deepEqual(await run(node, ['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
      await using server = await FakeServer.start()
      using cli = new CliHarness()
      cli.write({ 'index.html': '<h1>hi</h1>', 'large.bin': Buffer.alloc(3_000_000, 'x') })
      const { code, stdout } = await run(node, ['publish', '--server', server.url], { cli })
      assert.deepEqual([code, stdout], [0, 'http://site-1.sites.test/\n'])
      assert.equal(server.live('site-1').get('large.bin')!.length, 3_000_000)
    })

    it(`runs no code that another user has put into the temporary folder on Node ${nodeVersion}`, async () => {
      using cli = new CliHarness()
      using shared = new CliHarness()
      for (const HOME of [cli.home, '', '/proc']) {
        const { code } = await run(node, ['--version'], { env: { HOME, TMPDIR: shared.cwd }, cli })
        assert.equal(code, 0)
        assert.deepEqual(readdirSync(shared.cwd), [])
      }
      assert.deepEqual(readdirSync(cli.cwd), [])
    })

    it(`publishes to an HTTPS server through a proxy on Node ${nodeVersion}`, async () => {
      await using server = await FakeServer.start()
      server.publicUrl = 'https://slipway.test'
      using cli = new CliHarness()
      cli.write({ 'site/index.html': '<h1>hi</h1>', 'ca.pem': certificate.cert })
      const secure = createTlsServer(certificate, (socket) =>
        pipe(socket, connect(Number(new URL(server.url).port))),
      )
      const targets: (string | undefined)[] = []
      const proxy = createServer().on('connect', ({ url }, socket) => {
        targets.push(url)
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        pipe(socket as Socket, connect((secure.address() as AddressInfo).port))
      })
      for (const one of [secure, proxy]) await once(one.listen(0, '127.0.0.1'), 'listening')
      const env = {
        HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        NODE_EXTRA_CA_CERTS: join(cli.cwd, 'ca.pem'),
      }
      const args = ['publish', 'site', '--server', server.publicUrl]
      const { code, stdout, stderr } = await run(node, args, { cli, env })
      assert.deepEqual([code, stdout], [0, 'http://site-1.sites.test/\n'], stderr)
      assert.ok(targets.length > 0)
      for (const target of targets) assert.equal(target, 'slipway.test:443')
      for (const one of [secure, proxy]) one.close()
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
      assert.deepEqual([code, stdout], [130, ''])
      assert.match(stderr, /Run the same command to resume/)
    })
  }

  it('says that an old Node is too old, and runs for a user that the system does not know', () => {
    const old = `Object.defineProperty(process, 'versions', { value: { node: '18.17.1' } })`
    const unknown = `const os = require('os'); os.homedir = os.userInfo = () => { throw new Error('ENOENT') }
      require('module').syncBuiltinESMExports()`
    const runAfter = (code: string) => {
      writeFileSync(join(installed, 'before.cjs'), code)
      const args = ['-r', './before.cjs', 'bin/slipway.js', '--version']
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: installed, env: {} })
      return `${status} ${stdout}${stderr}`
    }
    assert.match(
      runAfter(old),
      /^1 slipway: Node\.js 18\.17\.1 is too old\. Install Node\.js 18\.18 or later/,
    )
    assert.equal(runAfter(unknown), `0 ${version}\n`)
  })

  it('ends at Ctrl-C while it reads a folder', async () => {
    using cli = new CliHarness()
    cli.write({ 'index.html': 'x' })
    const endless = `require('fs').readdirSync = () => { for (console.error('reading'); ; ); }
      require('module').syncBuiltinESMExports()`
    writeFileSync(join(installed, 'endless.cjs'), endless)
    const args = ['-r', join(installed, 'endless.cjs'), join(installed, 'bin/slipway.js'), 'publish', '.']
    const child = spawn(process.execPath, args, { cwd: cli.cwd, env: { HOME: cli.home } })
    await once(child.stderr, 'data')
    child.kill('SIGINT')
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGINT'])
  })

  it('says that the current folder was deleted', () => {
    using cli = new CliHarness()
    const folder = join(cli.cwd, 'gone')
    mkdirSync(folder)
    const program = [process.execPath, join(installed, 'bin/slipway.js')]
    const script = 'cd "$0" && rmdir "$0" && exec "$@" publish --json'
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, folder, ...program])
    assert.deepEqual([status, JSON.parse(stdout.toString()).code], [2, 'USAGE'], stderr.toString())
    assert.match(stderr.toString(), /^Error: The current folder was deleted\n/)
  })

  it('fails when stdout cannot be written, and has its own result when a reader has closed its pipes', () => {
    const program = [process.execPath, join(installed, 'bin/slipway.js')]
    const full = spawnSync('sh', ['-c', '"$0" "$@" help > /dev/full', ...program])
    assert.deepEqual([full.status, full.stderr.toString()], [1, "Error: Can't write the result (ENOSPC)\n"])
    const closed = spawnSync('sh', ['-c', '{ "$0" "$@" help; echo $? >&2; } | head -n 0', ...program])
    assert.equal(closed.stderr.toString(), '0\n')
    for (const unheard of [
      '{ "$0" "$@" 2>/dev/null; echo $? >&2; } | head -n 0',
      '{ { "$0" "$@" >/dev/null; echo $? >&3; } 2>&1 | head -n 0; } 3>&2',
    ]) {
      const failed = spawnSync('sh', ['-c', unheard, ...program, 'help', 'nothing', '--json'])
      assert.equal(failed.stderr.toString(), '2\n')
    }
  })

  interface Setting {
    cli?: CliHarness
    /** Sends SIGINT on abort. */
    stop?: AbortController
    env?: Record<string, string>
  }

  async function run(node: string, args: string[], { cli, stop, env }: Setting = {}) {
    const child = spawn(node, [join(installed, 'bin/slipway.js'), ...args], {
      cwd: cli?.cwd ?? installed,
      env: { PATH: process.env.PATH, HOME: cli?.home ?? installed, ...env },
    })
    stop?.signal.addEventListener('abort', () => child.kill('SIGINT'))
    const output = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'close')
    const [stdout, stderr] = await output
    return { code, stdout, stderr }
  }
})

test('the SDK says what is wrong when its server has no address', () => {
  for (const baseUrl of [undefined, 8080, 'slipway.example', 'ftp://slipway.example'])
    assert.throws(() => new Slipway({ baseUrl } as SlipwayOptions), /^TypeError: baseUrl must be the URL of/)
})

test('the SDK accepts a key with a line break at its end, and refuses one with other characters', () => {
  const make = (key: string) => new Slipway({ baseUrl: 'https://slipway.example', key })
  make('sl_live_0\r\n')
  for (const key of ['sl_live_0\nx', 'sl_live_é', 'a b'])
    assert.throws(() => make(key), /^TypeError: key must be an API key/)
})

test('the SDK reports an event of a domain that is not JSON as an invalid answer', async () => {
  const bytes = Readable.from([Buffer.from('event: domain\ndata: {"domain\n\n')])
  await assert.rejects(Array.fromAsync(parseRecords(bytes)), { name: 'SlipwayError', code: 'BAD_ANSWER' })
})

test('the SDK publishes a folder without files only with an error that names it', async () => {
  using cli = new CliHarness()
  cli.write({ 'site/.env': 'SECRET=1' })
  const slipway = new Slipway({ baseUrl: 'http://127.0.0.1:1' })
  const published = publishFolder(slipway, join(cli.cwd, 'site'))
  await assert.rejects(published, { code: 'VALIDATION_ERROR', message: /site has no files to publish$/ })
  cli.write({ '.aws/cli/x': 'x' })
  const ofSecrets = publishFolder(slipway, join(cli.cwd, '.aws/cli'))
  await assert.rejects(ofSecrets, { code: 'VALIDATION_ERROR', message: /cli is the data of a repository or/ })
})

test('the SDK reads no folder when its client is aborted', async () => {
  using cli = new CliHarness()
  cli.write({ 'site/index.html': 'home' })
  const slipway = new Slipway({ baseUrl: 'http://127.0.0.1:1', signal: AbortSignal.abort() })
  const published = publishFolder(slipway, join(cli.cwd, 'site'))
  rmSync(join(cli.cwd, 'site/index.html'))
  await assert.rejects(published, { name: 'AbortError' })
})

test('the SDK imports nothing of Node, so that it runs in a browser', () => {
  const found = importsFrom(join(root, 'client/sdk/slipway.ts'))
  const packages = [...found].filter((name) => !name.startsWith('/'))
  assert.deepEqual(packages, [])
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

/** Connects two sockets; each ends with the other. */
function pipe(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy()).pipe(to)
  }
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
